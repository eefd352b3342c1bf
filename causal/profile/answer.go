package profile

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/stats"
)

// likelySpeedup is what work on a region may reach: regions are compared there, if it was asked
// about.
const likelySpeedup = 0.25

// WriteAnswer writes the answer for one progress point as text: in three lines what helps
// most, by how much with its interval, and what that rests on, in recordings also how work comes,
// and then one table of the time between visits and one of latencies, of three regions that change
// one, the best region first. In an open loop, in which throughput cannot change, the lines are
// about the median latency. With progress "" it takes the progress point with the most visits in
// recordings, else the first one; a name without curves is an error that wraps [ErrInvalid].
// Percentages have standard errors behind ± and 95 % intervals in parentheses.
func (p Profile) WriteAnswer(w io.Writer, progress string) error {
	a, err := p.answerAt(progress)
	if err != nil {
		return err
	}
	out := &strings.Builder{}
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "what helps most\t%s\n", a.most())
	_, _ = fmt.Fprintf(t, "by how much\t%s\n", a.howMuch())
	if worth := a.worth(); worth != "" {
		_, _ = fmt.Fprintf(t, "what a ms is worth\t%s\n", worth)
	}
	_, _ = fmt.Fprintf(t, "what it rests on\t%s\n", a.restsOn())
	if loop := loopSentence(p.loopAt(a.progress)); loop != "" {
		_, _ = fmt.Fprintf(t, "how work comes\t%s\n", loop)
	}
	_ = t.Flush() // a Builder takes everything
	a.table(out)
	a.latencies(out)
	a.changes(out)
	for _, note := range a.notes() {
		_, _ = fmt.Fprintln(out, "note:", naming.OneLine(note))
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// An answerAt is the answer for one progress point.
type answerAt struct {
	p        *Profile
	progress string
	metric   Metric  // throughput, or in an open loop the median latency, if that is known
	curves   []Curve // the best first; of a region that of the mode to believe first, of those that tell the most
	regions  []Curve // the curves with a number, but for the progress point's own spans
	rows     []Curve // those of all modes that have a number
}

func (p *Profile) answerAt(progress string) (answerAt, error) {
	points := distinct(p.Curves, func(c Curve) []string { return []string{c.Progress} })
	switch {
	case progress == "" && len(points) > 0:
		progress = p.busiestProgress(points)
	case progress != "" && len(points) == 0:
		return answerAt{}, fmt.Errorf("%w: progress point %q: must have been visited often enough for an answer: no progress point has", ErrInvalid, progress)
	case progress != "" && !slices.Contains(points, progress):
		return answerAt{}, fmt.Errorf("%w: progress point %q: must be one of %q", ErrInvalid, progress, points)
	}
	a := answerAt{p: p, progress: progress, metric: MetricThroughput}
	if p.loopAt(progress) == loopOpen && p.hasLatency(progress) {
		a.metric = MetricLatencyP50
	}
	of := slices.DeleteFunc(slices.Clone(p.Curves), func(c Curve) bool { return c.Progress != progress || c.metric() != a.metric })
	for _, same := range grouped(of, Curve.question) {
		a.curves = append(a.curves, slices.MaxFunc(same, func(x, y Curve) int { return cmp.Compare(x.certainty(), y.certainty()) }))
	}
	rank := func(c Curve) float64 {
		switch {
		case !c.answered():
			return -2
		case c.ofItself(): // all work is in its own spans, so that it helps by definition
			return -1.5
		}
		return max(c.strength(), -1)
	}
	slices.SortStableFunc(a.curves, func(x, y Curve) int { return cmp.Compare(rank(y), rank(x)) })
	a.regions = slices.DeleteFunc(slices.Clone(a.curves), func(c Curve) bool { return c.ofItself() || !c.answered() })
	for _, best := range a.curves {
		for _, c := range p.Curves {
			if c.question() == best.question() && c.answered() {
				a.rows = append(a.rows, c)
			}
		}
	}
	return a, nil
}

// certainty orders the modes' answers to one question: an experiment that has decided nothing so
// far does not hide what recordings say, and bounds not the number within them that both allow.
func (c Curve) certainty() int {
	switch c.Verdict {
	case VerdictWithheld:
		return 0
	case VerdictUnclear:
		return 1
	}
	if c.evidence() == EvidenceConfirmed {
		return 3
	}
	return 2
}

// busiestProgress returns the progress point to tell about where none is named: one with numbers
// before others, in an open loop one with latencies, one that the program counts itself before
// spans, and then that with the most visits in recordings.
func (p *Profile) busiestProgress(points []string) string {
	spans, known := map[string]bool{}, map[string]bool{}
	for _, c := range p.Curves {
		spans[c.Region.Name] = true
		known[c.Progress] = known[c.Progress] || c.answered()
	}
	visits := map[string]int{}
	if p.Recorded != nil {
		for _, r := range p.Recorded.Progress {
			visits[r.Progress] = r.Visits
		}
	}
	rank := func(point string) (n int) {
		if !known[point] {
			n += 2
		}
		switch open := p.loopAt(point) == loopOpen; {
		case open && !p.hasLatency(point): // which is the answer there
			n += 2
		case !open && spans[point]:
			n++
		}
		return n
	}
	return slices.MinFunc(points, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(visits[b], visits[a]))
	})
}

// hasLatency reports whether there are numbers of the median latency at a progress point.
func (p *Profile) hasLatency(progress string) bool {
	return slices.ContainsFunc(p.Curves, func(c Curve) bool {
		return c.Progress == progress && c.Metric == MetricLatencyP50 && c.answered()
	})
}

func (a answerAt) most() string {
	all := a.regions
	if len(all) == 0 {
		return "not known: " + a.whyNothing()
	}
	best, _ := all[0].likely()
	highest := best.Hi
	for _, c := range all {
		e, _ := c.likely()
		highest = max(highest, e.Hi)
	}
	switch {
	case highest < noEffect && slices.ContainsFunc(a.withheld(), func(c Curve) bool { return !c.ofItself() }):
		return "nothing so far: no region that has a number brings more than " + points(max(0, highest))
	case highest < noEffect:
		return "nothing: no region brings more than " + points(max(0, highest))
	case best.Lo <= 0 && all[0].Leads:
		return fmt.Sprintf("%s; how much is not clear yet", naming.OneLine(all[0].Region.Name))
	case best.Lo <= 0:
		return fmt.Sprintf("not clear yet: perhaps %s", naming.OneLine(all[0].Region.Name))
	}
	text := naming.OneLine(all[0].Region.Name)
	var rivals []string
	for _, c := range all[1:] {
		if e, _ := c.likely(); e.Hi > best.Lo && e.Reduction > 0 {
			rivals = append(rivals, naming.OneLine(c.Region.Name))
		}
	}
	const named = 3
	if n := len(rivals); n > named {
		rivals = append(rivals[:named], fmt.Sprintf("%d others", n-named))
	}
	if len(rivals) > 0 {
		text += ", by the numbers; as good may be " + strings.Join(rivals, ", ")
	}
	return text
}

// howMuch describes the best region at the speed-up by which regions are compared, and where its
// effect ends.
func (a answerAt) howMuch() string {
	if len(a.regions) == 0 {
		return "no number without a reason to believe it"
	}
	best := a.regions[0]
	if best.Mode == ModeSlowdown {
		return a.bounded(best)
	}
	e, _ := best.likely()
	if slowed, ok := a.slowed(best); ok && e.loose() { // what was measured is narrower
		return a.bounded(slowed)
	}
	less := fmt.Sprintf("%s less", points(e.Reduction))
	if e.loose() {
		less = fmt.Sprintf("between %s and %s less", points(e.Lo), points(e.Hi))
	}
	text := fmt.Sprintf("%.3g %% faster, %s %s", 100*e.Speedup, a.would(), less)
	if a.metric == MetricThroughput {
		text += " time each"
	}
	if e.loose() {
		return text + "; " + a.p.narrower()
	}
	text += fmt.Sprintf(" (%s to %s)", percentOf(e.Lo), points(e.Hi))
	if a.metric == MetricThroughput && e.Reduction > 0 && e.Hi < 1 {
		text += fmt.Sprintf(", throughput would rise by %s", points(stats.Gain(e.Reduction)))
	}
	if k := best.Knee; k > 0 {
		text += fmt.Sprintf("; beyond %.0f %% something else is the bottleneck", 100*k)
	}
	return text
}

// would is the beginning of a sentence about what would be.
func (a answerAt) would() string {
	if a.metric != MetricThroughput {
		return fmt.Sprintf("the median latency of %s would be", naming.OneLine(a.progress))
	}
	return naming.OneLine(a.progress) + " would take"
}

// bounded describes the answer of a slow-down: about how much near, and how much at most beyond.
func (a answerAt) bounded(c Curve) string {
	var parts []string
	what := a.would()
	effects := c.measured()
	for i, e := range effects {
		last := i == len(effects)-1
		switch {
		case e.loose() && e.Speedup <= Near && (last || effects[i+1].Speedup > Near):
			parts = append(parts, fmt.Sprintf("%.3g %% faster, %s between %s and %s less", 100*e.Speedup, what, points(e.Lo), points(e.Hi)))
		case e.Speedup <= Near && (last || effects[i+1].Speedup > Near):
			parts = append(parts, fmt.Sprintf("%.3g %% faster, %s %s less (%s to %s)", 100*e.Speedup, what, points(e.Reduction), percentOf(e.Lo), points(e.Hi)))
		case last:
			parts = append(parts, fmt.Sprintf("%.3g %% faster, %s at most %s less", 100*e.Speedup, what, points(max(0, e.Hi))))
		}
	}
	return strings.Join(parts, "; ")
}

// worth returns what each millisecond taken from the best region is worth, and what part of the
// time the regions do not explain, if its experiments were slow-downs.
func (a answerAt) worth() string {
	if len(a.regions) == 0 {
		return ""
	}
	slowed, ok := a.slowed(a.regions[0])
	if !ok {
		return ""
	}
	from := "the time for each " + naming.OneLine(a.progress)
	if a.metric != MetricThroughput {
		from = "the median latency of " + naming.OneLine(a.progress)
	}
	text := slowed.worth(from)
	if text == "" {
		return ""
	}
	if sum, stdErr, in, all := a.p.explained(a.progress); in > 0 && a.metric == MetricThroughput {
		which := "regions examined"
		if in < all {
			which += fmt.Sprintf(" whose slopes are known, %d of %d", in, all)
		}
		text += fmt.Sprintf("; %.0f %% (±%.0f) of that time is of none of the %s", 100*max(0, 1-sum), 100*stdErr, which)
	}
	return text
}

// slowed is what slow-downs measured of the same question, if they did.
func (a answerAt) slowed(c Curve) (Curve, bool) {
	i := slices.IndexFunc(a.p.Curves, func(x Curve) bool {
		return x.Mode == ModeSlowdown && x.question() == c.question() && x.answered()
	})
	if i < 0 {
		return Curve{}, false
	}
	return a.p.Curves[i], true
}

// points writes a part in percent.
func points(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func percentOf(x float64) string { return fmt.Sprintf("%.1f", 100*x) }

func (a answerAt) restsOn() string {
	mode, simulated := ModeReplay, "simulated; nothing was delayed"
	planned := fmt.Sprintf("%s of plan %s", naming.Count(a.p.Experiments, "experiment"), cmp.Or(naming.OneLine(a.p.PlanID), "unnamed"))
	if len(a.regions) > 0 {
		mode = a.regions[0].Mode
		if a.regions[0].evidence() == EvidenceConfirmed {
			simulated = "simulated, and confirmed by " + planned
		}
	}
	r := a.p.Recorded
	switch {
	case mode == ModeReplay && r != nil:
		var text strings.Builder
		fmt.Fprintf(&text, "%s of %v together, %s", naming.Count(r.Windows, "recorded window"), r.Length.Round(100*time.Millisecond), simulated)
		for _, x := range r.Progress {
			if x.Progress == a.progress {
				fmt.Fprintf(&text, "; %s; %s", naming.Count(x.Visits, "visit"), x.check(r.Windows))
			}
		}
		return text.String()
	case mode.Delays():
		return fmt.Sprintf("%s, %v of delay inserted", planned, a.p.Delay.Round(time.Millisecond))
	}
	return "nothing"
}

// check returns how well the simulation of nothing changed meets so many windows.
func (x RecordedProgress) check(windows int) string {
	if missed := windows - x.Windows; missed > 0 {
		return fmt.Sprintf("nothing changed is off by more than 3 %% in %d of %s, by %s in the median", missed, naming.Count(windows, "window"), points(x.Deviation))
	}
	return fmt.Sprintf("nothing changed is met within %s", points(x.Deviation))
}

// withheld are the curves without a number.
func (a answerAt) withheld() []Curve {
	return slices.DeleteFunc(slices.Clone(a.curves), Curve.answered)
}

// whyNothing returns why there is no number of a region in which not all work is.
func (a answerAt) whyNothing() string {
	reasons := a.p.remarks()
	if withheld := a.withheld(); len(withheld) > 0 {
		reasons = []string{withheld[0].whyWithheld()}
	} else if len(a.curves) > 0 {
		reasons = []string{fmt.Sprintf("only spans of %s itself have a number, and all work is in them", a.progress)}
	}
	if len(reasons) == 0 {
		return "nothing was measured"
	}
	return naming.OneLine(reasons[0])
}

// table writes one line for each region and mode that has a number.
func (a answerAt) table(out *strings.Builder) {
	if len(a.rows) == 0 || a.metric != MetricThroughput {
		return
	}
	_, _ = fmt.Fprintf(out, "\nby how many %% the time for each %s%s shrinks if a region is faster by\n", naming.OneLine(a.progress), now(a.rows[0]))
	writeRows(out, "  region\tmode\tn\t", "", a.rows, func(c Curve) (before, after string) {
		return fmt.Sprintf("%s\t%s\t%d", naming.OneLine(c.Region.Name), c.Mode, c.samples()), ""
	})
}

// mostLatencies is how many regions a table of latencies has at most.
const mostLatencies = 3

// latencies writes what the quantiles of the progress point's latency would be, of the regions that
// change one of them, in the order of the other table.
func (a answerAt) latencies(out *strings.Builder) {
	var rows []Curve
	regions := 0
	for _, best := range a.rows {
		var quantiles []Curve
		changes := false
		for _, c := range a.p.Curves {
			if c.Progress == a.progress && c.Region == best.Region && c.Mode == best.Mode && c.metric() != MetricThroughput && c.answered() {
				quantiles = append(quantiles, c)
				changes = changes || slices.ContainsFunc(c.measured(), func(e Effect) bool { return e.Lo > 0 || e.Hi < 0 })
			}
		}
		if changes {
			rows = append(rows, quantiles...)
			regions++
		}
		if regions == mostLatencies {
			break
		}
	}
	if len(rows) == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "\nby how many %% the latency of %s shrinks if a region is faster by\n", naming.OneLine(a.progress))
	writeRows(out, "  region\tmode\tlatency\t", "", rows, func(c Curve) (before, after string) {
		return fmt.Sprintf("%s\t%s\t%s%s", naming.OneLine(c.Region.Name), c.Mode, strings.TrimPrefix(string(c.metric()), "latency_"), now(c)), ""
	})
}

// now writes the time between visits or the latency with nothing changed, if that is known.
func now(c Curve) string {
	if c.BasePeriod <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%v)", threeDigits(c.BasePeriod))
}

// samples is how many measurements the effect with the most has.
func (c Curve) samples() (n int) {
	for _, e := range c.Effects {
		n = max(n, e.Samples)
	}
	return n
}

// metric is the curve's; profiles of old have none where it is throughput.
func (c Curve) metric() Metric { return cmp.Or(c.Metric, MetricThroughput) }

// ofItself reports whether a curve is of the progress point's own spans, which a plan may name by a
// pattern: all work is in them.
func (c Curve) ofItself() bool {
	return c.Region.Name == c.Progress || c.Mode != ModeReplay && glob.Match(c.Progress, c.Region.Name)
}

// notes are those that are about this progress point: doubts, disagreement, and why regions have no
// number.
func (a answerAt) notes() []string {
	if len(a.curves) == 0 {
		return nil // the first line has it
	}
	q := *a.p
	q.Curves = a.rows
	notes := q.allNotes()
	if a.p.Recorded != nil {
		notes = append(notes, a.p.Recorded.conditions()...)
	}
	for _, same := range grouped(a.withheld(), Curve.whyWithheld) {
		var names []string
		for _, c := range same {
			names = append(names, c.Region.Name)
		}
		notes = append(notes, fmt.Sprintf("no number for %s: %s", strings.Join(names, ", "), same[0].whyWithheld()))
	}
	return notes
}
