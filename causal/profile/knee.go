package profile

import "math"

// leastDeviation is taken for that of a reduction where it seems to be known better.
const leastDeviation = 0.002

// deviation is the standard error that the interval of a reduction stands for.
func (e Effect) deviation() float64 { return max(leastDeviation, (e.Hi-e.Lo)/4) }

// measured returns the effects that have a number, in their order.
func (c Curve) measured() []Effect {
	var all []Effect
	for _, e := range c.Effects {
		if e.Known() {
			all = append(all, e)
		}
	}
	return all
}

// answered reports whether there is a number at any speed-up.
func (c Curve) answered() bool { return len(c.measured()) > 0 }

// A line goes through the origin.
type line struct{ slope, deviation float64 }

// fit returns the line closest to the effects.
func fit(effects []Effect) line {
	var xy, xx float64
	for _, e := range effects {
		weight := 1 / (e.deviation() * e.deviation())
		xy += weight * e.Speedup * e.Reduction
		xx += weight * e.Speedup * e.Speedup
	}
	if xx == 0 {
		return line{}
	}
	return line{xy / xx, 1 / math.Sqrt(xx)}
}

// A bend is where a curve that rises becomes flatter by half or more: there something else
// becomes the bottleneck.
type bend struct {
	line            // up to it
	at      float64 // 0 if there is none
	between [2]float64
}

// bendOf looks for it among effects with numbers. What differs by less than two standard
// errors is taken for straight.
func bendOf(effects []Effect) bend {
	for i := 1; i < len(effects); i++ {
		up := fit(effects[:i])
		a, b := effects[i-1], effects[i]
		run := b.Speedup - a.Speedup
		if run <= 0 || up.slope < 2*up.deviation {
			continue
		}
		after := line{(b.Reduction - a.Reduction) / run, math.Hypot(a.deviation(), b.deviation()) / run}
		if up.slope/2-after.slope > 2*math.Hypot(up.deviation/2, after.deviation) {
			// Were it flat from there on, that is where both lines meet.
			return bend{up, max(a.Speedup, min(b.Speedup, b.Reduction/up.slope)), [2]float64{a.Speedup, b.Speedup}}
		}
	}
	return bend{line: fit(effects)}
}

// narrowBracket is how closely a knee is looked for.
const narrowBracket = 0.1

// Refinements returns the speed-ups, in whole percent, that would tell more about the knee of the
// curve: where it seems to be, and the middle of the gap that it lies in. Effects without a number
// do not count.
func (c Curve) Refinements() (speedups []float64) {
	k := bendOf(c.measured())
	if k.at == 0 || k.between[1]-k.between[0] <= narrowBracket+1e-9 {
		return nil
	}
	const point = 0.01
	last := k.between[0]
	for _, s := range []float64{k.at, (k.between[0] + k.between[1]) / 2} {
		s = math.Round(100*s) / 100
		far := math.Abs(s-last) >= 2*point && s-k.between[0] >= 2*point && k.between[1]-s >= 2*point
		if far {
			speedups = append(speedups, s)
			last = s
		}
	}
	return speedups
}
