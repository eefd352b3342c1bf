package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/integration/internal/command"
)

func main() {
	command.Main("faults", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

// sizes are how long and how much; -quick makes them smaller.
type sizes struct {
	warm, lasts time.Duration // the load before a fault, and while it lasts
	looks       time.Duration // for how long recordings come one after the other when the fault has been measured
	ratio       bool          // the ratio of latencies is judged: there are requests enough for it, and the service is steady
	clock       bool          // the machine's clock may be set
	goroutines  int
	names       int
}

// of is how long a fault lasts.
func (s sizes) of(f fault) time.Duration {
	if !s.ratio {
		return s.lasts
	}
	return max(s.lasts, f.lasts)
}

func thorough() sizes {
	return sizes{warm: 3 * time.Second, lasts: 12 * time.Second, looks: 4 * time.Second, ratio: true, goroutines: 1_000_000, names: 100_000}
}

func quick() sizes {
	return sizes{warm: time.Second, lasts: 4 * time.Second, goroutines: 100_000, names: 20_000}
}

// serviceFlag has this command be the service.
const serviceFlag = "service"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s := thorough()
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "only the faults whose names match this `regexp`")
	flags.BoolFunc("quick", "shorter and smaller faults, too short to judge p99_ratio", func(string) error { s = quick(); return nil })
	flags.DurationVar(&s.lasts, "lasts", s.lasts, "how long each fault lasts")
	clock := flags.Bool("clock", false, "set the clock of this machine, which has to be an emulated one")
	list := flags.Bool("list", false, "list the faults")
	service := serviceFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.clock = *clock
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q: unexpected", flags.Arg(0))
	}
	if service.kind != "" {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
		defer stop()
		return serve(ctx, *service, stdout)
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	bad := 0
	all := slices.DeleteFunc(faults(s), func(f fault) bool { return !names.MatchString(f.name) })
	if len(all) == 0 {
		return fmt.Errorf("-only %q: must match a fault", *only)
	}
	for _, f := range all {
		if *list {
			fmt.Fprintf(stdout, "%-24s %s\n", f.name, f.what)
			continue
		}
		if ok := try(ctx, f, s, stdout, stderr); !ok {
			bad++
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d faults: not survived as promised", bad)
	}
	return nil
}
