// Package replayprofile makes causal profiles of what package replay has found out: it translates
// between their types, and decides nothing. Package replay knows no profiles, and package profile
// no recordings, so that tools which read profiles need no simulator.
//
//	Answer of a region          an effect in the curve of its region, progress point and metric
//	Answer of a region, held    a slope of the same curve, as experiments of slow-downs measure it
//	Answer of a Question        a change: the program built in another way
//	Rest                        what is recorded of a progress point
//	other fields of Result      profile.Recorded: windows, and what became of processor time
package replayprofile

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/offwake"
	"github.com/otelprof/otelprof/internal/stats"
)

// Of returns the profile of a study's windows, finished: verdicts are given, and curves in order.
func Of(r replay.Result) profile.Profile {
	var p profile.Profile
	Add(&p, &r)
	p.Finish()
	return p
}

// Add adds the answers of a study of recordings to a profile, as curves and changes; nothing of a
// study without windows. [profile.Profile.Finish] is to come. What the profile had from recordings
// before is replaced, and its curves stay.
func Add(p *profile.Profile, result *replay.Result) {
	if result.Windows == 0 {
		return
	}
	// Answers come in the order of progress points, metrics, regions and speed-ups, so the answers
	// of one curve stand together. Slow-downs, with negative speed-ups, are slopes of the same
	// curve; one without a number is left out, as a slope of an experiment that was not made.
	for _, a := range result.Answers {
		if a.Region.Scope == replay.QuestionScope {
			p.Changes = append(p.Changes, changeOf(a))
			continue
		}
		if last := len(p.Curves) - 1; last < 0 || !isOf(p.Curves[last], a) {
			p.Curves = append(p.Curves, profile.Curve{
				Mode: profile.ModeReplay, Region: profile.Region(a.Region), Progress: a.Point, Metric: profile.Metric(a.Metric),
			})
		}
		c := &p.Curves[len(p.Curves)-1]
		if a.Held {
			if a.Withheld == replay.WithheldNone { // the largest level comes first, and stands last
				c.Slopes = slices.Insert(c.Slopes, 0, slopeOf(a))
			}
			continue
		}
		// Answers come from different windows, and differ in their periods by a little.
		if a.Withheld == replay.WithheldNone {
			c.BasePeriod = max(c.BasePeriod, time.Duration(a.Base))
		}
		c.Effects = append(c.Effects, effectOf(a))
	}
	// Under which conditions the answers hold.
	p.Recorded = &profile.Recorded{
		Windows: result.Windows, Length: result.Length, Inferred: result.Inferred,
		CPU: result.Machine.CPU, Others: result.Machine.Others, Stolen: result.Machine.Stolen, Throttled: result.Machine.Throttled,
		Starved: result.Starved, Stalled: result.Stalled,
	}
	for _, r := range result.Rests {
		p.Recorded.Progress = append(p.Recorded.Progress, profile.RecordedProgress{
			Progress: r.Point, Visits: r.Visits, Windows: r.Windows, Deviation: r.Deviation, Loop: string(r.Loop),
		})
	}
	if result.Inferred {
		p.Notes = append(p.Notes, "replay: which lock or channel a goroutine waited for is inferred from who woke it; otelprof build has all of them recorded")
	}
}

// Waits are what regions waited for in a recording.
func Waits(found *offwake.Waits) []profile.RegionWaits {
	regions := make([]profile.RegionWaits, len(found.Regions))
	for i, of := range found.Regions {
		regions[i] = profile.RegionWaits{Region: profile.Region(of.Region), Spans: of.Spans, Time: of.Time}
		for _, row := range of.Rows {
			regions[i].Waits = append(regions[i].Waits, profile.Wait{
				Kind: row.Kind.String(), In: profile.Region(row.In), Where: row.Where, By: profile.Region(row.By), ByWhere: row.ByPlace,
				Count: row.Count, Total: row.Total, Longest: row.Longest,
			})
		}
	}
	return regions
}

// Tails are why the slowest requests are slow.
func Tails(contrasts []offwake.Contrast) []profile.Tail {
	tails := make([]profile.Tail, len(contrasts))
	for i, c := range contrasts {
		tails[i] = profile.Tail{Region: profile.Region(c.Region), Requests: c.Requests, Slowest: c.Slowest, From: c.From, Slow: c.Slow, Typical: c.Typical}
		for _, row := range c.Rows {
			tails[i].Parts = append(tails[i].Parts, profile.TailPart{
				Kind: row.Kind.String(), In: profile.Region(row.In), Where: row.Where, By: profile.Region(row.By), ByWhere: row.ByPlace,
				Slow: row.Slow, Typical: row.Typical,
			})
		}
		for _, one := range c.Examples {
			if one.Span != 0 {
				tails[i].Examples = append(tails[i].Examples, fmt.Sprintf("%016x", one.Span))
			}
		}
	}
	return tails
}

// isOf reports whether an answer belongs to a curve. Curves of other modes may have the same names.
func isOf(c profile.Curve, a replay.Answer) bool {
	return c.Mode == profile.ModeReplay && c.Region == profile.Region(a.Region) && c.Progress == a.Point && c.Metric == profile.Metric(a.Metric)
}

// changeOf is an answer about the program built in another way.
func changeOf(a replay.Answer) profile.Change {
	c := profile.Change{Change: a.Region.Name, Progress: a.Point, Metric: profile.Metric(a.Metric), Effect: effectOf(a)}
	if a.Withheld == replay.WithheldNone {
		c.BasePeriod = time.Duration(a.Base)
	}
	return c
}

// slopeOf is what a slow-down would measure, by simulation: the period grows by Elasticity for each
// part by which the region is slower. An answer is a reduction, below 0 where the period grows, so
// that signs change, and bounds change sides. With a level of 0.1 and a reduction of -0.03 (-0.05
// to -0.01) the elasticity is 0.3 (0.1 to 0.5). The simulation takes exactly what it is asked to.
// Levels are above 0.
func slopeOf(a replay.Answer) profile.Slope {
	level := -a.Speedup
	return profile.Slope{
		Level: level, Taken: level, Samples: len(a.Samples),
		Elasticity: -a.Reduction / level, StdErr: a.StdErr / level, Lo: -a.Hi / level, Hi: -a.Lo / level,
		VisitRatio: a.Rerouted / level, VisitRatioErr: a.ReroutedErr / level,
	}
}

// effectOf is an answer as an effect. Without a number it has its reason and the number of samples
// alone; with bounds alone the reason is a warning beside the numbers.
func effectOf(a replay.Answer) profile.Effect {
	e := profile.Effect{Speedup: a.Speedup, Samples: len(a.Samples)}
	if e.Withheld = reasonOf(a.Withheld, a); !e.Known() {
		return e
	}
	e.Reduction, e.StdErr, e.Lo, e.Hi, e.Bounded = a.Reduction, a.StdErr, a.Lo, a.Hi, a.Bounded
	if doubt := reasonOf(a.Doubt, a); doubt.Code != "" {
		e.Warnings = []string{"wider, since " + doubt.String()}
	}
	e.Reductions = stats.Thinned(a.Samples) // a copy: profiles are changed while the study goes on
	if a.Metric == replay.Throughput {
		e.ThroughputGain = stats.Gain(a.Reduction)
	}
	return e
}

// codes are those of a study's reasons, as users see them: docs/causal.md explains each.
var codes = map[replay.Withheld]profile.WithheldCode{
	replay.WithheldWindows:   withheldcode.Windows,
	replay.WithheldDeviation: withheldcode.Deviation,
	replay.WithheldStuck:     withheldcode.Stuck,
	replay.WithheldVisits:    withheldcode.Visits,
	replay.WithheldSlower:    withheldcode.Slower,
	replay.WithheldStarved:   withheldcode.Starved,
	replay.WithheldChoices:   withheldcode.Choices,
	replay.WithheldPauses:    withheldcode.Pauses,
	replay.WithheldOffers:    withheldcode.Offers,
}

// reasonOf returns a reason why an answer has no number, or bounds alone, with the parameters that
// its code has: numbers of windows, and what they missed by. A reason without a code is another
// one.
func reasonOf(why replay.Withheld, a replay.Answer) profile.Withheld {
	w := profile.Withheld{Code: codes[why]}
	switch {
	case why == replay.WithheldNone:
	case w.Code == "":
		w.Code = withheldcode.Other
	case w.Code == withheldcode.Windows:
		w.Count, w.Need = int64(a.Windows), replay.FewestWindows
	case w.Code == withheldcode.Deviation:
		w.Count, w.Of, w.Part = int64(a.Missed), int64(a.Windows), a.Deviation
	}
	return w
}
