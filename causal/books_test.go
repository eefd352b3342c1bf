package causal

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// Books have room for all fields of an experiment, and for a quarter more, by which slices grow.
func TestBooksKnowTheSizeOfExperiments(t *testing.T) {
	p, now := mustParse(t, "mode: dilation"), time.Now()
	bytes, _ := p.Books(now)
	experiments := float64(p.ExpiresAt.Sub(now)-time.Duration(p.Timing.Warmup)) / float64(p.Timing.Experiment+p.Timing.Cooloff)
	var e experiment.Experiment
	point := unsafe.Sizeof(experiment.Passage{}) + unsafe.Sizeof(e.Quantiles) + unsafe.Sizeof([experiment.MostPaths]uint32{})
	if got, want := math.Round(bytes/experiments), float64(unsafe.Sizeof(e)*5/4+point); got < want {
		t.Errorf("the books have %.0f bytes for an experiment, want %.0f", got, want)
	}
}

// An hour of experiments, as short as they may be, takes what the plan's books say.
func TestExperimentsTakeWhatBooksSay(t *testing.T) {
	p := mustParse(t, "mode: overlap", idle, "progress: [{span: a, type: throughput}, {span: b, type: latency}]", `regions: [{span: x}]`,
		"expires_at: "+time.Now().Add(plan.MaxLife-time.Minute).UTC().Format(time.RFC3339), calm)
	says, _ := p.Books(time.Now())
	c := newController(t, unloaded)
	r := force(t, c, p)
	before := heap()
	n := int(plan.MaxLife / time.Duration(p.Timing.Experiment+p.Timing.Cooloff))
	const times = 20 // so that it can be measured
	for range times * n {
		e := experiment.Experiment{Arm: experiment.Arm{Speedup: 0.5, Spared: 0}, Passages: make([]experiment.Passage, 2), Quantiles: make([][]float64, 2)}
		e.Quantiles[1] = make([]float64, 3)
		r.Add(e, nil)
	}
	took := (heap() - before) / times
	t.Logf("%d experiments take %.2f MiB, by the books %.2f", n, took, says/(1<<20))
	if took > 1.5*says/(1<<20) {
		t.Errorf("%d experiments take %.2f MiB, by the books %.2f", n, took, says/(1<<20))
	}
}

// Where all is settled, nothing is judged again until there is something new.
func TestSettledRoundsCostNothing(t *testing.T) {
	c := newController(t, unloaded)
	r := force(t, c, mustParse(t, "mode: overlap", idle, "regions: [{span: a}]", "progress: [{span: a, type: throughput}]", "grid: {speedups: [50]}", calm))
	tr := newProvider(t, c).Tracer("t")
	_, s := tr.Start(context.Background(), "a")
	s.End()
	for i := range 200 {
		for _, a := range []experiment.Arm{{Speedup: 0.5, Spared: 0}, {Speedup: 0, Spared: 0}} {
			r.Add(experiment.Experiment{Arm: a, Passages: []experiment.Passage{{Visits: 100, Effective: time.Second + time.Duration(i%3)}}}, nil)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for len(r.Round([]float64{0.5}, rng)) > 0 { // refinements, perhaps
		for _, a := range r.Round([]float64{0.5}, rng) {
			for i := range 200 {
				r.Add(experiment.Experiment{Arm: a, Passages: []experiment.Passage{{Visits: 100, Effective: time.Second + time.Duration(i%3)}}}, nil)
			}
		}
	}
	if got := testing.AllocsPerRun(10, func() { r.Round([]float64{0.5}, rng) }); got > 20 {
		t.Errorf("a round in which nothing is new allocates %v times", got)
	}
}

// What recordings say takes no more after an hour in which the program's names change than after
// some minutes.
func TestChangingNamesDoNotAddUp(t *testing.T) {
	study, err := replay.NewStudy(replay.StudyConfig{})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[int]int{}
	last := thorough.Of(60, 30)
	for minute := 1; minute <= last; minute++ {
		if err := study.Add(context.Background(), recordingOf(t, minute)); err != nil {
			t.Fatal(err)
		}
		answers[minute] = len(study.Result().Answers)
	}
	t.Logf("answers after 5, 20 and %d recordings: %d, %d, %d", last, answers[5], answers[20], answers[last])
	if answers[20] == 0 || answers[last] > answers[20] {
		t.Errorf("%d answers after 20 recordings, and %d after %d", answers[20], answers[last], last)
	}
}

// recordingOf is one of a program that runs spans of sixteen names of its own, one after the other.
func recordingOf(t *testing.T, minute int) *trace.Recording {
	t.Helper()
	r := trace.NewRecorder(0, 2)
	at := int64(1)
	r.Running(at, 1)
	number := uint64(0)
	for range 30 {
		number++
		root := number
		r.Open(at, 1, root, 0, trace.Region{Scope: "s", Name: "root"})
		for i := range 16 {
			number++
			at += 1000
			r.Open(at, 1, number, root, trace.Region{Scope: "s", Name: fmt.Sprintf("minute %d region %d", minute, i)})
			at += 50_000
			r.Close(at, 1, number)
		}
		at += 1000
		r.Close(at, 1, root)
	}
	return r.Recording(at)
}
