// Package check is the command check: two versions of a program, compared by region. It is a gate
// for continuous integration.
//
// Both versions run at once on one machine, again and again, and each pair of runs gives one change
// for each region and quantile: what disturbs the machine disturbs both (duet benchmarking, Bulej
// et al., ICPE 2020, which found intervals 2 to 80 times narrower in clouds). The old version also
// runs beside itself: how far these two seem to differ is what this machine cannot tell from a
// change.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

const (
	usualPairs = 40
	// leastPairs is how many pairs an interval takes, and mostPairs as many as
	// anyone waits for.
	leastPairs = 6
	mostPairs  = 200
)

// Command is the command check.
var Command = &command.Command{
	Name:  "check",
	Args:  "[PACKAGE] [-- ARGS…]",
	Short: "Compare two versions of a program by region, both at once, as a gate for CI",
	Long: `
PACKAGE is built twice: at -ref in a worktree of its own, and as it is here. Or -base and -new
are two programs. Both run at once with ARGS, in pairs, each on half of the processors, and write
to OTELPROF_DATA_DIR; OTEL_TRACES_SAMPLER=always_off keeps them from exporting spans. Each run is
of a fresh copy of the program, in a temporary folder. A program that does not end is interrupted
after -for. {port} in ARGS and -load is a port that is free.

With -load the programs are servers: sh runs the command against each, once that accepts
connections on {port}, and the run ends with it.

By default the check fails where the mean, median or 90th percentile of a region is surely
slower, by more than 1 % and more than this machine's own noise. Two equal versions fail in one
of 200 checks at most. -fail takes other conditions:

    -fail 'p99 of POST /orders > +5 %'  -fail 'mean of SELECT * > +2 %'  -fail 'rate of request < -3 %'

Exit status: 0 if no condition holds, 1 if one surely does, 2 if that is not clear, until there
are more -pairs or a longer -for, and 2 where a version cannot be built or run. go run and go tool
make 1 of each: build the command.
`,
	Run: func(c *command.Call) error {
		o := options{call: c}
		c.StringVar(&o.base, "base", "", "`program` of the old version, in place of a PACKAGE")
		c.StringVar(&o.new, "new", "", "`program` of the new version")
		c.StringVar(&o.ref, "ref", "", "`commit` of the old version; by default where this branch has left main or master")
		c.IntVar(&o.pairs, "pairs", usualPairs, "`number` of pairs, and as many again of the old version beside itself")
		c.DurationVar(&o.each, "for", time.Second, "`time` after which a program is interrupted")
		c.StringVar(&o.load, "load", "", "`command` that sends requests to {port}")
		c.Var(&o.fail, "fail", "`condition` that fails; may be repeated")
		c.StringVar(&o.format, "o", "text", "`format`: text, json or markdown")
		c.BoolVar(&o.share, "share", false, "let both programs share all processors, in place of a half each")
		c.StringVar(&o.bench, "bench", "", "write base.txt and new.txt for benchstat into this `folder`")
		if err := c.ParseArgs(0, -1); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err := o.run(ctx)
		if _, judged := errors.AsType[command.ExitStatus](err); err == nil || judged || errors.Is(err, command.ErrUsage) {
			return err
		}
		fmt.Fprintln(c.Stderr, "otelprof:", err) // 1 is for what is slower
		return command.ExitStatus(exitUnclear)
	},
}

// options are the command line.
type options struct {
	call                *command.Call
	base, new, ref      string
	pairs               int
	each                time.Duration
	load, format, bench string
	fail                command.List
	share               bool
	pkg                 string
	args                []string // of both programs
}

func (o *options) run(ctx context.Context) (err error) {
	rules, err := o.check()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "otelprof-check")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what stays is in the system's folder for what is temporary
	what := fmt.Sprintf("base %s, new %s", o.base, o.new)
	if o.pkg != "" {
		if o.base, o.new, what, err = o.build(ctx, o.pkg, dir); err != nil {
			return err
		}
	}
	runs, err := o.duets(ctx, dir)
	if err != nil {
		return err
	}
	report := judge(runs, rules)
	report.What, report.Pairs, report.EachNs = what, o.pairs, int64(o.each)
	if o.bench != "" {
		if err := writeBench(o.bench, runs); err != nil {
			return err
		}
	}
	if err := formats[o.format](o.call.Stdout, report); err != nil {
		return err
	}
	if status := report.status(); status != 0 {
		return command.ExitStatus(status)
	}
	return nil
}

// check checks the command line, and returns the conditions that fail.
func (o *options) check() (rules []rule, err error) {
	o.args = o.call.Args()
	switch {
	case (o.base == "") != (o.new == ""):
		return nil, command.Usagef("base, new: must both be given, or none and a PACKAGE")
	case o.base != "" && o.ref != "":
		return nil, command.Usagef("ref: must be with a PACKAGE")
	case o.base == "" && len(o.args) == 0:
		return nil, command.Usagef("0 arguments: must be a PACKAGE, or -base and -new")
	case o.pairs < leastPairs || o.pairs > mostPairs:
		return nil, command.Usagef("pairs %d: must be in [%d, %d]", o.pairs, leastPairs, mostPairs)
	case o.each < 100*time.Millisecond:
		return nil, command.Usagef("for %v: must be at least 100ms", o.each)
	case formats[o.format] == nil:
		return nil, command.Usagef("o %q: must be text, json or markdown", o.format)
	}
	if o.base == "" {
		o.pkg, o.args = o.args[0], o.args[1:]
	}
	for _, text := range o.fail {
		r, err := parseRule(text)
		if err != nil {
			return nil, command.Usagef("fail %q: %v", text, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// A sample is what one run has measured, by region and metric; smaller is better.
type sample map[cell]float64

// A cell is one metric of a region.
type cell struct{ scope, region, metric string }

// A duet is two runs at once.
type duet struct{ first, second sample }

// duets are the pairs of the old version with the new one, and of the old one with itself, in
// turns.
type duets struct{ both, same []duet }

func (o *options) duets(ctx context.Context, dir string) (all duets, err error) {
	began := time.Now()
	for i := range o.pairs {
		for k, to := range []*[]duet{&all.both, &all.same} { // new may be the file that base is
			d, err := o.duet(ctx, filepath.Join(dir, fmt.Sprint(i, k)), []string{o.new, o.base}[k])
			if err != nil {
				return all, err
			}
			*to = append(*to, d)
		}
		if command.IsTerminal(o.call) || i == 0 {
			left := time.Duration(o.pairs-i-1) * (time.Since(began) / time.Duration(i+1))
			fmt.Fprintf(o.call.Stderr, "otelprof: %d of %d pairs, %v left\n", i+1, o.pairs, left.Round(time.Second))
		}
	}
	return all, nil
}

var formats = map[string]func(io.Writer, report) error{"text": writeText, "json": writeJSON, "markdown": writeMarkdown}

// metrics are what is compared, in the order of the table.
var metrics = []string{"mean", "p50", "p90", "p99", "p99.9", "rate"}

func metricOrder(name string) int { return slices.Index(metrics, name) }

// withPort puts a port where a text has {port}.
func withPort(text, port string) string { return strings.ReplaceAll(text, "{port}", port) }
