// Package beside runs a program under a CPU profile and a causal profile, shows both side by side,
// and then holds the causal one against an optimised variant of the program.
package beside

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/spans"
)

// A Program is what is profiled.
type Program struct {
	Name  string
	About string // one line
	// Unit is the name of the progress point, and of what is done when it is visited.
	Unit string
	// Region is what the optimised variant makes faster, Function where its code is.
	Region, Function string
	// Change is what the optimised variant does differently.
	Change string
	// Dilation has experiments by dilation asked as well, in a second run, to be held beside the
	// other answers: it is right only for a program that computes, and marks its waits by
	// causal.Blocked.
	Dilation bool
	// Run works until ctx is over.
	Run func(ctx context.Context, tracer trace.Tracer, optimized bool)
}

// Main is a command that measures the program.
func Main(p Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := p.run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
		os.Exit(1)
	}
}

// pairs is how often the program and its variant take turns, each for turn.
const (
	pairs = 4
	turn  = 1500 * time.Millisecond
)

func (p Program) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	optimized := flags.Bool("optimized", false, "profile the optimised variant, and compare nothing")
	length := flags.Duration("for", 18*time.Second, "how long to profile, at least 8s, each way")
	file := flags.String("trace", "", "write an execution trace to a `file`, for otelprof whatif, and do nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("argument %q: unexpected", flags.Arg(0))
	case *file != "":
		return p.Trace(ctx, *file, *length, *optimized)
	case *length < 8*time.Second:
		return fmt.Errorf("-for %v: must be at least 8s", *length)
	}
	fmt.Fprintf(stdout, "%s: %s\n\nprofiling for %v ...\n", p.Name, p.About, *length)
	profiles, err := p.Profile(ctx, *length, *optimized)
	if err != nil {
		return err
	}
	if err := profiles.write(stdout, p); err != nil || *optimized {
		return err
	}
	fmt.Fprintf(stdout, "\nDoing it: %s.\n", p.Change)
	gain, err := p.Compare(ctx, pairs, turn)
	if err != nil {
		return err
	}
	gain.write(stdout, p, profiles.Causal)
	return nil
}

// Profiles are two views of the same run.
type Profiles struct {
	CPU    CPU
	Causal profile.Profile
}

// Profile runs the program for a while under both profilers, and again where dilation is asked as
// well.
func (p Program) Profile(ctx context.Context, length time.Duration, optimized bool) (Profiles, error) {
	both, err := p.measured(ctx, length, optimized)
	if err != nil || !p.Dilation {
		return both, err
	}
	dilated, err := p.dilated(ctx, length, optimized)
	both.Causal = profile.Merge(both.Causal, dilated)
	return both, err
}

// measured is both views of one run: recordings answer, or, in runtime mode, an experiment by
// overlap.
func (p Program) measured(ctx context.Context, length time.Duration, optimized bool) (Profiles, error) {
	c, err := p.newController(ctx, length)
	if err != nil {
		return Profiles{}, err
	}
	var profile profile.Profile
	cpu, err := profileCPU(p, func() error {
		_, err := p.during(ctx, c, optimized, func(ctx context.Context) error { return record(ctx, c, length) })
		profile = c.Profile()
		return err
	})
	return Profiles{cpu, profile}, errors.Join(err, c.Shutdown(context.WithoutCancel(ctx)))
}

// during runs the program with a controller's hook until a function returns, and returns what spans
// took.
func (p Program) during(ctx context.Context, c *causal.Controller, optimized bool, until func(context.Context) error) ([]spans.RegionStats, error) {
	tp := spans.WrapTracerProvider(nil, spans.WithHook(c.Hook()))
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- until(limited)
	}()
	p.Run(limited, tp.Tracer(p.Name), optimized)
	regions := tp.Regions()
	return regions, errors.Join(<-ended, tp.Shutdown(context.WithoutCancel(ctx)))
}

func (r Profiles) write(w io.Writer, p Program) error {
	r.CPU.write(w, p)
	fmt.Fprintln(w)
	throughput := r.Causal
	throughput.Curves = slices.DeleteFunc(slices.Clone(r.Causal.Curves), func(c profile.Curve) bool { return c.Metric != profile.MetricThroughput })
	return throughput.WriteTable(w)
}
