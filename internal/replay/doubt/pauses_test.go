package doubt

import "testing"

// TestEachFew has legs with pauses nearly each time, or each tenth time, with an exception in the
// middle.
func TestEachFew(t *testing.T) {
	const middle = 300
	x := pausing{site: 1}
	for name, tt := range map[string]struct {
		paused func(i int) bool
		want   bool
	}{
		"nearly all":  {func(i int) bool { return i != middle }, false},
		"each tenth":  {func(i int) bool { return i%10 == 0 || i == middle+1 }, true},
		"one in five": {func(i int) bool { return i%7 == 0 || i%11 == 0 }, false},
	} {
		legs := make([]leg, 2*middle)
		for i := range legs {
			if tt.paused(i) {
				legs[i].pauses = map[pausing]int{x: 1}
			}
		}
		if got := eachFew(legs, x); got != tt.want {
			t.Errorf("%s: each n-th leg has a pause: %t, want %t", name, got, tt.want)
		}
	}
}
