package control

import (
	"testing"
	"time"
)

func TestScale(t *testing.T) {
	mean, deviation := Scale("a", 10*time.Millisecond, time.Millisecond)
	if mean != 10*time.Millisecond || deviation != time.Millisecond {
		t.Errorf("Scale = %v, %v; want them unchanged", mean, deviation)
	}
	t.Cleanup(func() { set("a", 0) })
	set("a", 0.75)
	if mean, deviation = Scale("a", 10*time.Millisecond, time.Millisecond); mean != 2500*time.Microsecond || deviation != 250*time.Microsecond {
		t.Errorf("Scale = %v, %v; want a quarter", mean, deviation)
	}
	if mean, _ = Scale("b", time.Second, 0); mean != time.Second {
		t.Errorf("Scale of another delay = %v, want it unchanged", mean)
	}
}
