package simulator

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/replay"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// A replayed is how far the replay of a recording is off, in points.
type replayed struct {
	name                     string
	base                     float64 // the replay of nothing changed, of the recorded period
	truth, predicted, errors []float64
}

// replayedSpeedups are what replay is asked about.
var replayedSpeedups = []float64{.25, .5, .75, .95}

// replayOf records a program and holds predictions against the truth.
func replayOf(t testing.TB, name string, x *Experiment, stock bool) replayed {
	t.Helper()
	rec, _ := x.Recorded(stock)
	out := replayed{name: name}
	var predicted []float64
	out.base, predicted = predict(t, rec)
	for i, s := range replayedSpeedups {
		truth := x.ShortenedMidway(ledger.Hypothesis{Region: Region, Speedup: s})
		out.truth, out.predicted = append(out.truth, points(truth)), append(out.predicted, points(predicted[i]))
		out.errors = append(out.errors, points(predicted[i]-truth))
	}
	return out
}

// predict asks a recording about the region. It returns by how many points the replay of nothing
// changed is off, and the effects of the speed-ups.
func predict(t testing.TB, rec *replaytrace.Recording) (base float64, effects []float64) {
	t.Helper()
	study, err := replay.NewStudy(replay.StudyConfig{Speedups: replayedSpeedups})
	if err != nil {
		t.Fatal(err)
	}
	if err := study.Add(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	r := study.Result()
	base = math.NaN()
	for _, c := range r.Checks {
		if c.Point == Progress {
			base = points(c.Deviation)
		}
	}
	for _, s := range replayedSpeedups {
		e := math.NaN()
		for _, a := range r.Answers {
			if a.Region == RegionName(Region) && a.Speedup == s && a.Point == Progress && a.Metric == replay.Throughput && len(a.Samples) > 0 {
				e = a.Samples[0]
			}
		}
		effects = append(effects, e)
	}
	return base, effects
}

func (r *replayed) worst() float64 {
	w := 0.
	for _, e := range r.errors {
		if math.IsNaN(e) {
			return e
		}
		w = larger(w, e)
	}
	return w
}

// table has the worst first.
func table(all []replayed) string {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b replayed) int { return cmp.Compare(math.Abs(b.worst()), math.Abs(a.worst())) })
	var b strings.Builder
	var errors, bases []float64
	withheld := 0
	for i, r := range all {
		if i < 25 {
			fmt.Fprintf(&b, "%-40s nothing changed %+6.2f  truth %6.1f  predicted %6.1f\n", r.name, r.base, r.truth, r.predicted)
		}
		bases = append(bases, math.Abs(r.base))
		for _, e := range r.errors {
			if math.IsNaN(e) {
				withheld++
			} else {
				errors = append(errors, math.Abs(e))
			}
		}
	}
	slices.Sort(errors)
	slices.Sort(bases)
	n := len(errors)
	if n == 0 {
		return fmt.Sprintf("%s%d programs, %d numbers withheld, none given\n", b.String(), len(all), withheld)
	}
	fmt.Fprintf(&b, "%d programs, %d numbers withheld; error: mean %.2f, 95th percentile %.2f, worst %.2f points; nothing changed: 95th percentile %.2f, worst %.2f %%\n",
		len(all), withheld, mean(errors), errors[n*95/100], errors[n-1], bases[len(bases)*95/100], bases[len(bases)-1])
	return b.String()
}

func mean(all []float64) float64 {
	sum := 0.
	for _, x := range all {
		sum += x
	}
	return sum / float64(len(all))
}

// TestReplay holds replay against the truth, with all objects known.
func TestReplay(t *testing.T) {
	var all []replayed
	for _, p := range programs {
		if p.name == "region without end" {
			continue // it began before the window, so that the recording does not have it
		}
		x := p.experiment(.5)
		x.End = x.Warm + 700/scale*p.period
		r := replayOf(t, p.name, x, false)
		check(t, p.name+": nothing changed", r.base, scale*3)
		check(t, p.name, r.worst(), scale*gate)
		all = append(all, r)
	}
	for _, p := range wakeUps {
		for _, cpus := range []int{2, 16} {
			x := &Experiment{Program: p.run, Config: Config{Seed: 1, Jitter: .3, CPUs: cpus, Wake: 30 * us, Go: true}, Warm: 100 * p.period, End: 1600 / scale * p.period}
			r := replayOf(t, fmt.Sprintf("%s, %d CPUs", p.name, cpus), x, false)
			check(t, r.name+": nothing changed", r.base, scale*3)
			check(t, r.name, r.worst(), scale*gate)
			all = append(all, r)
		}
	}
	t.Log("\n" + table(all))
}

var randomPrograms = flag.Int("random", 0, "how many random programs of each kind are replayed, 0 for 3, with -long 60")

// randomSeeds returns how many programs of each kind are tried.
func randomSeeds() uint64 {
	switch {
	case *randomPrograms > 0:
		return uint64(*randomPrograms)
	case *thorough.Rounds:
		return 60
	}
	return perKind
}

// inWorlds replays a program in worlds that differ in their noise, and returns the worst mean error
// of a speed-up, points. Periods of a program with several orders that it could keep differ from
// world to world by points, recorded or not: an error of replay is what stays in the mean.
func inWorlds(t testing.TB, name string, x *Experiment, worlds int) float64 {
	t.Helper()
	sum, n := make([]float64, len(replayedSpeedups)), 0.
	for i := range worlds {
		y := *x
		y.base, y.Config.Seed = 0, x.Config.Seed+1000*uint64(i)
		r := replayOf(t, name, &y, false)
		if math.IsNaN(r.worst()) {
			continue // withheld
		}
		n++
		for j, e := range r.errors {
			sum[j] += e
		}
	}
	w := 0.
	for _, e := range sum {
		w = larger(w, e/n)
	}
	return w
}

// randomKinds are kinds of random programs, and how far replay may be off in one of them, points.
var randomKinds = []struct {
	name   string
	shape  Shape
	config Config
	worst  float64
}{
	{"alone", Shape{Loops: 4}, Config{CPUs: 64, Wake: 5 * us}, 2},
	{"computing", Shape{Loops: 4, Work: true}, Config{CPUs: 3, Wake: 20 * us}, 5},
	{"sharing", Shape{Loops: 4, Sharing: true}, Config{CPUs: 64, Wake: 5 * us}, 5},
	{"requests", Shape{Loops: 4, Sharing: true, Requests: true}, Config{CPUs: 16, Wake: 20 * us}, 5},
	{"all", Shape{Loops: 6, Work: true, Sharing: true, Requests: true}, Config{CPUs: 3, Wake: 5 * us}, 5},
	{"brief", Shape{Loops: 6, Work: true, Sharing: true, Requests: true, Brief: true}, Config{CPUs: 3, Wake: 20 * us}, 5},
}

// randomExperiment returns a random program in its world, nil if that does not visit the progress
// point often enough.
func randomExperiment(kind int, seed uint64) *Experiment {
	k := randomKinds[kind]
	run, round := Random(seed, k.shape)
	k.config.Seed, k.config.Jitter, k.config.Go = seed, .3, true
	x := &Experiment{Program: run, Config: k.config, Warm: 50 * round, End: 350 * round}
	if len(x.Run(x.Config)) < 200 {
		return nil
	}
	return x
}

// TestReplayRandom holds replay against the truth of random programs; -random 1000 has many.
func TestReplayRandom(t *testing.T) {
	for kind, k := range randomKinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			var all []replayed
			for seed := range randomSeeds() {
				if x := randomExperiment(kind, seed); x != nil {
					r := replayOf(t, fmt.Sprint(k.name, " ", seed), x, false)
					// On few processors a region that is faster may take them from others: such
					// numbers are withheld.
					w := r.worst()
					if math.Abs(w) > k.worst {
						w = inWorlds(t, r.name, x, 4)
					}
					if !k.shape.Work || !math.IsNaN(w) {
						check(t, r.name, w, k.worst)
					}
					all = append(all, r)
				}
			}
			t.Log("\n" + table(all))
		})
	}
}

// TestReplayAlone has programs in which goroutines share nothing: a faster region never makes such
// a program slower.
func TestReplayAlone(t *testing.T) {
	for seed := range randomSeeds() {
		x := randomExperiment(0, seed)
		if x == nil {
			continue
		}
		rec, _ := x.Recorded(false)
		_, effects := predict(t, rec)
		before := 0.
		for i, e := range effects {
			if e < before-.005 {
				t.Errorf("seed %d: the effect of %g is %.2f %%, want at least %.2f %%, that of less", seed, replayedSpeedups[i], points(e), points(before))
			}
			before = e
		}
	}
}

// TestReplaySame asks the same recording, and another one of the same world, twice.
func TestReplaySame(t *testing.T) {
	for _, kind := range []int{1, 4} {
		x := randomExperiment(kind, 1)
		if x == nil {
			continue
		}
		type answers struct {
			Base    float64
			Effects []float64
		}
		var all []answers
		for range 2 {
			rec, _ := x.Recorded(false)
			for range 2 {
				var a answers
				a.Base, a.Effects = predict(t, rec)
				all = append(all, a)
			}
		}
		for i := range all {
			if diff := gocmp.Diff(all[0], all[i], cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("%s: the same recording has another answer (-first +now):\n%s", randomKinds[kind].name, diff)
			}
		}
	}
}
