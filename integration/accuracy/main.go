package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/integration/internal/command"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

func main() {
	command.Main("accuracy", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

// options are the command's flags.
type options struct {
	settings
	only  *regexp.Regexp
	quick bool
	lab   string // the workload to measure in this process
	peer  string // the address of a server, to be the clients of
	web   string // the address of an HTTP server, the same
	types workloads.Types
	// corpus is the folder that execution traces and what is true of them are written to, "" for
	// none.
	corpus string
}

func parseFlags(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	flags.SetOutput(stderr)
	mode := flags.String("mode", "", "only this `mode`: slowdown, overlap, dilation, runtime or replay; by default all but runtime, side by side")
	only := flags.String("only", "", "only the workloads whose names match this `regexp`")
	flags.BoolVar(&o.quick, "quick", false, "fewer workloads (unless -only names them) and speed-ups, five minutes")
	flags.StringVar(&o.lab, "lab", "", "measure this `workload` in this process, for the command itself")
	flags.StringVar(&o.peer, workloads.PeerFlag, "", "be the clients of the server at this `address`, for the command itself")
	flags.StringVar(&o.web, workloads.WebPeerFlag, "", "be the clients of the HTTP server at this `address`, for the command itself")
	flags.StringVar((*string)(&o.types), "types", string(workloads.CausalTypes), "make the programs of replay from these `types`: causal or plain")
	flags.StringVar(&o.corpus, "corpus", "", "record programs of replay into this `folder`, and what faster regions bring in truth, and predict nothing")
	slower := flags.Bool("slower", false, "with -mode replay: ask what regions cost that are 25 and 50 % slower, as otelprof whatif -slower does")
	structure := flags.Bool("structure", false, "with -mode replay: ask only what other builds would be: channels with more room, larger pools, split locks, other numbers of processors")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument %q: unexpected", flags.Arg(0))
	}
	if err := o.settle(profile.Mode(*mode)); err != nil {
		return o, err
	}
	if o.structure = *structure; o.structure && (profile.Mode(*mode) != profile.ModeReplay || o.corpus != "") {
		return o, errors.New("-structure: must be with -mode replay, without -corpus")
	}
	if *slower {
		if profile.Mode(*mode) != profile.ModeReplay || o.structure {
			return o, errors.New("-slower: must be with -mode replay, without -structure")
		}
		o.speedups = []float64{-0.25, -0.5}
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}

// settle decides how much is measured.
func (o *options) settle(mode profile.Mode) error {
	o.settings = thorough()
	if o.quick {
		o.settings = quick()
	}
	switch mode {
	case "":
	case profile.ModeOverlap, profile.ModeDilation:
		o.modes = []profile.Mode{mode}
	case modeRuntime:
		o.modes = []profile.Mode{mode}
		if !o.quick {
			o.settings = o.shorter()
		}
		if !sched.Present {
			return errors.New("-mode runtime: must be run by otelprof run, which builds the scheduler in")
		}
	case profile.ModeSlowdown:
		o.modes = []profile.Mode{mode}
		o.settings = o.slowed()
	case profile.ModeReplay:
		o.modes = []profile.Mode{mode}
		o.settings = o.replayed(o.quick)
		if o.corpus != "" {
			o.settings = o.thoroughly()
		}
	default:
		return fmt.Errorf("-mode %q: must be slowdown, overlap, dilation, runtime or replay", mode)
	}
	if o.types != workloads.CausalTypes && o.types != workloads.PlainTypes {
		return fmt.Errorf("-types %q: must be causal or plain", o.types)
	}
	if mode != profile.ModeReplay && (o.corpus != "" || o.types != workloads.CausalTypes && mode != profile.ModeSlowdown) {
		return errors.New("-types and -corpus: must be with -mode replay")
	}
	if mode == profile.ModeSlowdown {
		o.types = workloads.PlainTypes
	}
	return nil
}

// workloads returns the workloads that the mode is asked about.
func (o *options) workloads() []workloads.Workload {
	if len(o.modes) != 1 {
		return workloads.Designed()
	}
	switch o.modes[0] {
	case modeRuntime:
		return plainWorkloads()
	case profile.ModeReplay, profile.ModeSlowdown:
		return workloads.ReplayedWorkloads(o.types)
	}
	return workloads.Designed()
}

// run measures all workloads, each in a process of its own, and sums them up.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	if o.peer != "" {
		return workloads.BeClients(ctx, o.peer)
	}
	if o.web != "" {
		return workloads.BeVisitors(ctx, o.web)
	}
	if o.lab != "" {
		return measureHere(o, stdout)
	}
	began := time.Now()
	fmt.Fprintf(stdout, "# %s %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	var cells, rebuilt []cell
	var controls []control
	for _, w := range o.workloads() {
		if !o.only.MatchString(w.Name) || o.structure && len(rebuilds[w.Name]) == 0 || o.quick && !w.Short && o.only.String() == "" {
			continue
		}
		r, err := measureElsewhere(ctx, w.Name, args, stderr)
		if err != nil {
			return err
		}
		cells, rebuilt, controls = append(cells, r.Cells...), append(rebuilt, r.Rebuilt...), append(controls, r.Controls...)
		r.print(stdout, w)
	}
	if o.corpus == "" {
		o.sumUp(stdout, cells)
		sumUpRebuilt(stdout, rebuilt)
	}
	fmt.Fprintf(stdout, "# %v\n", time.Since(began).Round(time.Second))
	if o.corpus == "" && len(cells)+len(rebuilt) == 0 {
		return fmt.Errorf("-only %q: must match a workload that is asked about", o.only)
	}
	return o.holdTargets(stdout, cells, controls)
}

// sumUp prints what all cells amount to.
func (o *options) sumUp(out io.Writer, all []cell) {
	for _, mode := range o.modes {
		cells := ofMode(mode, all)
		if mode == profile.ModeSlowdown {
			summarizeSlowed(cells).print(out)
			summarizeLatency(mode, all).print(out)
			summarizeCombined(all).print(out)
			summarizeLatency(answers.ModeCombined, all).print(out)
			continue
		}
		cells, unsteady := steady(cells)
		if unsteady > 0 {
			fmt.Fprintf(out, "# %s: %d programs are left out, of which it is not known what is true\n", mode, unsteady)
		}
		if mode == profile.ModeReplay {
			sumUpReplay(out, cells)
			continue
		}
		s := summarize(cells, mode)
		fmt.Fprintln(out, s.line(fmt.Sprintf("mode=%s", mode)))
		for _, class := range classes {
			if of := summarize(ofClass(class, cells), mode); of.cells > 0 {
				fmt.Fprintln(out, of.line(fmt.Sprintf("mode=%s class=%s", mode, class)))
			}
		}
		fmt.Fprintf(out, "# %s: coverage is %.2f if the interval of the actual value is allowed for\n", mode, s.agreement)
	}
	printPeer(out)
}

// measureHere measures one workload and writes the result as JSON.
func measureHere(o options, w io.Writer) error {
	all := o.workloads()
	i := slices.IndexFunc(all, func(w workloads.Workload) bool { return w.Name == o.lab })
	if i < 0 {
		return fmt.Errorf("workload %q: unknown", o.lab)
	}
	l := newLab(all[i], o.settings)
	if o.corpus != "" {
		return l.record(filepath.Join(o.corpus, l.folder()))
	}
	r, err := l.measure()
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(r)
}

// measureElsewhere has a process of its own measure a workload, so that none finds regions and
// memory of the one before.
func measureElsewhere(ctx context.Context, name string, args []string, stderr io.Writer) (r result, err error) {
	program, err := os.Executable()
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-lab", name}, args...)...)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if len(out) == 0 { // a corpus
		return r, nil
	}
	return r, json.Unmarshal(out, &r)
}

func (r result) print(out io.Writer, w workloads.Workload) {
	fmt.Fprintf(out, "\n# %s\n", w.About)
	slices.SortStableFunc(r.Cells, func(a, b cell) int { // modes side by side
		return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(slices.Index(w.Regions, a.Region), slices.Index(w.Regions, b.Region)), cmp.Compare(a.Speedup, b.Speedup))
	})
	for _, c := range slices.Concat(r.Cells, r.Rebuilt) {
		fmt.Fprintln(out, c.line())
	}
	for _, c := range r.Controls {
		fmt.Fprintln(out, c.Line)
	}
	for _, line := range r.Comments {
		fmt.Fprintf(out, "# %s: %s\n", w.Name, line)
	}
}

// printPeer prints what Coz, built from its newest source, predicts of the same shapes on a
// machine of this kind.
func printPeer(out io.Writer) {
	for _, line := range []string{
		"Coz on the same shapes, predicted - actual at speedup 0.25/0.5/0.75, in points:",
		"  serial +0.1/-0.5/-0.6; join 20M/16M +1/+6.4/+10; mutex 200/100 us -4/-8.5/-13 to -17; mutex 20/10 ms +3/+2.5/+2",
	} {
		fmt.Fprintln(out, "#", line)
	}
}
