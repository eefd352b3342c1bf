package profile

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// confirm holds what recordings say against slow-downs, which are measured in the program itself:
// the very slow-downs, where replay has simulated them, or else the answers. Where both have
// intervals that lie apart, replay is contradicted: it is withheld for that region and progress
// point, and the measured bounds stay; where it routes work otherwise, for all regions. Where it
// lacks a choice that the program makes by its state, or a resonance, the answers of all regions
// have the measured bounds as well; at a resonance it is as good a guess as any, and not withheld.
// Else the answer is what both allow: replay's number within the intersection, confirmed.
func (p *Profile) confirm() {
	measured := map[question]Curve{}
	for _, c := range p.Curves {
		if c.Mode == ModeSlowdown {
			measured[c.question()] = c
		}
	}
	held := make([]holding, len(p.Curves))
	throughout := map[string]holding{} // what holds for all regions, by progress point
	for i, c := range p.Curves {
		if by, ok := measured[c.question()]; ok && c.Mode == ModeReplay {
			h, all := c.heldAgainst(by), throughout[c.Progress]
			held[i] = h
			throughout[c.Progress] = holding{reroutes: all.reroutes || h.reroutes, falls: all.falls || h.falls, chooses: all.chooses || h.chooses}
		}
	}
	for i, c := range p.Curves {
		by, ok := measured[c.question()]
		if c.Mode != ModeReplay || !ok {
			continue
		}
		all := throughout[c.Progress]
		contradicted := held[i].contradicted && !all.falls || all.reroutes
		near := math.Inf(-1)
		for k, e := range c.Effects {
			if contradicted {
				p.Curves[i].Effects[k] = e.Withhold(Withheld{Code: withheldcode.Contradicted})
				continue
			}
			if bound, found := by.at(e.Speedup); found && e.Known() {
				e = e.asSimulated()
				own := [...]float64{e.Reduction, e.Lo, e.Hi}
				e = e.reaching(c.unsure(e.Speedup))
				if all.falls || all.chooses {
					e = e.orMeasured(bound)
				} else {
					e = e.confirmedBy(bound, held[i], by.Inside, near)
				}
				if e.Speedup <= Near {
					near = e.Reduction
				}
				e.Simulated = own
				p.Curves[i].Effects[k] = e
			}
		}
	}
}

// confirmedBy returns the effect as far as a slow-down of the region, which waits inside or not,
// allows it. Near is the effect at [Near], if that is known.
func (e Effect) confirmedBy(bound Effect, h holding, inside bool, near float64) Effect {
	vague, nothing, open := e.vaguer(bound), e.holds(bound), e.open()
	e = e.within(bound, h.alike && e.Speedup > Near)
	switch {
	case nothing && inside, open, (nothing || vague) && e.Speedup <= Near: // beyond, a slope is hardly a number
		e.Reduction = clamp(bound.Reduction, e.Lo, e.Hi)
	case nothing && vague: // neither its interval nor its number is knowledge
		e.Reduction = clamp(max(bound.Reduction, near), e.Lo, e.Hi)
	case vague: // more time taken brings no less
		e.Reduction = clamp(max(e.Reduction, near), e.Lo, e.Hi)
	}
	e.Confirmed = e.Confirmed || h.met
	return e
}

// unsure is how far to either side a simulation is unsure of the period where the region is slower
// by about so much as it is to be faster: recordings that agree about the one alone are no surer of
// the other.
func (c Curve) unsure(speedup float64) (by float64) {
	for i, s := range c.Slopes { // the smallest level first
		if i == 0 || s.Level <= speedup {
			by = s.Level * (s.Hi - s.Lo) / 2
		}
	}
	return by
}

// reaching returns the effect with an interval that is so wide to either side at least.
func (e Effect) reaching(by float64) Effect {
	if missing := by - (e.Hi-e.Lo)/2; missing > 0 {
		e.Lo, e.Hi = e.Lo-missing, e.Hi+missing
	}
	return e
}

// orMeasured returns the effect where the simulation is known to be wrong about the program, with
// what slow-downs bound in its interval.
func (e Effect) orMeasured(bound Effect) Effect {
	e.Lo, e.Hi, e.Bounded = min(e.Lo, bound.Lo), max(e.Hi, bound.Hi), true
	return e
}

// asSimulated returns the effect as recordings have it by themselves: a profile that is read or
// merged is confirmed anew.
func (e Effect) asSimulated() Effect {
	if s := e.Simulated; s != [3]float64{} {
		e.Reduction, e.Lo, e.Hi, e.Simulated, e.Confirmed = s[0], s[1], s[2], [3]float64{}, false
	}
	return e
}

// A holding is how simulated slow-downs stand to measured ones.
type holding struct {
	contradicted bool // they are apart
	falls        bool // the program is at a resonance, and the simulation is not
	chooses      bool // they are apart, and the program chooses by its state
	met          bool // they agree at a level where the measured interval would have noticed much else
	alike        bool // and so would the simulated one
	reroutes     bool // work goes another way in the program
}

// heldAgainst holds simulated slow-downs against measured ones, or the answers to one question
// against each other where there are none. Where the time falls although the region is slower, the
// program is at a resonance.
func (c Curve) heldAgainst(by Curve) (h holding) {
	compared := false
	for _, simulated := range c.Slopes {
		for _, measured := range by.Slopes {
			if measured.Level != simulated.Level || !measured.known() {
				continue
			}
			falls, chooses := by.fallsAt(measured), by.chooses(measured)
			if c.metric() == MetricThroughput && !chooses && !falls {
				measured, simulated = measured.possible(), simulated.possible()
			}
			compared = true
			if apart := max(measured.Lo-simulated.Hi, simulated.Lo-measured.Hi); apart*measured.Level > agreeWithin {
				h.contradicted = h.contradicted || !falls
				h.falls, h.chooses = h.falls || falls, h.chooses || chooses
			}
			noticed := notices(measured.Hi-measured.Lo, simulated.Hi-simulated.Lo, measured.Elasticity)
			h.met = h.met || noticed
			h.alike = h.alike || noticed && simulated.Hi-simulated.Lo <= 2*(measured.Hi-measured.Lo)
		}
	}
	if !compared {
		_, _, h.contradicted = apart(by, c)
	}
	h.reroutes = c.reroutes(by)
	return h
}

// at returns the effect at a speed-up, if it has a number.
func (c Curve) at(speedup float64) (Effect, bool) {
	for _, e := range c.measured() {
		if e.Speedup == speedup {
			return e, true
		}
	}
	return Effect{}, false
}

// vaguer reports whether the number of a simulation is outside of what was measured, and less
// precise: near, that has the better number.
func (e Effect) vaguer(measured Effect) bool {
	return e.Hi-e.Lo > measured.Hi-measured.Lo && (e.Reduction < measured.Lo || e.Reduction > measured.Hi)
}

// open reports whether bounds leave open all that a faster region may bring: the number is a guess.
func (e Effect) open() bool { return e.Bounded && e.Lo <= 0 && e.Hi >= e.Speedup }

// holds reports whether the interval of a simulation leaves out nothing of what was measured, so
// that it adds nothing.
func (e Effect) holds(measured Effect) bool {
	wider := e.Hi-e.Lo > measured.Hi-measured.Lo-stats.ModelError
	return wider && e.Lo <= measured.Lo+stats.ModelError && e.Hi >= measured.Hi-stats.ModelError
}

// within returns the effect with what its own interval and that of a slow-down have in common;
// where they only nearly meet, that is the end of its own which is nearer. Two that only just meet
// are not as sure together as what they have in common is narrow: that is half as wide as the
// narrower at least. It is confirmed if the slow-down would have noticed much else.
//
// Where the simulation chooses by its state as the program does, since the slow-downs themselves
// are alike, its number stays though it is above what theorems bound: the slowest of three replicas
// of which two must answer costs nothing if it is slower, and brings something if it is faster.
func (e Effect) within(bound Effect, chooses bool) Effect {
	e.Confirmed = notices(bound.Hi-bound.Lo, e.Hi-e.Lo, e.Reduction)
	least := min(bound.Hi-bound.Lo, e.Hi-e.Lo) / 4
	most := max(bound.Hi, e.Lo)
	if chooses && e.Reduction > bound.Hi {
		most = e.Hi
	}
	e.Lo, e.Hi = max(e.Lo, min(bound.Lo, e.Hi)), min(e.Hi, most)
	e.Reduction = clamp(e.Reduction, e.Lo, e.Hi)
	return e.reaching(least).possible()
}

// notices reports whether a measured interval is so narrow that it would have noticed much else
// than what is simulated: it is twice as wide at most, or not wider than the effect is large.
func notices(measured, simulated, effect float64) bool { return measured <= max(2*simulated, effect) }

// Evidence is what an answer rests on.
type Evidence string

// The kinds of evidence.
const (
	EvidenceMeasured  Evidence = "measured"                // by experiments
	EvidenceSimulated Evidence = "simulated"               // from recordings
	EvidenceConfirmed Evidence = "simulated and confirmed" // slow-downs in the program agree
)

// evidence returns what a curve rests on, "" without a number.
func (c Curve) evidence() Evidence {
	effects := c.measured()
	switch {
	case len(effects) == 0:
		return ""
	case c.Mode != ModeReplay:
		return EvidenceMeasured
	case slices.ContainsFunc(effects, func(e Effect) bool { return e.Confirmed }):
		return EvidenceConfirmed
	}
	return EvidenceSimulated
}
