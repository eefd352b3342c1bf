package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/integration/internal/noise"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/replayprofile"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
)

// A rebuilt is a question about another build, and that build.
type rebuilt struct {
	name     string
	usual    workloads.Shape // of the program that is recorded
	shape    workloads.Shape
	question replay.Question
}

// rebuilds are the questions about other builds, by workload.
var rebuilds = map[string][]rebuilt{
	"pipeline":       {larger("capacity", 8)},
	"pipeline_even":  {larger("capacity", 1), larger("capacity", 16)},
	"fanin":          {larger("capacity", 32)},
	"pool":           {larger("pool", 2), larger("pool", 4), larger("pool", 6)},
	"heterogeneous":  {larger("pool", 2), larger("pool", 5)},
	"workers":        {moreWorkers(1), moreWorkers(3), moreWorkers(4)},
	"mutex_io":       {splitLock(inPrograms+"Mutexes*", 2), splitLock(inPrograms+"Mutexes*", 4)},
	"some_lock":      {splitLock(inPrograms+"someLock*", 4)},
	"mutex_cpu":      {moreProcs(1, 2), moreProcs(2, 1)},
	"saturated":      {moreProcs(1, 2), moreProcs(2, 1)},
	"oversubscribed": {moreProcs(1, 2), moreProcs(2, 1)},
}

// inPrograms is where the programs wait.
const inPrograms = "*/workloads.*"

func larger(channel string, n int) rebuilt {
	return rebuilt{fmt.Sprintf("%s to=%d", channel, n), workloads.Shape{}, workloads.Shape{Capacity: n}, replay.Question{Capacity: inPrograms, Number: n}}
}

func moreWorkers(n int) rebuilt {
	return rebuilt{fmt.Sprintf("workers to=%d", n), workloads.Shape{}, workloads.Shape{Workers: n}, replay.Question{Workers: inPrograms, Number: n}}
}

func splitLock(at string, n int) rebuilt {
	return rebuilt{fmt.Sprintf("split to=%d", n), workloads.Shape{}, workloads.Shape{Parts: n}, replay.Question{Split: at, Number: n}}
}

func moreProcs(from, to int) rebuilt {
	return rebuilt{fmt.Sprintf("procs from=%d to=%d", from, to), workloads.Shape{Procs: from}, workloads.Shape{Procs: to}, replay.Question{Procs: to}}
}

// rebuild asks what other builds of the program would bring, and builds them.
func (l *lab) rebuild(t *noise.Tally) error {
	for _, r := range rebuilds[l.Name] {
		if max(r.usual.Procs, r.shape.Procs) > runtime.NumCPU() {
			l.comment("%s: needs as many processors", r.name)
			continue
		}
		found, err := l.study(r.usual, []replay.Question{r.question})
		if err != nil {
			return err
		}
		answer := answers.Change(found, r.question.String(), workloads.Done, profile.MetricThroughput)
		actual, err := l.builtSo(r, t)
		if err != nil {
			return err
		}
		c := cell{Workload: l.Name, Mode: profile.ModeReplay, Question: r.name, Program: l.made(), Class: l.Class, Actual: actual}
		c.Predicted, c.Lo, c.Hi, c.Withheld = 100*answer.Reduction, 100*answer.Lo, 100*answer.Hi, answer.Withheld.String()
		l.result.Rebuilt = append(l.result.Rebuilt, c)
	}
	return nil
}

// in runs f while the program has this shape.
func (l *lab) in(s workloads.Shape, f func(*workloads.Program, *causal.Controller) error) error {
	if s.Procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.Procs))
	}
	c, err := causal.NewController()
	if err != nil {
		return err
	}
	w := l.Workload
	w.Shape = s
	p := workloads.Start(w, c.Hook())
	time.Sleep(warmUp)
	return errors.Join(f(p, c), p.End(), c.Shutdown(context.Background()))
}

// study records the program of a shape and asks questions about it, as otelprof whatif does of a
// program that runs.
func (l *lab) study(s workloads.Shape, questions []replay.Question) (profile.Profile, error) {
	study, err := replay.NewStudy(replay.StudyConfig{Questions: questions, Only: func(replaytrace.Region) bool { return false }})
	if err != nil {
		return profile.Profile{}, err
	}
	err = l.in(s, func(_ *workloads.Program, c *causal.Controller) error {
		for i := range 2 * l.recordings {
			enough := !slices.ContainsFunc(study.Result().Answers, func(a replay.Answer) bool { return a.Withheld == replay.WithheldWindows })
			if i >= l.recordings && enough {
				break
			}
			t, err := c.RecordTrace(context.Background(), l.recording, false)
			if err != nil {
				return err
			}
			var trace bytes.Buffer
			if _, err := trace.ReadFrom(t); err != nil {
				return err
			}
			rec, err := replaytrace.Read(&trace)
			if err != nil {
				return err
			}
			rec.Ran(replaytrace.Machine(t.Machine))
			if err := study.Add(context.Background(), rec); err != nil {
				return err
			}
		}
		return nil
	})
	return replayprofile.Of(study.Result()), err
}

// builtSo runs the usual build and the other one in turns, and returns by how many percent the time
// between visits is shorter.
func (l *lab) builtSo(r rebuilt, t *noise.Tally) (span, error) {
	look := func(s workloads.Shape) (period float64, err error) {
		err = l.in(s, func(p *workloads.Program, _ *causal.Controller) error {
			p.Rewind(l.seed)
			time.Sleep(l.settle)
			period = p.Visits.Period(l.built)
			return nil
		})
		return period, err
	}
	var shorter []float64
	before, err := look(r.usual)
	for range l.builds {
		t.Taken++
		l.seed++
		beside := noise.Listen()
		other, err2 := look(r.shape)
		after, err3 := look(r.usual)
		if err = errors.Join(err, err2, err3); err != nil {
			return span{}, err
		}
		if foreign, loudness := beside.Foreign(); loudness > 1 {
			t.Keep(foreign)
		}
		shorter = append(shorter, 100*(1-2*other/(before+after)))
		before = after
	}
	return spanOf(shorter), nil
}

// sumUpRebuilt prints what answers about other builds amount to.
func sumUpRebuilt(out io.Writer, cells []cell) {
	if len(cells) == 0 {
		return
	}
	s := summarize(cells, profile.ModeReplay)
	fmt.Fprintf(out, "accuracy SUMMARY mode=%s %s structure cells=%d mean_abs_error=%.2f worst=%.2f coverage=%.2f median_width=%.2f withheld=%d\n",
		profile.ModeReplay, cells[0].Program, s.cells, s.meanAbsError, s.worst, s.coverage, medianWidth(cells), s.withheld)
}
