package main

import (
	"bufio"
	"errors"
	"fmt"
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
	var loud []float64
	t := noise.Tally{Patience: l.patience}
	err := l.in(workloads.Shape{}, func(p *workloads.Program, _ *causal.Controller) error {
		for i := range l.recordings {
			before := noise.Listen()
			if err := traceInto(filepath.Join(dir, fmt.Sprintf("w%d.trace", i+1)), l.recording); err != nil {
				return err
			}
			foreign, _ := before.Foreign()
			loud = append(loud, foreign)
		}
		l.makeFaster(&t, p)
		return nil
	})
	if err != nil {
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
	out := bufio.NewWriter(f)
	fmt.Fprintf(out, "# %s (%s types): %s\n", l.Name, l.Types, l.About)
	fmt.Fprintf(out, "P %d\nprogress %s\nclass %s\n", runtime.GOMAXPROCS(0), workloads.Done, l.Class)
	if l.Request != "" {
		fmt.Fprintf(out, "latency %s\n", l.Request)
	}
	fmt.Fprintf(out, "# while recording, other processes took of a processor: %.2f\n# windows: %s\n", loud, t)
	for _, m := range metricsOf(l.Workload, profile.ModeReplay) {
		same := l.real(question{}, m)
		fmt.Fprintf(out, "# a/a %s %.2f %.2f %.2f, %d pairs of %v\n", m, same.Value, same.Lo, same.Hi, len(l.null), l.window)
	}
	for _, m := range metricsOf(l.Workload, profile.ModeReplay) {
		for _, region := range l.Regions {
			for _, s := range l.speedups {
				v := l.real(question{region, s}, m)
				fmt.Fprintf(out, "%s %.2f %.2f %.2f %.2f", region, s, v.Value, v.Lo, v.Hi)
				if m != profile.MetricThroughput {
					fmt.Fprintf(out, " %s", m)
				}
				fmt.Fprintln(out)
			}
		}
	}
	return out.Flush()
}
