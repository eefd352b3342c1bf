package profile

import (
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/replay"
)

// OfReplay returns the profile of a study's windows, for callers that read recordings themselves.
func OfReplay(r replay.Result) Profile {
	var p Profile
	p.AddReplay(&r)
	p.Finish()
	return p
}

// AddReplay adds the answers of a study of recordings, as curves and changes.
func (p *Profile) AddReplay(result *replay.Result) {
	if result.Windows == 0 {
		return
	}
	// Answers come in the order of their questions, so the answers of one curve stand together.
	for _, a := range result.Answers {
		if a.Region.Scope == replay.QuestionScope {
			p.addChange(a)
			continue
		}
		region := a.Region
		last := len(p.Curves) - 1
		if last < 0 || p.Curves[last].Mode != ModeReplay || p.Curves[last].question() != (question{region, a.Point, Metric(a.Metric)}) {
			p.Curves = append(p.Curves, NewCurve(ModeReplay, region, a.Point, Metric(a.Metric), 0))
			last++
		}
		c := &p.Curves[last]
		if a.Withheld == replay.WithheldNone {
			c.BasePeriod = max(c.BasePeriod, time.Duration(a.Base))
		}
		c.Effects = append(c.Effects, replayEffect(a))
	}
	p.Recorded = &Recorded{
		Windows: result.Windows, Length: result.Length, Inferred: result.Inferred,
		CPU: result.Machine.CPU, Others: result.Machine.Others, Stolen: result.Machine.Stolen, Throttled: result.Machine.Throttled,
		Starved: result.Starved, Stalled: result.Stalled,
	}
	for _, r := range result.Rests {
		p.Recorded.Progress = append(p.Recorded.Progress, RecordedProgress{r.Point, r.Visits, r.Windows, r.Deviation, Loop(r.Loop)})
	}
	if result.Inferred {
		p.Notes = append(p.Notes, "replay: locks and channels are told from who woke whom; in a program built by otelprof build they are all known")
	}
}

// replayEffect is an answer as an effect.
func replayEffect(a replay.Answer) Effect {
	e := Effect{Speedup: a.Speedup, Samples: len(a.Samples)}
	if e.Withheld = withheldOf(a); !e.Known() {
		return e
	}
	e.Reduction, e.StdErr, e.Lo, e.Hi, e.Bounded = a.Reduction, a.StdErr, a.Lo, a.Hi, a.Bounded
	e.Reductions = thinned(slices.Clone(a.Samples))
	if a.Metric == replay.Throughput {
		e.ThroughputGain = gain(a.Reduction)
	}
	return e
}

// replayReasons are the codes of what a study says.
var replayReasons = map[replay.Withheld]WithheldCode{
	replay.WithheldWindows:    WithheldWindows,
	replay.WithheldDeviation:  WithheldDeviation,
	replay.WithheldStuck:      WithheldStuck,
	replay.WithheldVisits:     WithheldVisits,
	replay.WithheldSlower:     WithheldSlower,
	replay.WithheldStarved:    WithheldStarved,
	replay.WithheldChoices:    WithheldChoices,
	replay.WithheldConditions: WithheldConditions,
}

// withheldOf returns why an answer has no number.
func withheldOf(a replay.Answer) Withheld {
	w := Withheld{Code: replayReasons[a.Withheld]}
	switch {
	case a.Withheld == replay.WithheldNone:
	case w.Code == "":
		w.Code = WithheldOther
	case w.Code == WithheldWindows:
		w.Count, w.Need = int64(a.Windows), replay.LeastWindows
	case w.Code == WithheldDeviation:
		w.Part = replay.MaxDeviation
	}
	return w
}
