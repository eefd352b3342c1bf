package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A growth compares what a span costs beside the SDK's own where there is much of something to
// where there is little. The SDK is beside us at each size, since the garbage collector and the
// caches make all spans dearer in a large program.
type growth struct {
	name  string // of what there is much
	sizes []int
	// figure returns what to measure at a size, and how much memory one of that many takes on our
	// side, in bytes, once it has been measured.
	figure func(size int) (figure, func() float64)
}

// growthLeast is the least that x may become, beside x at the first size.
const growthLeast = 0.85

var growths = []growth{
	{"live_spans", []int{1, 1000, 1_000_000}, liveSpans},
	{"names", []int{1, 1000, 100_000}, manyNames},
	{"working_goroutines", []int{1, 2, 8, 64}, workingGoroutines},
	{"idle_goroutines", []int{1, 10_000, 1_000_000}, idleGoroutines},
}

// runGrowth writes a line for each size. Where an arm takes less than 100 ms the sizes are smaller
// in proportion.
func runGrowth(w io.Writer, match *regexp.Regexp, rounds int, arm time.Duration) error {
	for _, g := range growths {
		if !match.MatchString("growth_" + g.name) {
			continue
		}
		first := 0.0
		for i, size := range g.sizes {
			size = max(1, int(float64(size)*min(1, float64(arm)/float64(100*time.Millisecond))))
			f, memory := g.figure(size)
			r, err := measure(f, min(rounds, 15), arm)
			if err != nil {
				return fmt.Errorf("growth_%s: %w", g.name, err)
			}
			if i == 0 {
				first = r.x
			}
			if _, err := fmt.Fprintf(w, "ratio growth_%s n=%d ours=%.0f peer=%.0f x=%.2f x_lo=%.2f x_hi=%.2f of_first=%.2f bytes_each=%s clock=cpu target=of_first>=%.2f holds=%s\n",
				g.name, size, r.ours.ns, r.peer.ns, r.x, r.xLo, r.xHi, r.x/first, bytesEach(memory(), size), growthLeast, yes(r.x >= growthLeast*first)); err != nil {
				return err
			}
		}
	}
	return nil
}

// scales are numbers of goroutines, each with a processor of its own, and scalesLeast which part of
// what one does each of several must do.
var scales = []int{1, 2, 4, 8, 16}

const scalesLeast = 0.9

// runScaling writes what unsampled spans do on that many processors, as far as the machine has
// them.
func runScaling(w io.Writer, match *regexp.Regexp, rounds int, arm time.Duration) error {
	const name = "scaling_unsampled"
	if !match.MatchString(name) {
		return nil
	}
	first := 0.0
	for _, n := range scales {
		if n > runtime.NumCPU() {
			if _, err := fmt.Fprintf(w, "# %s n=%d is not measured: %d processors\n", name, n, runtime.NumCPU()); err != nil {
				return err
			}
			continue
		}
		f := sideBySide(n)
		f.procs = n
		r, err := measure(f, min(rounds, 15), arm)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if n == 1 {
			first = r.ours.ns
		}
		part := first / (float64(n) * r.ours.ns)
		if _, err := fmt.Fprintf(w, "ratio %s n=%d ours=%.0f peer=%.0f x=%.2f each_of_first=%.2f clock=cpu target=each_of_first>=%g holds=%s\n",
			name, n, r.ours.ns, r.peer.ns, r.x, part, scalesLeast, yes(part >= scalesLeast)); err != nil {
			return err
		}
	}
	return nil
}

// bytesEach writes the memory that one takes, "-" where there are too few to separate from the rest
// of the program.
func bytesEach(bytes float64, size int) string {
	if size < 1000 || bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", bytes)
}

// none is the memory of what takes none of ours.
func none() float64 { return 0 }

// sideBySide compares our wrapper as it comes with the SDK, unsampled, in traces of batch spans.
func sideBySide(goroutines int) figure {
	never := sdktrace.NeverSample()
	return figure{
		ours: func() *side { return full(never) }, peer: func() *side { return bare(never) },
		perTrace: batch, goroutines: goroutines, procs: min(goroutines, 2),
	}
}

// filled has both sides begin with something of which there is much, and returns how many bytes one
// of that many takes on our side.
func filled(size int, fill func(*side)) (figure, func() float64) {
	f := sideBySide(1)
	ours, peer, bytes := f.ours, f.peer, 0.0
	takes := func(s *side) float64 {
		before := settledHeap()
		fill(s)
		return float64(settledHeap()-before) / float64(size)
	}
	f.ours = func() *side { s := ours(); bytes = takes(s); return s }
	f.peer = func() *side { s := peer(); takes(s); return s }
	return f, func() float64 { return bytes }
}

// liveSpans has that many roots that do not end.
func liveSpans(size int) (figure, func() float64) {
	return filled(size, func(s *side) {
		live := make([]trace.Span, size)
		for i := range live {
			_, live[i] = s.tracer.Start(context.Background(), "live")
		}
		s.then(func() error { runtime.KeepAlive(live); return nil })
	})
}

// manyNames has spans of that many names; the most regions that there are by default is 2,000.
func manyNames(size int) (figure, func() float64) {
	names := make([]string, size)
	for i := range names {
		names[i] = "name " + strconv.Itoa(i)
	}
	f, bytes := filled(size, func(s *side) {
		span := func(name string) {
			_, span := s.tracer.Start(context.Background(), name)
			span.End()
		}
		for _, name := range names {
			span(name)
		}
		if s.settle != nil {
			_ = s.settle() // which has no deadline to miss
		}
		next := 0
		s.record = func(float64) {
			if next++; next >= size {
				next = 0
			}
			span(names[next])
		}
		s.lost = nil
	})
	f.records = true
	return f, bytes
}

// workingGoroutines are that many at once on two processors, or one.
func workingGoroutines(size int) (figure, func() float64) { return sideBySide(size), none }

// idleGoroutines has that many goroutines wait, each in a span of ours: what they are to the
// garbage collector and the scheduler is the same for both sides.
func idleGoroutines(size int) (figure, func() float64) {
	f := sideBySide(1)
	ours := f.ours
	f.ours = func() *side {
		s := ours()
		stop := make(chan struct{})
		var begun, ended sync.WaitGroup
		begun.Add(size)
		for range size {
			ended.Go(func() {
				_, span := s.tracer.Start(context.Background(), "idle")
				begun.Done()
				<-stop
				span.End()
			})
		}
		begun.Wait()
		closed := s.close
		s.close = func() error {
			close(stop)
			ended.Wait()
			return errors.Join(s.settle(), closed())
		}
		return s
	}
	return f, none
}
