package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// A fleetWorld is so many instances of a service that is entered, which answer requests one after
// the other, and as many of one behind it that takes a part share of the time.
type fleetWorld struct {
	instances int
	share     float64
	apart     time.Duration // clocks, at most
	lost      float64       // part of what instances count that does not arrive
	restarts  float64       // part of the instances that begin anew in the middle
	killed    float64       // part of which nothing is heard
	partial   float64       // part of the instances behind that delay; 0 for all
}

var (
	simulatedRegion = profile.Region{Scope: "stock", Name: "query"}
	simulatedPoint  = "GET /"
)

const (
	simulatedPeriod = 10 * time.Millisecond
	simulatedRounds = 40
)

// holds is the level at which one instance behind holds callers at a moment by its own clock.
func holds(e *Epochs, at time.Time) float64 {
	a, _ := e.Arm(e.Number(at))
	return a.Speedup
}

// profiles are what the instances have counted in the end.
func (w fleetWorld) profiles(rng *rand.Rand) (all []profile.Profile) {
	e := NewEpochs(byClock(1, 1))
	first := e.Number(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)) + int64(rng.IntN(1_000_000))
	offset := func() time.Duration { return time.Duration((rng.Float64() - 0.5) * float64(w.apart)) }
	const lookers = 8 // of the clocks behind, in the mean of which a request waits
	behind := make([]time.Duration, min(w.instances, lookers))
	for i := range behind {
		behind[i] = offset()
	}
	epochs := simulatedRounds * int(e.arms)
	drift := make([]float64, epochs) // of all alike, as load and machines have it
	for i := range drift {
		drift[i] = math.Exp(0.02 * rng.NormFloat64())
	}
	holding := 1.0
	if w.partial > 0 {
		holding = w.partial
	}
	for range w.instances {
		entered, held := profile.Profile{PlanHash: "p", Mode: profile.ModeSlowdown}, profile.Profile{PlanHash: "p", Mode: profile.ModeSlowdown}
		entered.Curves = []profile.Curve{{Mode: profile.ModeSlowdown, Region: simulatedRegion, Progress: simulatedPoint, Metric: profile.MetricThroughput, Effects: []profile.Effect{{Speedup: 0.1}}}}
		clock, delays := offset(), rng.Float64() < holding
		begins := 0
		if rng.Float64() < w.restarts {
			begins = rng.IntN(epochs)
		}
		for i := begins; i < epochs; i++ {
			a, _ := e.Arm(first + int64(i))
			x := profile.Epoch{Number: first + int64(i), Region: simulatedRegion, Level: a.Speedup}
			if rng.Float64() >= w.lost {
				entered.Epochs = append(entered.Epochs, w.counts(e, x, clock, behind, holding, drift[i], rng))
			}
			if rng.Float64() >= w.lost {
				held.Epochs = append(held.Epochs, w.held(x, delays, rng))
			}
		}
		if rng.Float64() >= w.killed {
			all = append(all, entered)
		}
		if rng.Float64() >= w.killed {
			all = append(all, held)
		}
	}
	return all
}

// counts are the visits of an instance that is entered, by its own clock.
func (w fleetWorld) counts(e *Epochs, x profile.Epoch, clock time.Duration, behind []time.Duration, holding, drift float64, rng *rand.Rand) profile.Epoch {
	from, to := e.Counted(x.Number, 50*time.Millisecond)
	const steps = 8
	slower := 0.0
	for step := range steps {
		at := from.Add(to.Sub(from) * time.Duration(2*step+1) / (2 * steps)).Add(-clock)
		for _, other := range behind {
			slower += holding * holds(e, at.Add(other)) / float64(steps*len(behind))
		}
	}
	each := float64(simulatedPeriod) * (1 + w.share*slower) * drift
	visits := math.Floor(float64(to.Sub(from)) / each)
	const scatter = 0.5 // of one request, of its mean
	sum := visits * each * (1 + scatter*rng.NormFloat64()/math.Sqrt(visits))
	x.Counts = []profile.EpochCount{{Progress: simulatedPoint, Metric: profile.MetricThroughput, Visits: uint64(visits), Sum: time.Duration(sum)}}
	return x
}

// held is what an instance behind counts.
func (w fleetWorld) held(x profile.Epoch, delays bool, rng *rand.Rand) profile.Epoch {
	own := w.share * float64(time.Second) * (1 + 0.05*rng.NormFloat64())
	x.Own = time.Duration(own)
	if delays {
		x.Taken = time.Duration(own * max(0.001, x.Level) * (1 + 0.02*rng.NormFloat64()))
	}
	return x
}

// TestEpochFleets: what processes count by their own clocks adds up to the truth, of any number of
// instances, whatever of it is lost.
func TestEpochFleets(t *testing.T) {
	type row struct {
		name  string
		world fleetWorld
		tries int
	}
	rows := []row{
		{"1 instance each", fleetWorld{instances: 1}, 200},
		{"10", fleetWorld{instances: 10}, 100},
		{"10, clocks 250 ms apart", fleetWorld{instances: 10, apart: 250 * time.Millisecond}, 100},
		{"10, 250 ms, 20 % lost", fleetWorld{instances: 10, apart: 250 * time.Millisecond, lost: 0.2}, 100},
		{"10, 250 ms, half restart", fleetWorld{instances: 10, apart: 250 * time.Millisecond, restarts: 0.5}, 100},
		{"10, 250 ms, 30 % killed", fleetWorld{instances: 10, apart: 250 * time.Millisecond, killed: 0.3}, 100},
		{"100, 5 % of them delay", fleetWorld{instances: 100, apart: 250 * time.Millisecond, partial: 0.05}, 20},
		{"1,000", fleetWorld{instances: 1000, apart: 250 * time.Millisecond, lost: 0.05, restarts: 0.1, killed: 0.05}, 4},
	}
	if *thorough.Rounds {
		for i := range rows {
			rows[i].tries *= 5
		}
		rows = append(rows, row{"100,000", fleetWorld{instances: 100_000, apart: 250 * time.Millisecond, lost: 0.05, restarts: 0.1, killed: 0.05}, 1})
	}
	covered, answers := 0, 0
	for _, r := range rows {
		r.world.share = 0.4
		rng := rand.New(rand.NewPCG(1, uint64(r.world.instances)))
		held, given, squares, width, cost := 0, 0, 0.0, 0.0, time.Duration(0)
		for range r.tries {
			all := r.world.profiles(rng)
			began := time.Now()
			merged := profile.Merge(all...)
			cost += time.Since(began)
			if len(merged.Curves) == 0 || len(merged.Curves[0].Slopes) == 0 {
				continue // nothing was heard of one of two
			}
			s := merged.Curves[0].Slopes[0]
			given++
			squares += (s.Elasticity - r.world.share) * (s.Elasticity - r.world.share)
			width += s.Hi - s.Lo
			if s.Lo <= r.world.share && r.world.share <= s.Hi {
				held++
			}
		}
		covered, answers = covered+held, answers+given
		t.Logf("%-26s %4d answers, %3.0f %% hold, error %.3f of 0.4, width %.3f, %v for each instance", r.name, given,
			100*float64(held)/float64(given), math.Sqrt(squares/float64(given)), width/float64(given), cost/time.Duration(r.tries*r.world.instances))
		const wanted = 0.93
		chance := 2 * math.Sqrt(wanted*(1-wanted)*float64(given)) // 95 % of tries
		if given < r.tries*9/10 || float64(held) < wanted*float64(given)-chance {
			t.Errorf("%s: %d answers of %d tries, %d hold the truth", r.name, given, r.tries, held)
		}
	}
	if float64(covered) < 0.93*float64(answers) {
		t.Errorf("%d of %d intervals hold the truth, want 93 %%", covered, answers)
	}
}

// TestEpochSeries prints how many series an instance exports for a plan: what Prometheus must hold
// is so many for each instance, however long the plan lasts.
func TestEpochSeries(t *testing.T) {
	for _, tc := range []struct{ regions, points, want int }{{1, 1, 15}, {4, 1, 60}, {8, 2, 240}, {64, 16, 10_000}} {
		p := profile.Profile{PlanHash: "p", Mode: profile.ModeSlowdown}
		e := NewEpochs(byClock(tc.regions, 1))
		for region := range tc.regions {
			for _, level := range append([]float64{0}, e.levels...) {
				for point := range tc.points {
					p.Tallies = append(p.Tallies, profile.Tally{
						Mode: profile.ModeSlowdown, Region: profile.Region{Scope: "stock", Name: fmt.Sprint("query ", region)}, Speedup: level,
						Progress: fmt.Sprint("GET /", point), Visits: 1, Effective: 1, Delay: 1, Delays: 1, Own: 1,
					})
				}
			}
		}
		scopes, err := profile.NewProducer(func() profile.Profile { return p }).Produce(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		series := 0
		for _, m := range scopes[0].Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				series += len(data.DataPoints)
			case metricdata.Sum[float64]:
				series += len(data.DataPoints)
			}
		}
		const each = 3 << 10 // bytes of Prometheus's memory for a series, by its own rule of thumb
		t.Logf("%2d regions, %2d progress points: %5d series for each instance; 1,000 instances: %.1f GB of Prometheus", tc.regions, tc.points, series, float64(series)*1000*each/1e9)
		if series != tc.want {
			t.Errorf("%d regions, %d points: %d series, want %d", tc.regions, tc.points, series, tc.want)
		}
	}
}
