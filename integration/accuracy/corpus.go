package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/noise"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// warmUp is how long a program runs before it is recorded.
const warmUp = 500 * time.Millisecond

// folder is the name of the one that the workload's traces stand in: pool-plain, or built by
// otelprof pool-plain-otelprof.
func (l *lab) folder() string {
	name := l.Name + "-" + string(l.Types)
	if sched.Present {
		name += "-otelprof"
	}
	return name
}

// record writes execution traces of the workload into a folder, w1.trace and so on, and into
// truth.txt what faster regions bring.
func (l *lab) record(dir string) error {
	workloads.Calibrate()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	c, err := causal.NewController() // a hook that does nothing, so that spans cost the same
	if err != nil {
		return err
	}
	p := workloads.Start(l.Workload, c.Hook())
	time.Sleep(warmUp)
	var loud []float64
	for i := range l.recordings {
		before := noise.Listen()
		if err := traceInto(filepath.Join(dir, fmt.Sprintf("w%d.trace", i+1)), l.recording); err != nil {
			return errors.Join(err, p.End())
		}
		foreign, _ := before.Foreign()
		loud = append(loud, foreign)
	}
	t := noise.Tally{Patience: l.patience}
	l.makeFaster(&t, p)
	if err := errors.Join(p.End(), c.Shutdown(context.Background())); err != nil {
		return err
	}
	return l.writeTruth(filepath.Join(dir, "truth.txt"), &t, loud)
}

// traceInto records the process for d.
func traceInto(name string, d time.Duration) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := trace.Start(f); err != nil {
		return err
	}
	time.Sleep(d)
	trace.Stop()
	return nil
}

// writeTruth writes what was measured:
//
//	P 2
//	progress done
//	class contended
//	region speedup points lo hi [metric]
//
// points are percent of the time between visits, or of the latency that is the metric. A comment
// has what two windows that are alike differ by.
func (l *lab) writeTruth(name string, t *noise.Tally, loud []float64) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := &failing{w: f}
	out.printf("# %s (%s types): %s\n", l.Name, l.Types, l.About)
	out.printf("P %d\nprogress %s\nclass %s\n", runtime.GOMAXPROCS(0), workloads.Done, l.Class)
	if l.Request != "" {
		out.printf("latency %s\n", l.Request)
	}
	out.printf("# while recording, other processes took of a processor: %.2f\n# windows: %s\n", loud, t)
	for _, m := range metricsOf(l.Workload, profile.ModeReplay) {
		same := l.real(question{}, m)
		out.printf("# a/a %s %.2f %.2f %.2f, %d pairs of %v\n", m, same.Value, same.Lo, same.Hi, len(l.null), l.window)
	}
	for _, m := range metricsOf(l.Workload, profile.ModeReplay) {
		for _, region := range l.Regions {
			for _, s := range l.speedups {
				v := l.real(question{region, s}, m)
				out.printf("%s %.2f %.2f %.2f %.2f", region, s, v.Value, v.Lo, v.Hi)
				if m != profile.MetricThroughput {
					out.printf(" %s", m)
				}
				out.printf("\n")
			}
		}
	}
	return out.err
}

// failing remembers the first error.
type failing struct {
	w   io.Writer
	err error
}

func (f *failing) printf(format string, args ...any) {
	if f.err == nil {
		_, f.err = fmt.Fprintf(f.w, format, args...)
	}
}
