package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"time"

	"golang.org/x/exp/trace"
)

// A stretch is how long a goroutine had a processor without giving it to another. A pause shorter
// than shortPause is part of it: a system call that returns at once keeps the processor.
type stretch struct {
	who  string // the function that the goroutine began with
	long time.Duration
}

const shortPause = 20 * time.Microsecond

// recordStretches has the service record an execution trace of itself into a file, as soon as no
// other one is being recorded.
func recordStretches(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	for range 100 {
		if err = rtrace.Start(f); err == nil {
			return func() { rtrace.Stop(); _ = f.Close() }, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, errors.Join(err, f.Close())
}

// stretches reads an execution trace.
func stretches(path string) (out []stretch, lasted time.Duration, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	r, err := trace.NewReader(f)
	if err != nil {
		return nil, 0, err
	}
	found := stretchReader{goroutines: map[trace.GoID]*tracedGoroutine{}}
	var first, last trace.Time
	for {
		e, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if last = e.Time(); first == 0 {
			first = last
		}
		found.take(e)
	}
	for _, g := range found.goroutines {
		if g.left != 0 {
			found.out = append(found.out, g.stretch())
		}
	}
	return found.out, time.Duration(last - first), nil
}

// A stretchReader finds the stretches of all goroutines in the events of a trace.
type stretchReader struct {
	goroutines map[trace.GoID]*tracedGoroutine
	out        []stretch // that have ended
}

// take follows a goroutine through an event that changes its state. It ignores other events.
func (s *stretchReader) take(e trace.Event) {
	if e.Kind() != trace.EventStateTransition {
		return
	}
	t := e.StateTransition()
	if t.Resource.Kind != trace.ResourceGoroutine {
		return
	}
	id := t.Resource.Goroutine()
	from, to := t.Goroutine()
	g := s.goroutines[id]
	if g == nil {
		g = &tracedGoroutine{}
		s.goroutines[id] = g
	}
	if g.who == "" {
		g.who = outermost(t.Stack)
	}
	if strings.HasPrefix(g.who, waitGroup) { // what it was given is not known before it waits or is interrupted
		if deeper := outermost(e.Stack()); !strings.HasPrefix(deeper, waitGroup) && id == e.Goroutine() {
			g.who = deeper
		}
	}
	if to == trace.GoRunning && from != trace.GoRunning {
		if g.left == 0 || time.Duration(e.Time()-g.left) > shortPause {
			if g.left != 0 {
				s.out = append(s.out, g.stretch())
			}
			g.began = e.Time()
		}
		g.left = 0
	}
	if from == trace.GoRunning && to != trace.GoRunning && g.began != 0 {
		g.left = e.Time()
	}
	if to == trace.GoNotExist && g.left != 0 {
		s.out = append(s.out, g.stretch())
		delete(s.goroutines, id)
	}
}

// A tracedGoroutine is a goroutine of a trace in its latest stretch.
type tracedGoroutine struct {
	who         string
	began, left trace.Time // left is 0 while it runs
}

// stretch returns the latest stretch, which has ended.
func (g *tracedGoroutine) stretch() stretch {
	return stretch{g.who, time.Duration(g.left - g.began)}
}

// waitGroup is what goroutines of a WaitGroup begin with, whatever they do.
const waitGroup = "sync.(*WaitGroup).Go"

// outermost is the first function of a stack, after that of a WaitGroup.
func outermost(s trace.Stack) (name string) {
	for frame := range s.Frames() {
		if name == "" || !strings.HasPrefix(frame.Func, waitGroup) {
			name = frame.Func
		}
	}
	return name
}

// tellStretches prints, for each function that goroutines begin with, how many stretches it had,
// how long the longest tenth and the longest of them were, and what they took of a second together.
func tellStretches(w io.Writer, kind, path string) error {
	all, lasted, err := stretches(path)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	by := map[string][]time.Duration{}
	sums := map[string]time.Duration{}
	for _, s := range all {
		by[s.who] = append(by[s.who], s.long)
		sums[s.who] += s.long
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	for _, who := range names[:min(len(names), 14)] {
		long := slices.Sorted(slices.Values(by[who]))
		short, _ := slices.BinarySearch(long, time.Millisecond+1)
		fmt.Fprintf(w, "#   %-5s n=%-6d p90=%-9s max=%-9s over_1ms=%-4d per_s=%-9s %s\n", kind, len(long),
			long[len(long)*9/10].Round(time.Microsecond), long[len(long)-1].Round(time.Microsecond), len(long)-short,
			perSecond(sums[who], lasted).Round(time.Microsecond), who[strings.LastIndex(who, "/")+1:])
	}
	return nil
}

// perSecond is what a sum over some time is for each second of it.
func perSecond(sum, over time.Duration) time.Duration {
	return time.Duration(float64(sum) / max(over.Seconds(), 1e-9))
}
