package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/command"
)

func main() {
	command.Main("realworld", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }, syscall.SIGTERM)
}

// clientsFlag has this command be the clients of a program.
const clientsFlag = "clients"

// options are the command's flags.
type options struct {
	settings
	only    *regexp.Regexp
	builds  []build
	mode    profile.Mode
	planFor time.Duration // how long each plan runs
	truth   bool
	traces  string
	clients string   // the program whose clients to be
	ports   []string // of that program
}

func parseFlags(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("realworld", flag.ContinueOnError)
	flags.SetOutput(stderr)
	o.settings = thorough()
	only := flags.String("only", "", "only the programs whose names match this `regexp`")
	by := flags.String("build", "", "only this `build`: go or otelprof")
	mode := flags.String("mode", string(profile.ModeReplay), "the `mode` to hold against what really happens: replay, slowdown or overlap")
	o.planFor = 4 * time.Minute
	flags.BoolFunc("quick", "one speed-up and fewer, shorter windows; flags after it count", func(string) error {
		o.settings, o.planFor = quick(), time.Minute
		return nil
	})
	flags.DurationVar(&o.planFor, "plan", o.planFor, "how long each plan runs")
	flags.BoolVar(&o.truth, "truth", false, "measure what really happens, and do not ask replay")
	flags.StringVar(&o.traces, "traces", "", "write execution traces to this `folder`, and measure nothing")
	flags.IntVar(&o.windows, "windows", o.windows, "the number of windows to record")
	flags.DurationVar(&o.record, "record", o.record, "how long each of them is")
	flags.IntVar(&o.pairs, "pairs", o.pairs, "the number of windows in which a region is really faster, for each speed-up")
	flags.DurationVar(&o.patience, "patience", o.patience, "how long to measure again what other processes disturbed, for each build")
	flags.StringVar(&o.clients, clientsFlag, "", "be the clients of this `program`, for the command itself; arguments are its ports")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch b := build(*by); b {
	case "":
		o.builds = []build{stock, byTheTool}
	case stock, byTheTool:
		o.builds = []build{b}
	default:
		return o, fmt.Errorf("-build %q: must be go or otelprof", b)
	}
	switch o.mode = profile.Mode(*mode); o.mode {
	case profile.ModeReplay, profile.ModeSlowdown, profile.ModeOverlap:
	default:
		return o, fmt.Errorf("-mode %q: must be replay, slowdown or overlap", o.mode)
	}
	if o.planFor < time.Second {
		return o, errors.New("-plan: must be a second or more")
	}
	if o.windows < 1 || o.pairs < 1 || o.record <= 0 {
		return o, errors.New("-windows, -record and -pairs: must be above 0")
	}
	if o.ports = flags.Args(); o.clients == "" && len(o.ports) > 0 {
		return o, fmt.Errorf("argument %q: unexpected", o.ports[0])
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	all := programs()
	if o.clients != "" {
		i := slices.IndexFunc(all, func(p program) bool { return p.name == o.clients })
		if i < 0 || len(o.ports) != all[i].ports {
			return fmt.Errorf("-%s %q with %d ports: must be a program with its ports", clientsFlag, o.clients, len(o.ports))
		}
		return beClients(ctx, all[i], o.ports, stdin, stdout)
	}
	all = slices.DeleteFunc(all, func(p program) bool { return !o.only.MatchString(p.name) })
	if len(all) == 0 {
		return fmt.Errorf("-only %q: must match a program", o.only)
	}
	root, err := checkout(ctx)
	if err != nil {
		return err
	}
	l := lab{options: o, tools: filepath.Join(root, ".tools", "realworld"), root: root, out: stdout}
	began := time.Now()
	fmt.Fprintf(stdout, "# %s %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	var missed error // of all programs
	for _, p := range all {
		err := l.try(ctx, p)
		if err != nil && !errors.Is(err, errClaim) {
			return errors.Join(missed, err)
		}
		missed = errors.Join(missed, err)
	}
	fmt.Fprintf(stdout, "# %v\n", time.Since(began).Round(time.Second))
	return missed
}
