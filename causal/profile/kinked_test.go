package profile_test

import (
	"math/rand/v2"
	"testing"

	"github.com/otelprof/otelprof/causal/profile"
)

// Two branches of the same length, after which comes nothing: each costs all where it is longer,
// and brings nothing where it is shorter.
func TestSlopesAtAKink(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	curves := []profile.Curve{slowed(rng, 0.95, 0.95), slowed(rng, 0.95, 0.95)}
	curves[1].Region.Name = "b"
	profile.WidenByOthers(curves)
	for _, c := range curves {
		if e := c.Effects[0]; e.Lo > 0.01 || e.Hi < 0.09 {
			t.Errorf("%+v, want all between nothing and the whole", e)
		}
	}
	curves = []profile.Curve{slowed(rng, 0.4, 0.4), slowed(rng, 0.5, 0.5)}
	curves[1].Region.Name = "b"
	before := curves[1].Effects[0].Lo
	if profile.WidenByOthers(curves); curves[1].Effects[0].Lo != before {
		t.Errorf("lower bound %v where the slopes add up to less than 1, want %v", curves[1].Effects[0].Lo, before)
	}
}
