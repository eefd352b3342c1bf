package profile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// boundedCurve is one whose effects are between bounds.
func boundedCurve(span, progress string, reductions map[float64]float64, within float64) Curve {
	c := bounded(replayedCurve(span, progress, reductions))
	for i := range c.Effects {
		c.Effects[i].Lo, c.Effects[i].Hi = c.Effects[i].Reduction-within, c.Effects[i].Reduction+within
	}
	return c
}

// replayedCurve is one of mode replay whose reductions are known to within two points.
func replayedCurve(region, progress string, reductions map[float64]float64) Curve {
	c := newCurve(ModeReplay, Region{Scope: "shop", Name: region}, progress, MetricThroughput, 2*time.Millisecond)
	for s, r := range reductions {
		c.Effects = append(c.Effects, Effect{Speedup: s, Reduction: r, StdErr: 0.004, Lo: r - 0.02, Hi: r + 0.02, Samples: 6})
	}
	return c
}

func recorded(progress string) *Recorded {
	return &Recorded{Windows: 6, Length: 18 * time.Second, Progress: []RecordedProgress{{Progress: progress, Visits: 4321, Windows: 6, Deviation: 0.004}}}
}

func TestWriteAnswer(t *testing.T) {
	withheldCurve := replayedCurve("ship", "order", nil)
	withheldCurve.Effects = []Effect{{Speedup: 0.25, Withheld: told("2 recordings measured, 5 are needed"), Samples: 2}}
	experiment := replayedCurve("reserve", "order", map[float64]float64{0.25: 0.3, 0.5: 0.35})
	experiment.Mode = ModeOverlap
	for _, tt := range []struct {
		name, progress string
		p              Profile
		want           string
	}{
		{"one helps", "", Profile{Recorded: recorded("order"), Curves: []Curve{
			replayedCurve("order", "order", map[float64]float64{0.25: 0.25, 0.5: 0.5}),
			replayedCurve("price", "order", map[float64]float64{0.25: 0.01, 0.5: 0.012}),
			replayedCurve("reserve", "order", map[float64]float64{0.25: 0.2, 0.5: 0.25}),
			withheldCurve,
		}}, `what helps most   reserve
by how much       25 % faster, order would take 20.0 % less time each (18.0 to 22.0 %), throughput would rise by 25.0 %; beyond 31 % something else is the bottleneck
what it rests on  6 recorded windows of 18s together, simulated; nothing was delayed; 4321 visits; nothing changed is met within 0.4 %

by how many % the time for each order (2ms) shrinks if a region is faster by
  region   mode    n  25 %                      50 %                      
  reserve  replay  6  20.0 ±0.4 (18.0 .. 22.0)  25.0 ±0.4 (23.0 .. 27.0)  
  price    replay  6  1.0 ±0.4 (-1.0 .. 3.0)    1.2 ±0.4 (-0.8 .. 3.2)    
  order    replay  6  25.0 ±0.4 (23.0 .. 27.0)  50.0 ±0.4 (48.0 .. 52.0)  
note: no number for ship: 2 recordings measured, 5 are needed
`},
		{"two cannot be told apart, and an experiment disagrees", "order", Profile{PlanID: "night", Experiments: 7, Recorded: recorded("order"), Curves: []Curve{
			replayedCurve("price", "order", map[float64]float64{0.25: 0.29}),
			replayedCurve("reserve", "order", map[float64]float64{0.25: 0.2}),
			experiment,
		}}, `what helps most   reserve, by the numbers; as good may be price
by how much       25 % faster, order would take 30.0 % less time each (28.0 to 32.0 %), throughput would rise by 42.9 %; beyond 29 % something else is the bottleneck
what it rests on  7 experiments of plan night, 0s of delay inserted

by how many % the time for each order (2ms) shrinks if a region is faster by
  region   mode     n  25 %                      50 %                      
! reserve  overlap  6  30.0 ±0.4 (28.0 .. 32.0)  35.0 ±0.4 (33.0 .. 37.0)  
! reserve  replay   6  20.0 ±0.4 (18.0 .. 22.0)  -                         
  price    replay   6  29.0 ±0.4 (27.0 .. 31.0)  -                         
note: reserve → order (throughput): 25 % faster gives 30.0 (28.0 .. 32.0) by overlap, but 20.0 (18.0 .. 22.0) by replay
`},
		{"nothing helps", "", Profile{Recorded: recorded("order"), Curves: []Curve{
			replayedCurve("price", "order", map[float64]float64{0.25: -0.005}),
		}}, `what helps most   nothing: no region brings more than 1.5 %
by how much       25 % faster, order would take -0.5 % less time each (-2.5 to 1.5 %)
`},
		{"nothing helps of what is known", "", Profile{Recorded: recorded("order"), Curves: []Curve{
			replayedCurve("price", "order", map[float64]float64{0.25: -0.005}), withheldCurve,
		}}, `what helps most   nothing so far: no region that has a number brings more than 1.5 %
`},
		{"its own spans alone", "", Profile{Recorded: recorded("order"), Curves: []Curve{
			replayedCurve("order", "order", map[float64]float64{0.25: 0.25}),
		}}, `what helps most   not known: only spans of order itself have a number, and all work is in them
by how much       no number without a reason to believe it
`},
		{"its own spans, and a region without a number", "", Profile{Recorded: recorded("order"), Curves: []Curve{
			replayedCurve("order", "order", map[float64]float64{0.25: 0.25}), withheldCurve,
		}}, `what helps most   not known: 2 recordings measured, 5 are needed
`},
		{"between bounds", "", Profile{Recorded: recorded("order"), Curves: []Curve{
			boundedCurve("price", "order", map[float64]float64{0.25: 0.2}, 0.1),
		}}, `what helps most   price
by how much       25 % faster, order would take between 10.0 % and 30.0 % less time each; a slow-down (otelprof whatif -confirm) narrows this
`},
		{"withheld", "", Profile{Recorded: recorded("order"), Curves: []Curve{withheldCurve}}, `what helps most   not known: 2 recordings measured, 5 are needed
by how much       no number without a reason to believe it
`},
		{"nothing was measured", "", Profile{}, `what helps most   not known: under load recordings answer within a minute, without a plan
by how much       no number without a reason to believe it
what it rests on  nothing
`},
	} {
		tt.p.Finish()
		var out strings.Builder
		if err := tt.p.WriteAnswer(&out, tt.progress); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		lines := strings.Count(tt.want, "\n")
		got := strings.Join(strings.SplitAfter(out.String(), "\n")[:min(lines, strings.Count(out.String(), "\n"))], "")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	p := Profile{Curves: []Curve{replayedCurve("price", "order", nil)}}
	if err := p.WriteAnswer(&strings.Builder{}, "checkout"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `"order"`) {
		t.Errorf("of a progress point that is not there: %v", err)
	}
}

// TestAnswerPrefersDecided: an experiment that has decided nothing so far does not hide what
// recordings tell.
func TestAnswerPrefersDecided(t *testing.T) {
	vague := replayedCurve("reserve", "order", map[float64]float64{0.25: 0.3})
	vague.Mode = ModeOverlap
	vague.Effects[0].Lo, vague.Effects[0].Hi = -0.2, 0.8
	p := Profile{Recorded: recorded("order"), Curves: []Curve{vague, replayedCurve("reserve", "order", map[float64]float64{0.25: 0.2})}}
	p.Finish()
	var out strings.Builder
	if err := p.WriteAnswer(&out, ""); err != nil || !strings.Contains(out.String(), "20.0 % less time each (18.0 to 22.0 %)") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestAnswerPrefersCounted takes what the program counts itself, however often other spans end.
func TestAnswerPrefersCounted(t *testing.T) {
	p := Profile{Recorded: &Recorded{Progress: []RecordedProgress{{Progress: "fetch", Visits: 9000, Windows: 5}, {Progress: "done", Visits: 90, Windows: 5}}}}
	for _, progress := range []string{"fetch", "done"} {
		p.Curves = append(p.Curves, replayedCurve("fetch", progress, map[float64]float64{0.25: 0.1}))
	}
	p.Finish()
	var out strings.Builder
	if err := p.WriteAnswer(&out, ""); err != nil || !strings.Contains(out.String(), "the time for each done ") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestMergeReplayed checks that more runs do not make a model's error smaller.
func TestMergeReplayed(t *testing.T) {
	one := Profile{Recorded: recorded("order"), Curves: []Curve{replayedCurve("price", "order", map[float64]float64{0.25: 0.2})}}
	two := Profile{Recorded: recorded("order"), Curves: []Curve{replayedCurve("price", "order", map[float64]float64{0.25: 0.3})}}
	m := Merge(one, two)
	e := m.Curves[0].Effects[0]
	want := Effect{Speedup: 0.25, Reduction: 0.25, StdErr: 0.004, Lo: 0.18, Hi: 0.32, ThroughputGain: 1/0.75 - 1, Samples: 12, Verdict: VerdictHelps, Warnings: []string{"runs differ: 20.0 (18.0 .. 22.0) and 30.0 (28.0 .. 32.0)"}}
	if diff := cmp.Diff(want, e, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("effect (-want +got):\n%s", diff)
	}
	if m.Recorded.Windows != 12 || m.Recorded.Length != 36*time.Second || m.Recorded.Progress[0].Visits != 8642 {
		t.Errorf("recorded %+v, want the sums", m.Recorded)
	}
}

// Where there are no answers, there are no names to choose from.
func TestWriteAnswerOfNothing(t *testing.T) {
	err := Profile{}.WriteAnswer(&strings.Builder{}, "checkout")
	if !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "[]") || !strings.Contains(err.Error(), "visited often enough") {
		t.Errorf("WriteAnswer = %v, want that the point has too few visits", err)
	}
}

// A rank is known before how much it is: what recordings are missed by is the same for all regions.
func TestRankBeforeNumber(t *testing.T) {
	wide := func(region string, samples ...float64) Curve {
		c := replayedCurve(region, "order", nil)
		c.Effects = []Effect{{Speedup: 0.25, Reduction: samples[0], Lo: -0.02, Hi: 0.25, Bounded: true, Samples: len(samples), Reductions: samples}}
		return c
	}
	for _, tt := range []struct {
		next []float64
		want string
	}{
		{[]float64{0.02, 0.03, 0.01, 0.02}, "reserve; how much is not clear yet"},
		{[]float64{0.12, 0.03, 0.2, 0.02}, "not clear yet: perhaps reserve"},
		{[]float64{0.02, 0.03}, "not clear yet: perhaps reserve"}, // of other windows
	} {
		p := Profile{Recorded: recorded("order"), Curves: []Curve{wide("reserve", 0.13, 0.14, 0.12, 0.13), wide("price", tt.next...)}}
		p.Finish()
		a, err := p.answerAt("order")
		if err != nil {
			t.Fatal(err)
		}
		if got := a.most(); got != tt.want {
			t.Errorf("beside %v: %q, want %q", tt.next, got, tt.want)
		}
	}
}
