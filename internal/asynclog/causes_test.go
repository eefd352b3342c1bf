package asynclog

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDue(t *testing.T) {
	var l Causes
	now := time.Now()
	said := 0
	for i := range 10 * MaxCauses {
		for range 3 {
			if l.Due(fmt.Sprint("cause ", i), now) {
				said++
			}
		}
	}
	if said != MaxCauses {
		t.Errorf("%d said, want %d: the last of them for all others", said, MaxCauses)
	}
	for _, tt := range []struct {
		after time.Duration
		cause string
		want  bool
	}{
		{RepeatAfter - 1, "cause 0", false},
		{RepeatAfter - 1, "one more", false},
		{RepeatAfter, "cause 0", true},
		{RepeatAfter, "one more", true},
		{2*RepeatAfter - 1, "one more", false},
	} {
		if got := l.Due(tt.cause, now.Add(tt.after)); got != tt.want {
			t.Errorf("Due(%q) after %v = %t, want %t", tt.cause, tt.after, got, tt.want)
		}
	}
}

func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"dial 127.0.0.1:4317: refused":    "dial ...:: refused",
		"4317":                            "",
		strings.Repeat("1x", 1000):        strings.Repeat("x", 256),
		strings.Repeat("é", 100) + "1234": strings.Repeat("é", 100),
	} {
		if got := CauseOf(text); got != want {
			t.Errorf("CauseOf(%q) = %q, want %q", text, got, want)
		}
	}
}
