package causal

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// noEffect is what nobody would do work for: an effect that is surely below 2 points.
	noEffect = 0.02
	// exampleSpeedup is the one that verdicts tell about, or the next above it.
	exampleSpeedup = 0.1
)

// verdict sums a curve up in words, once the rest of it is known. It looks at all speed-ups that have a
// number: whether there is an effect is the question of [Curve.PValue], and of what kind that of the
// intervals that leave out zero.
func (c Curve) verdict() string {
	words := []string{c.verdictAlone()}
	for _, m := range c.Disagrees {
		words = append(words, string(m)+" disagrees")
	}
	return strings.Join(words, "; ")
}

func (c Curve) verdictAlone() string {
	effects := c.measured()
	if len(effects) == 0 {
		return "withheld: " + c.whyWithheld()
	}
	example, last := effects[len(effects)-1], effects[len(effects)-1]
	for _, e := range effects {
		if e.Speedup >= exampleSpeedup-1e-9 {
			example = e
			break
		}
	}
	gives := example.gives()
	little := last.Lo > -noEffect && last.Hi < noEffect && !slices.ContainsFunc(effects, func(e Effect) bool { return e.Lo > noEffect || e.Hi < -noEffect })
	certain := c.certain()
	switch {
	case little && !c.Significant:
		return "no effect"
	case little:
		return "hardly any effect: " + gives
	case !c.Significant:
		return fmt.Sprintf("not clear yet: %.3g %% faster gives %.1f to %.1f %%", 100*last.Speedup, 100*last.Lo, 100*last.Hi)
	}
	first, most := certain[0], certain[len(certain)-1]
	switch {
	case first.Reduction > 0 != (most.Reduction > 0):
		return fmt.Sprintf("helps or hurts, by how much it is: %s, %s", first.gives(), most.gives())
	case most.Reduction < 0:
		return "speeding this up hurts: " + gives
	case c.Knee > 0:
		return fmt.Sprintf("helps until %.0f %%, then something else is the bottleneck: %s", 100*c.Knee, gives)
	}
	return "speeding this up helps: " + gives
}

// certain are the effects whose intervals leave out zero.
func (c Curve) certain() []Effect {
	return slices.DeleteFunc(c.measured(), func(e Effect) bool { return e.Lo <= 0 && e.Hi >= 0 })
}

// gives is "10 % faster gives 9.9 %".
func (e Effect) gives() string {
	return fmt.Sprintf("%.3g %% faster gives %.1f %%", 100*e.Speedup, 100*e.Reduction)
}

// whyWithheld returns the reasons why there is no number.
func (c Curve) whyWithheld() string {
	var reasons []string
	seen := map[string]bool{}
	for _, e := range c.Effects {
		if !seen[e.Withheld] {
			seen[e.Withheld] = true
			reasons = append(reasons, e.Withheld)
		}
	}
	if len(reasons) == 0 {
		return "nothing has been measured"
	}
	return strings.Join(reasons, "; ")
}
