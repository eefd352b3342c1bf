package simulator

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/replay"
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
	rec, _, err := x.Recorded(stock)
	if err != nil {
		t.Fatal(err)
	}
	out := replayed{name: name}
	var predicted []float64
	out.base, predicted = predict(t, rec)
	for i, s := range replayedSpeedups {
		truth := x.Shortened(ledger.Hypothesis{Region: Region, Speedup: s})
		out.truth, out.predicted = append(out.truth, points(truth)), append(out.predicted, points(predicted[i]))
		out.errors = append(out.errors, points(predicted[i]-truth))
	}
	return out
}

// predict asks a recording about the region. It returns by how many points the replay of nothing changed is off, and the
// effects of the speed-ups.
func predict(t testing.TB, rec *replay.Recording) (base float64, effects []float64) {
	t.Helper()
	study, err := replay.NewStudy(replay.StudyConfig{Speedups: replayedSpeedups})
	if err != nil {
		t.Fatal(err)
	}
	study.Add(rec)
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

func table(all []replayed) string {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b replayed) int { return -cmp.Compare(math.Abs(a.worst()), math.Abs(b.worst())) })
	var b strings.Builder
	sum, n := 0., 0
	for _, r := range all {
		fmt.Fprintf(&b, "%-46s base %+6.2f  truth %6.1f  predicted %6.1f  worst %+.2f\n", r.name, r.base, r.truth, r.predicted, r.worst())
		for _, e := range r.errors {
			sum += math.Abs(e)
			n++
		}
	}
	fmt.Fprintf(&b, "mean absolute error %.3f points of %d programs\n", sum/float64(n), len(all))
	return b.String()
}

func TestReplayDev(t *testing.T) {
	for _, stock := range []bool{false, true} {
		for _, jitter := range []float64{0, .5} {
			var all []replayed
			for _, p := range programs {
				x := p.experiment(jitter)
				x.End = x.Warm + 1000*p.period
				all = append(all, replayOf(t, p.name, x, stock))
			}
			if jitter == 0 {
				for _, l := range limits {
					l.config.Seed = 1
					x := &Experiment{Program: l.run, Config: l.config, Warm: 200 * l.period, End: 1200 * l.period}
					all = append(all, replayOf(t, l.name, x, stock))
				}
				for _, p := range wakeUps {
					for _, wake := range []int64{30 * us, 75 * us} {
						x := &Experiment{Program: p.run, Config: Config{Seed: 1, Jitter: .3, Wake: wake}, Warm: 100 * p.period, End: 3100 * p.period}
						all = append(all, replayOf(t, fmt.Sprintf("%s, %d µs", p.name, wake/us), x, stock))
					}
				}
			}
			fmt.Printf("== stock %v jitter %v\n%s", stock, jitter, table(all))
		}
	}
}

func TestReplayGoDev(t *testing.T) {
	var all []replayed
	for _, cpus := range []int{2, 4, 16} {
		for _, wake := range []int64{0, 5 * us, 50 * us} {
			c := Config{Seed: 1, Jitter: .3, CPUs: cpus, Wake: wake, Go: true, Oversleep: wake}
			add := func(name string, run func(w *World), period int64) {
				if !regexp.MustCompile(os.Getenv("ONLY")).MatchString(fmt.Sprintf("%s, %d CPUs, %d µs", name, cpus, wake/us)) {
					return
				}
				x := &Experiment{Program: run, Config: c, Warm: 100 * period, End: 2100 * period}
				all = append(all, replayOf(t, fmt.Sprintf("%s, %d CPUs, %d µs", name, cpus, wake/us), x, false))
			}
			for _, p := range programs {
				add(p.name, p.run, p.period)
			}
			for _, p := range wakeUps {
				add(p.name, p.run, p.period)
			}
			add("two locks", twoLocks, 2*ms)
			add("saturated 8", saturated(8), 5*ms)
			add("saturated 2", saturated(2), 5*ms)
			add("children, and own work meanwhile", busyParent, 14*ms)
		}
	}
	fmt.Printf("== Go\n%s", table(all))
}

func TestReplayRandomDev(t *testing.T) {
	n := 60
	fmt.Sscan(os.Getenv("N"), &n)
	first := 0
	fmt.Sscan(os.Getenv("FIRST"), &first)
	shapes := []struct {
		name  string
		shape Shape
	}{
		{"alone", Shape{Loops: 4}},
		{"work", Shape{Loops: 4, Work: true}},
		{"sharing", Shape{Loops: 4, Sharing: true}},
		{"requests", Shape{Loops: 4, Sharing: true, Requests: true}},
		{"all", Shape{Loops: 6, Work: true, Sharing: true, Requests: true}},
		{"brief", Shape{Loops: 6, Work: true, Sharing: true, Requests: true, Brief: true}},
	}
	configs := []struct {
		name   string
		config Config
	}{
		{"exact", Config{CPUs: 64, Go: true}},
		{"jitter", Config{CPUs: 64, Go: true, Jitter: .3}},
		{"3 CPUs", Config{CPUs: 3, Go: true, Jitter: .3}},
		{"wake 20", Config{CPUs: 16, Go: true, Jitter: .3, Wake: 20 * us}},
		{"3, wake 20", Config{CPUs: 3, Go: true, Jitter: .3, Wake: 20 * us}},
	}
	only := regexp.MustCompile(os.Getenv("ONLY"))
	var worst []replayed
	for _, sh := range shapes {
		for _, c := range configs {
			if !only.MatchString(sh.name + ", " + c.name) {
				continue
			}
			var all []replayed
			for seed := first; seed < first+n; seed++ {
				run, round := Random(uint64(seed), sh.shape)
				c.config.Seed = uint64(seed)
				x := &Experiment{Program: run, Config: c.config, Warm: 50 * round, End: 450 * round}
				if len(x.Run(x.Config)) < 50 {
					continue
				}
				r := replayOf(t, fmt.Sprintf("%s, %s, %d", sh.name, c.name, seed), x, false)
				all = append(all, r)
			}
			var errors, bases []float64
			withheld := 0
			for _, r := range all {
				bases = append(bases, math.Abs(r.base))
				if math.IsNaN(r.worst()) {
					withheld++
					continue
				}
				for _, e := range r.errors {
					errors = append(errors, math.Abs(e))
				}
			}
			slices.Sort(errors)
			slices.Sort(bases)
			mean := 0.
			for _, e := range errors {
				mean += e / float64(len(errors))
			}
			fmt.Printf("%-10s %-10s %3d programs, %2d withheld; error mean %.2f p95 %.2f worst %.2f; base p95 %.2f worst %.2f\n", sh.name, c.name, len(all), withheld, mean, errors[len(errors)*95/100], errors[len(errors)-1], bases[len(bases)*95/100], bases[len(bases)-1])
			worst = append(worst, all...)
		}
	}
	fmt.Print(table(worst))
}
