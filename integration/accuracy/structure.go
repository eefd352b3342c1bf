package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/replayprofile"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
)

// A shape is how a program is built, where other builds are asked about. The zero value is the usual way.
type shape struct {
	capacity int // of the channel, or of the pool; 0 for the usual
	parts    int // into which the lock is split; 0 for one
	procs    int // GOMAXPROCS; 0 for as many as there are
}

// room is the capacity of the channel.
func (s shape) room(usual int) int {
	if s.capacity > 0 {
		return s.capacity
	}
	return usual
}

// locks are the parts of the program's lock.
func (s shape) locks(t types) parts {
	all := make(parts, max(1, s.parts))
	for i := range all {
		all[i] = t.mutex()
	}
	return all
}

// parts are what a lock is split into.
type parts []sync.Locker

// any returns a part, as a hash of what is asked for would.
func (p parts) any() sync.Locker { return p[rand.IntN(len(p))] }

// A rebuilt is a question about another build, and that build.
type rebuilt struct {
	name     string
	usual    shape // of the program that is recorded
	shape    shape
	question replay.Question
}

// rebuilds are the questions about other builds, by workload.
var rebuilds = map[string][]rebuilt{
	"pipeline":       {roomier(8)},
	"pipeline_even":  {roomier(1), roomier(16)},
	"fanin":          {roomier(32)},
	"pool":           {largerPool(2), largerPool(4), largerPool(6)},
	"heterogeneous":  {largerPool(2), largerPool(5)},
	"mutex_io":       {splitLock("main.*mutexes*", 2), splitLock("main.*mutexes*", 4)},
	"some_lock":      {splitLock("main.someLock*", 4)},
	"mutex_cpu":      {moreProcs(1, 2), moreProcs(2, 1)},
	"saturated":      {moreProcs(1, 2), moreProcs(2, 1)},
	"oversubscribed": {moreProcs(1, 2), moreProcs(2, 1)},
}

// inProgram is where the programs wait for their channels.
const inProgram = "main.*"

func roomier(n int) rebuilt {
	return rebuilt{fmt.Sprintf("capacity to=%d", n), shape{}, shape{capacity: n}, replay.Question{Capacity: inProgram, Room: n}}
}

func largerPool(n int) rebuilt {
	return rebuilt{fmt.Sprintf("pool to=%d", n), shape{}, shape{capacity: n}, replay.Question{Capacity: inProgram, Room: n}}
}

func splitLock(at string, n int) rebuilt {
	return rebuilt{fmt.Sprintf("split to=%d", n), shape{}, shape{parts: n}, replay.Question{Split: at, Into: n}}
}

func moreProcs(from, to int) rebuilt {
	return rebuilt{fmt.Sprintf("procs from=%d to=%d", from, to), shape{procs: from}, shape{procs: to}, replay.Question{Procs: to}}
}

// rebuild asks what other builds of the program would bring, and builds them.
func (l *lab) rebuild(t *tally) error {
	for _, r := range rebuilds[l.name] {
		if max(r.usual.procs, r.shape.procs) > runtime.NumCPU() {
			l.comment("%s: needs as many processors", r.name)
			continue
		}
		answer, err := l.ask(r)
		if err != nil {
			return err
		}
		actual, err := l.builtSo(r, t)
		if err != nil {
			return err
		}
		c := cell{Workload: l.name, Mode: profile.ModeReplay, Question: r.name, Program: l.made(), Class: l.class, Actual: actual}
		c.Predicted, c.Lo, c.Hi, c.Withheld = 100*answer.Reduction, 100*answer.Lo, 100*answer.Hi, answer.Withheld.String()
		l.result.Rebuilt = append(l.result.Rebuilt, c)
	}
	return nil
}

// in runs f while the program has this shape.
func (l *lab) in(s shape, f func(*program, *causal.Controller) error) error {
	if s.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.procs))
	}
	c, err := causal.NewController()
	if err != nil {
		return err
	}
	w := l.workload
	w.shape = s
	p := start(w, c.Hook())
	time.Sleep(warmUp)
	return errors.Join(f(p, c), p.end(), c.Shutdown(context.Background()))
}

// ask records the usual program and asks about the other one, as otelprof whatif does of a program that runs.
func (l *lab) ask(r rebuilt) (profile.Effect, error) {
	study, err := replay.NewStudy(replay.StudyConfig{Questions: []replay.Question{r.question}, Only: func(replaytrace.Region) bool { return false }})
	if err != nil {
		return profile.Effect{}, err
	}
	err = l.in(r.usual, func(_ *program, c *causal.Controller) error {
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
	p := replayprofile.Of(study.Result())
	i := slices.IndexFunc(p.Changes, func(c profile.Change) bool {
		return c.Change == r.question.String() && c.Progress == done && c.Metric == profile.MetricThroughput
	})
	if i < 0 {
		return profile.Effect{Withheld: profile.Withheld{Code: withheldcode.Other, Text: "there is no such thing in what was recorded"}}, err
	}
	return p.Changes[i].Effect, err
}

// builtSo runs the usual build and the other one in turns, and returns by how many percent the time between visits is shorter.
func (l *lab) builtSo(r rebuilt, t *tally) (span, error) {
	look := func(s shape) (period float64, err error) {
		err = l.in(s, func(p *program, _ *causal.Controller) error {
			p.rewind(l.seed)
			time.Sleep(l.settle)
			period = p.visits.period(l.built)
			return nil
		})
		return period, err
	}
	var shorter []float64
	before, err := look(r.usual)
	for range l.builds {
		t.taken++
		l.seed++
		noise := listen()
		other, err2 := look(r.shape)
		after, err3 := look(r.usual)
		if err = errors.Join(err, err2, err3); err != nil {
			return span{}, err
		}
		if foreign, loud := noise.foreign(); loud {
			t.keep(foreign)
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
