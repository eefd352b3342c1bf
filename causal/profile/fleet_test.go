package profile

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Where a clock is set back between two epochs, some come again: the last ones count, and the
// profile can be read.
func TestEpochsOfAClockThatIsSetBack(t *testing.T) {
	p := Profile{Epochs: []Epoch{{Number: 7}, {Number: 8, Own: 1}, {Number: 9}, {Number: 8, Own: 2}, {Number: 10}}}
	p.Finish()
	want := []Epoch{{Number: 7}, {Number: 8, Own: 2}, {Number: 9}, {Number: 10}}
	if diff := cmp.Diff(want, p.Epochs); diff != "" {
		t.Errorf("epochs (-want +got):\n%s", diff)
	}
	if _, err := Read(bytes.NewReader(render(t, p.WriteJSON))); err != nil {
		t.Errorf("Read of what was written = %v", err)
	}
}

// A region that runs in two of five epochs counts in all of them: in those alone it would seem to
// matter for each.
func TestRareRegionByTheClock(t *testing.T) {
	const ms = time.Millisecond
	region := Region{Scope: "stock", Name: "refill"}
	rng := rand.New(rand.NewPCG(1, 2))
	var p Profile
	var own, all time.Duration
	for number := range int64(4000) {
		e := Epoch{Number: number, Region: region, Level: 0.1 * float64(number%2)}
		count := EpochCount{Progress: "request", Metric: MetricThroughput, Visits: 140, Sum: 1400 * ms}
		if rng.Float64() < 0.4 {
			e.Own = 150 * ms
			e.Taken = time.Duration(e.Level * float64(e.Own))
			count.Sum += e.Own + e.Taken
		}
		if e.Level == 0 {
			own, all = own+e.Own, all+count.Sum
		}
		e.Counts = []EpochCount{count}
		p.Epochs = append(p.Epochs, e)
	}
	c := Curve{Mode: ModeSlowdown, Region: region, Progress: "request", Metric: MetricThroughput}
	if !c.setFromEpochs([]Profile{p}) || len(c.Slopes) != 1 {
		t.Fatalf("slopes %+v, want that of one level", c.Slopes)
	}
	s, want := c.Slopes[0], float64(own)/float64(all)
	t.Logf("elasticity %.3f (%.3f to %.3f), in truth %.3f; visit ratio %.2f ± %.2f", s.Elasticity, s.Lo, s.Hi, want, s.VisitRatio, s.VisitRatioErr)
	if math.Abs(s.Elasticity-want) > 0.03 || s.Lo > want || s.Hi < want || math.Abs(s.VisitRatio) > 3*s.VisitRatioErr {
		t.Errorf("elasticity %.3f (%.3f to %.3f), want %.3f; visit ratio %.2f ± %.2f, want 0", s.Elasticity, s.Lo, s.Hi, want, s.VisitRatio, s.VisitRatioErr)
	}
}

// Runs without epochs, such as what was merged before, count beside the processes of a plan by the
// clock.
func TestMergeOfEpochsAndRuns(t *testing.T) {
	region := Region{Scope: "stock", Name: "query"}
	p := Profile{Curves: []Curve{{Mode: ModeSlowdown, Region: region, Progress: "request", Metric: MetricThroughput, Effects: []Effect{{Speedup: 0.1}}}}}
	for number := range int64(20) {
		e := Epoch{Number: number, Region: region, Level: 0.1 * float64(number%2), Own: 100 * time.Millisecond}
		e.Taken = time.Duration(e.Level * float64(e.Own))
		e.Counts = []EpochCount{{Progress: "request", Metric: MetricThroughput, Visits: 100, Sum: time.Second + e.Taken}}
		p.Epochs = append(p.Epochs, e)
	}
	fleet := Merge(p, p)
	if slopes := fleet.Curves[0].Slopes; len(slopes) != 1 || slopes[0].Samples != 10 {
		t.Fatalf("slopes %+v, want that of one level in 10 epochs", slopes)
	}
	if slopes := Merge(fleet, p).Curves[0].Slopes; len(slopes) != 1 || slopes[0].Samples != 20 || math.Abs(slopes[0].Elasticity-0.1) > 1e-5 {
		t.Errorf("slopes %+v, want the 10 epochs of each, and an elasticity of .1", slopes)
	}
}

// Where a region was held for next to nothing, what windows differ by is no slope of it: that would
// be too large for a profile.
func TestHardlyHeldByTheClock(t *testing.T) {
	region := Region{Scope: "stock", Name: "query"}
	var p Profile
	for number := range int64(20) {
		e := Epoch{Number: number, Region: region, Level: 0.1 * float64(number%2), Own: time.Second}
		e.Taken = time.Duration(number % 2)
		sum := time.Second + time.Duration(number*number%7)*time.Millisecond
		e.Counts = []EpochCount{{Progress: "request", Metric: MetricThroughput, Visits: 100, Sum: sum}}
		p.Epochs = append(p.Epochs, e)
	}
	c := Curve{Mode: ModeSlowdown, Region: region, Progress: "request", Metric: MetricThroughput}
	if c.setFromEpochs([]Profile{p}) {
		t.Errorf("slopes %+v of holds of a ns in a second, want none", c.Slopes)
	}
}

// TestAlike: of epochs of which each has both placebos in common with its neighbors the mean varies
// by a third more than if each had its own.
func TestAlike(t *testing.T) {
	shared, apart := make([]gain, 300), make([]gain, 300)
	for i := range shared {
		n := int64(i)
		shared[i].shares = map[int64]float64{2 * n: 0.5, 2*n + 2: 0.5}
		apart[i].shares = map[int64]float64{3 * n: 0.5, 3*n + 2: 0.5}
	}
	if got := alike(shared); math.Abs(got-4.0/3) > 0.01 {
		t.Errorf("%.3f with placebos in common, want 1.333", got)
	}
	if got := alike(apart); got != 1 {
		t.Errorf("%.3f with placebos of their own, want 1", got)
	}
}
