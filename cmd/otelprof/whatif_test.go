package main

import (
	"context"
	"fmt"
	"os"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/spans"
)

// traced is a program of the scripts: six goroutines share a lock for 2 ms of each request, 8 ms of which are their own. It
// writes an execution trace of a second to the file that is its first argument; with a second one its regions are those of
// runtime/trace, and no spans.
func traced() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 1100*time.Millisecond)
	defer cancel()
	if err := trace.Start(f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tracer := spans.Wrap(nil).Tracer("shop")
	withSpan := func(ctx context.Context, name string, f func(context.Context)) {
		ctx, span := tracer.Start(ctx, name)
		defer span.End()
		f(ctx)
	}
	if len(os.Args) > 2 {
		withSpan = func(ctx context.Context, name string, f func(context.Context)) {
			trace.WithRegion(ctx, name, func() { f(ctx) })
		}
	}
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range 6 {
		workers.Go(func() {
			for ctx.Err() == nil {
				withSpan(context.Background(), "request", func(ctx context.Context) {
					withSpan(ctx, "own", func(context.Context) { time.Sleep(8 * time.Millisecond) })
					mu.Lock()
					withSpan(ctx, "locked", func(context.Context) { time.Sleep(2 * time.Millisecond) })
					mu.Unlock()
				})
			}
		})
	}
	workers.Wait()
	trace.Stop()
	if err := f.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestReadSpeedups(t *testing.T) {
	var w whatif
	if err := w.readSpeedups("50, 10%,50"); err != nil || fmt.Sprint(w.speedups) != "[0.1 0.5]" {
		t.Errorf("readSpeedups = %v, %v, want 0.1 and 0.5", w.speedups, err)
	}
	for _, bad := range []string{"", "0", "100", "-5", "x", "10,,20", "NaN"} {
		if err := new(whatif).readSpeedups(bad); err == nil {
			t.Errorf("readSpeedups(%q) succeeded, want an error", bad)
		}
	}
}

func TestWhatifWrites(t *testing.T) {
	curve := func(region string) causal.Curve {
		c := causal.Curve{Mode: causal.ModeReplay, Region: causal.RegionKey{Span: region}, Progress: "request", Metric: causal.MetricThroughput}
		for _, s := range []float64{0.25, 0.5} {
			c.Effects = append(c.Effects, causal.Effect{Speedup: s, Reduction: s / 2, Lo: s/2 - 0.01, Hi: s/2 + 0.01, Samples: 5})
		}
		return c
	}
	p := causal.Profile{Curves: []causal.Curve{curve("own"), curve("locked")}}
	var out strings.Builder
	w := whatif{call: &call{stdout: &out}, region: "l*", speedups: []float64{0.5}}
	if err := w.write(p); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "locked") || strings.Contains(got, "own") || strings.Contains(got, "25 %") {
		t.Errorf("with a region and a speed-up of 50 %%:\n%s", got)
	}
	if len(p.Curves) != 2 || len(p.Curves[1].Effects) != 2 {
		t.Error("the profile itself has become smaller")
	}
}
