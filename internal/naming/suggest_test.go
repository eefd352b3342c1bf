package naming

import "testing"

func TestSuggest(t *testing.T) {
	names := []string{"reads", "read_misses", "writes", "write_misses"}
	for written, want := range map[string]string{
		"raeds":      ": did you mean reads?",
		"read_miss":  ": did you mean read_misses or reads?",
		"rites":      ": did you mean writes?",
		"rite_misse": ": did you mean write_misses or read_misses?",
		"something":  "",
	} {
		if got := Suggest(written, names); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", written, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"cycles", "cycles", 0}, {"flaw", "lawn", 2},
	} {
		if got, back := edits(test.a, test.b), edits(test.b, test.a); got != test.want || back != test.want {
			t.Errorf("edits of %q, %q = %d, %d, want %d", test.a, test.b, got, back, test.want)
		}
	}
}
