// Command ablation measures what each rule of replay is worth: it answers from a corpus of
// recordings of which is known what is true, with all rules, and then without one after the other.
//
//	accuracy -mode replay -types plain -quick -only . -corpus DIR    # record it, 50 minutes
//	ablation DIR                                                    # a line for each rule
//
// A line has what changes if the rule is left out:
//
//	ablation rule=ticker cells=12 coverage=-0.004 mean_abs_error=+0.02 median_width=-0.10 sure_and_wrong=+1 withheld=+0 programs=ticking-plain
//
//	cells            answers that differ by half a point or more
//	coverage         part of the answers whose interval holds what is true
//	mean_abs_error   of numbers and middles of bounds, in percentage points
//	median_width     of intervals, in points
//	sure_and_wrong   answers that miss the truth by more than 3 points
//	withheld         answers without a number
//	programs         in which answers differ
//
// With -missed it prints the answers with all rules that miss, too.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/otelprof/otelprof/integration/internal/command"
	"github.com/otelprof/otelprof/internal/replay"
)

func main() {
	command.Main("ablation", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout) })
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("ablation", flag.ContinueOnError)
	only := flags.String("rules", "", "only rules whose names match this `regexp`")
	programs := flags.String("only", "", "only programs whose names match this `regexp`")
	missed := flags.Bool("missed", false, "print the answers of all rules that miss what is true")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d arguments: must be the folder of a corpus", flags.NArg())
	}
	rules, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-rules: %w", err)
	}
	which, err := regexp.Compile(*programs)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	corpus, err := readCorpus(flags.Arg(0), which)
	if err != nil {
		return err
	}
	began := time.Now()
	all, err := answers(ctx, corpus, "")
	if err != nil {
		return err
	}
	base := summarize(all)
	fmt.Fprintf(stdout, "ablation rule=none programs=%d %v\n# %v\n", len(corpus), base, time.Since(began).Round(time.Second))
	for _, c := range all {
		if *missed && (!c.given || c.beyond() > 0) {
			fmt.Fprintln(stdout, c)
		}
	}
	for _, rule := range replay.Rules() {
		if !rules.MatchString(rule.Name) {
			continue
		}
		without, err := answers(ctx, corpus, rule.Name)
		if err != nil {
			return err
		}
		n, programs := differ(all, without)
		fmt.Fprintf(stdout, "ablation rule=%s cells=%d %v programs=%s\n", rule.Name, n, summarize(without).since(base), strings.Join(programs, ","))
	}
	return nil
}

// answers asks all programs, on all processors, without a rule.
func answers(ctx context.Context, corpus []program, rule string) ([]cell, error) {
	found := make([][]cell, len(corpus))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range corpus {
		all.Go(func() (err error) {
			if found[i], err = p.ask(ctx, rule); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}
