// Package whatif is the command whatif: questions about execution traces.
package whatif

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/plans"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

var Command = &command.Command{
	Name:  "whatif",
	Args:  "[URL… | TRACE…]",
	Short: "Tell what would help, from execution traces or a running program",
	Long: `
A TRACE is an execution trace of a Go program: of go test -trace, of /debug/pprof/trace, of runtime/trace; - is
standard input. What was recorded is simulated, with one region after the other made faster. Regions
are the spans of otelprof, and the regions of runtime/trace. Each trace is a window; few traces are cut into
several, since the interval of a number comes from how windows differ.

Functions are regions by -function: what they compute is known where a CPU profile was on during the trace, as by
go test -trace trace.out -cpuprofile cpu.out, and what they wait for from the stacks of waits.

A URL, or HOST:PORT, is that of a program's viewer; without an argument it is that in
OTELPROF_URL. A program that has no answer yet is asked to record at once. That takes the viewer's
token: the text in the file that the program's OTELPROF_VIEWER_TOKEN_FILE names, here -token-file
or OTELPROF_TOKEN. Without one it records on its own, since the page is being read. Questions that
the program does not ask itself, by -function or about other builds, have it record and hand out
the trace, up to three times, with the token; the trace is simulated here.

Several URLs are processes that ask each other, services or replicas of one: they record at the
same time, and their recordings are joined by the IDs of spans, so that a region of one is held
against the progress points of all. One that does not answer, or has no request of the others, is
left out, with a note. Clocks may differ by any offset, and run at other rates: requests and
answers bound by how much, which the notes say. With -join the same is done with traces of the same
time.

With -confirm a running program is asked for slow-downs of the regions that seem to matter most,
three at most: their callers are held for 10 and 30 % of what they take themselves, in some
windows and not in others, until that confirms the answer, contradicts it, or -wait is over. It
takes the token, and OTELPROF_EXPERIMENTS=on in the program. What it costs at most is printed
before it begins.

Three lines say what helps most, by how much, and what that rests on; a table has all regions. A number that may be
wrong has an interval as wide as that, and the reason is printed. docs/causal.md has more.

The progress point is what should happen more often: one that the program counts, or a span without a
parent. -progress takes any region too, the function that goroutines begin with, or a function that waits:
its ends, or waits, are then the visits.
` + questionHelp,
	Run: func(c *command.Call) error {
		w := whatif{Call: c}
		c.StringVar(&w.progress, "progress", "", "`name` of the progress point; by default the one with the most visits")
		c.StringVar(&w.region, "region", "", "`pattern` of the regions to ask about; by default the 16 with the most time of their own")
		c.StringVar(&w.function, "function", "", "`pattern` of functions to ask about, calls included, in place of regions, as in 'math/rand.(*Rand).*'")
		c.Func("speedup", "`percent`ages by which regions are faster, as in 10,50; by default 10,25,50,75,95", w.readSpeedups)
		c.BoolVar(&w.json, "json", false, "write the profile as JSON, as otelprof report reads it")
		c.DurationVar(&w.record, "record", 3*time.Second, "`time` that a program is asked to record, in [100ms, 10s]")
		c.DurationVar(&w.wait, "wait", time.Minute, "`time` to wait for a program's answer")
		c.BoolVar(&w.join, "join", false, "TRACEs are of different processes, of the same time")
		c.BoolVar(&w.confirm, "confirm", false, "have a running program confirm the answer by slow-downs, which delay it a little")
		w.questionFlags()
		w.target = plans.NewTargetFlags(c)
		if err := c.ParseArgs(0, -1); err != nil {
			return err
		}
		if w.names = client.Names(c.Args()); len(w.names) == 0 {
			return command.Usagef("0 arguments: must be at least 1: the URL of a viewer, or traces")
		}
		var err error
		if w.http, err = w.target.Client(); err != nil {
			return err
		}
		defer w.http.CloseIdleConnections()
		return w.answer(context.Background())
	},
}

// A whatif is one execution of the command.
type whatif struct {
	*command.Call
	progress, region, function string
	speedups                   []float64
	json, confirm, join        bool
	record, wait               time.Duration
	names                      []string // of traces, or URLs
	left                       []string // notes about processes that are left out
	target                     plans.TargetFlags
	http                       *http.Client // for what takes no token
	asked                      asked
}

// readSpeedups reads percentages.
func (w *whatif) readSpeedups(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(part), "%"), 64)
		if err != nil || !(percent > 0 && percent < 100) {
			return fmt.Errorf("%q: must be numbers in (0, 100)", part)
		}
		w.speedups = append(w.speedups, percent/100)
	}
	slices.Sort(w.speedups)
	w.speedups = slices.Compact(w.speedups)
	return nil
}

func (w *whatif) answer(ctx context.Context) error {
	var p profile.Profile
	var err error
	if w.function != "" && w.region != "" {
		return command.Usagef("function: must not be beside -region")
	}
	switch live, own := client.IsURL(w.names[0]), w.function != "" || w.asked.any(); {
	case slices.ContainsFunc(w.names, func(name string) bool { return client.IsURL(name) != live }):
		return command.Usagef("arguments %q: must be all URLs or all traces", w.names)
	case w.confirm && (!live || own || len(w.names) > 1):
		return command.Usagef("confirm: must be with the URL of one running program, without -function and questions about other builds")
	case w.join && (live || len(w.names) < 2):
		return command.Usagef("join: must be with two traces or more")
	case !live:
		p, err = w.replay(ctx, w.names)
	case own || len(w.names) > 1:
		p, err = w.replayLive(ctx, w.names)
	default:
		p, err = w.ask(ctx, w.names[0])
	}
	if err == nil && w.confirm {
		p, err = w.confirmed(ctx, w.names[0], p)
	}
	if err != nil {
		return err
	}
	return w.write(p)
}

func (w *whatif) write(p profile.Profile) error {
	known, measured := slices.ContainsFunc(p.Curves, hasNumber), p
	p.Curves = slices.DeleteFunc(slices.Clone(p.Curves), func(c profile.Curve) bool {
		return w.json && w.progress != "" && c.Progress != w.progress || !w.asksAbout(trace.Region(c.Region))
	})
	p.Waits = slices.DeleteFunc(slices.Clone(p.Waits), func(r profile.RegionWaits) bool { return !w.asksAbout(trace.Region(r.Region)) })
	p.Tails = slices.DeleteFunc(slices.Clone(p.Tails), func(t profile.Tail) bool { return !w.asksAbout(trace.Region(t.Region)) })
	if len(w.speedups) > 0 {
		for i := range p.Curves {
			p.Curves[i].Effects = slices.DeleteFunc(slices.Clone(p.Curves[i].Effects), func(e profile.Effect) bool {
				return !slices.Contains(w.speedups, e.Speedup)
			})
		}
	}
	if known && !slices.ContainsFunc(p.Curves, hasNumber) {
		return command.Usagef("region %q, speedup: nothing known matches: %s", w.region, answered(measured))
	}
	if w.json {
		return p.WriteJSON(w.Stdout)
	}
	return p.WriteAnswer(w.Stdout, w.progress)
}

// answered names the regions and speed-ups that a profile has numbers for.
func answered(p profile.Profile) string {
	regions, speedups := map[string]bool{}, map[float64]bool{}
	for _, c := range p.Curves {
		for _, e := range c.Effects {
			if e.Known() {
				regions[c.Region.Name], speedups[100*e.Speedup] = true, true
			}
		}
	}
	return fmt.Sprintf("there is %s at %.4g %%", strings.Join(slices.Sorted(maps.Keys(regions)), ", "), slices.Sorted(maps.Keys(speedups)))
}

func (w *whatif) asksAbout(r trace.Region) bool {
	if w.function != "" {
		return r.Scope == trace.FunctionScope
	}
	return w.region == "" || glob.Match(w.region, r.Name)
}
