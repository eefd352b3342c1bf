package explain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// A Line is one line of an explanation. Title is "" where it goes on with the one above.
type Line struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Lines are the explanation in plain words, the warnings last.
func (e Explanation) Lines() []Line {
	p, l := e.Plan, e.Limits
	var lines []Line
	line := func(title, format string, args ...any) {
		lines = append(lines, Line{title, fmt.Sprintf(format, args...)})
	}

	line("plan", "%s, generation %d%s", p.ID, p.Generation, said(", by ", p.Author)+said(": ", p.Reason))
	line("", "SHA-256 %s", e.Hash)
	line("who", "%s", e.who())
	for i, r := range p.Regions {
		line(titled(i, "examines"), "%s", regionText(r))
	}
	for i, r := range p.Progress {
		line(titled(i, "measures"), "%s", progressText(r))
	}
	line("how", "%s", e.how())
	speedups := e.caps.Allowed.Speedups(p)
	line("", "speed-ups of %s%s", joined(speedups, "%g%%"), tightened(len(speedups) < len(p.Grid.Speedups), joined(p.Grid.Speedups, "%g%%")))
	line("when", "from %s to %s, %v", e.from(), e.Begins.Add(time.Duration(e.LastsNs)).UTC().Format(time.RFC3339), round(time.Duration(e.LastsNs)))
	line("experiments", "%s", e.fit())
	line("", "%d try everything once, if each entry of regions and auto finds its regions: %d", e.Round, e.Regions)
	line("costs", "at most, in each process:")
	line("", "%v at the end of one span%s", l.PerSpan, tightened(p.Limits.PerSpan > e.caps.Limits.PerSpan, p.Limits.PerSpan))
	line("", "%v in one session%s", l.PerTrace, tightened(p.Limits.PerTrace > e.caps.Limits.PerTrace, p.Limits.PerTrace))
	line("", "%v per second and processor%s", perSecond(l.Duty), tightened(p.Limits.Duty > e.caps.Limits.Duty, p.Limits.Duty))
	line("", "%v altogether%s, on one processor not before %v", l.Total, tightened(p.Limits.Total > e.caps.Limits.Total, p.Limits.Total), e.spentAfter())
	b, most := e.Breaker, e.caps.Breaker
	line("stops", "for good when the 99th percentile of requests is %g times what it was%s%s,", b.P99Ratio, orAbove(b.P99), tightened(p.Abort.P99Ratio > most.P99Ratio, p.Abort.P99Ratio))
	line("", "or %s more of them fail%s:", b.ErrDelta, tightened(p.Abort.ErrDelta > most.ErrDelta, p.Abort.ErrDelta))
	line("", "over %v%s, from %d requests on%s", b.Window, tightened(p.Abort.Window > most.Window, p.Abort.Window),
		b.MinSamples, tightened(p.Abort.MinSamples > most.MinSamples, p.Abort.MinSamples))
	line("", "caps of the programs: %g times%s, %s more, %v, %d requests", most.P99Ratio, orAbove(most.P99), most.ErrDelta, most.Window, most.MinSamples)
	line("", "at its end, when %v are spent, when its source is silent three times,", l.Total)
	line("", "when another plan or one that is not valid comes, and by otelprof plan stop")
	for i, text := range e.Warnings {
		line(titled(i, "warnings"), "%s", text)
	}
	return lines
}

// fit returns how many experiments fit.
func (e Explanation) fit() string {
	t := e.Plan.Timing
	if e.Plan.ByClock() {
		return fmt.Sprintf("%d fit: each in an epoch of %v, and in others all processes rest", e.Most, t.Epoch)
	}
	return fmt.Sprintf("%d to %d fit: each takes %v to %v and %v between two", e.Least, e.Most, t.Experiment, t.MaxExperiment, t.Cooloff)
}

// Cost is what the plan delays at most, in one line.
func (e Explanation) Cost() string {
	cost := fmt.Sprintf("delays at most %v in total within %v, in each process", e.Limits.Total, round(time.Duration(e.LastsNs)))
	if loss := e.Plan.Loss(e.Limits.Duty, 1); loss > 0 {
		cost += fmt.Sprintf(", and takes at most %.2g %% of the throughput in the mean", 100*loss)
	}
	return cost
}

// Write prints the lines as a table.
func (e Explanation) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range e.Lines() {
		fmt.Fprintf(t, "%s\t%s\n", l.Title, l.Text)
	}
	return t.Flush()
}

func titled(i int, title string) string {
	if i > 0 {
		return ""
	}
	return title
}

func said(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func (e Explanation) who() string {
	t := e.Plan.Target
	who := "every process that reads it"
	if t.Service != "" {
		who = "service " + t.Service
	}
	if t.Env != "" {
		who += " in environment " + t.Env
	}
	if share := t.Instances.Percent; share > 0 && share < 100 {
		return fmt.Sprintf("%g%% of the instances of %s, chosen by the plan's id", share, who)
	}
	return who
}

func regionText(r plan.RegionPattern) string {
	in := said(" of scope ", r.Scope)
	if r.Auto > 0 {
		return fmt.Sprintf("the %d regions%s with the most self time that no other entry selects", r.Auto, in)
	}
	return fmt.Sprintf("spans %s%s", r.Span, in)
}

func progressText(r plan.ProgressPoint) string {
	if r.Type != plan.TypeLatency {
		return "how often spans " + r.Span + " end"
	}
	quantiles := r.Quantiles
	if len(quantiles) == 0 {
		quantiles = []float64{50, 90, 99}
	}
	return fmt.Sprintf("how long spans %s take, at the percentiles %s", r.Span, joined(quantiles, "%g"))
}

func (e Explanation) how() string {
	switch e.Plan.Mode {
	case profile.ModeSlowdown:
		return "slowdown: callers of one region's spans are held for 10 % and for 30 % of its own time, or less where a limit asks for it"
	case profile.ModeDilation:
		return fmt.Sprintf("dilation: all spans but those of one region are made longer by up to %g%% of their self time", e.StretchPercent)
	}
	return "overlap: while a region's span is open all others are delayed by what it would save"
}

func (e Explanation) from() string {
	if e.Begins.Equal(e.now) {
		return "now"
	}
	return e.Begins.UTC().Format(time.RFC3339)
}

// spentAfter is how long it takes to spend everything at the full rate of one processor. A second's
// worth may be spent at once.
func (e Explanation) spentAfter() time.Duration {
	return round(time.Duration(max(0, float64(e.Limits.Total)/float64(e.Limits.Duty)-float64(time.Second))))
}

func perSecond(duty plan.Percent) time.Duration {
	return time.Duration(float64(duty) * float64(time.Second))
}

func tightened(is bool, asked any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(" (the plan asks for %v: the cap counts)", asked)
}

func orAbove(p99 plan.Duration) string {
	if p99 == 0 {
		return ""
	}
	return fmt.Sprintf(" or above %v", p99)
}

func joined(values []float64, format string) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprintf(format, v))
	}
	return strings.Join(texts, ", ")
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
