package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

// exampleSpeedup is the speed-up that sentences about a curve quote, or the next above it.
const exampleSpeedup = 0.1

// narrower is how bounds that recordings give come nearer to each other: in a program built by go
// build, also by the other build.
func (p *Profile) narrower() string {
	if p.Recorded != nil && p.Recorded.Inferred {
		return "a slow-down (otelprof whatif -confirm) or a build by otelprof narrows this"
	}
	return "a slow-down (otelprof whatif -confirm) narrows this"
}

// sentence sums a curve up in words, with how its bounds come nearer to each other.
func (c Curve) sentence(narrower string) string {
	parts := []string{c.verdictInWords()}
	if c.Mode == ModeReplay && c.evidence() != EvidenceConfirmed && slices.ContainsFunc(c.measured(), Effect.loose) {
		parts = append(parts, narrower)
	}
	for _, m := range c.Disagrees {
		parts = append(parts, string(m)+" disagrees")
	}
	return strings.Join(parts, "; ")
}

// worth returns what a millisecond of the region is worth to the time from which it is taken, ""
// where no slow-down has measured it.
func (c Curve) worth(from string) string {
	leverage, stdErr, known := c.Leverage()
	if !known {
		return ""
	}
	return fmt.Sprintf("each ms taken from %s takes %.2g ms (±%.2g) from %s", naming.OneLine(c.Region.Name), leverage, stdErr, from)
}

func (c Curve) verdictInWords() string {
	effects := c.measured()
	if len(effects) == 0 {
		return "withheld: " + c.whyWithheld()
	}
	last := effects[len(effects)-1]
	example := last
	if i := slices.IndexFunc(effects, func(e Effect) bool { return e.Speedup >= exampleSpeedup-1e-9 }); i >= 0 {
		example = effects[i]
	}
	switch c.Verdict {
	case VerdictNone:
		return "no effect"
	case VerdictLittle:
		return "hardly any effect: " + example.gives()
	case VerdictMixed:
		certain := c.certain()
		return fmt.Sprintf("helps at some speed-ups, hurts at others: %s, %s", certain[0].gives(), certain[len(certain)-1].gives())
	case VerdictHurts:
		return "speeding this up hurts: " + example.gives()
	case VerdictHelps:
		if c.Knee > 0 {
			return fmt.Sprintf("helps until %.0f %%, then something else is the bottleneck: %s", 100*c.Knee, example.gives())
		}
		return "speeding this up helps: " + example.gives()
	}
	return fmt.Sprintf("not clear yet: %.3g %% faster gives %.1f to %.1f %%", 100*last.Speedup, 100*last.Lo, 100*last.Hi)
}

// gives is "10 % faster gives 9.9 %", or "25 % faster gives between 18.0 and 31.0 %".
func (e Effect) gives() string {
	if e.loose() {
		return fmt.Sprintf("%.3g %% faster gives between %.1f and %.1f %%", 100*e.Speedup, 100*e.Lo, 100*e.Hi)
	}
	return fmt.Sprintf("%.3g %% faster gives %.1f %%", 100*e.Speedup, 100*e.Reduction)
}

// whyWithheld returns the reasons why there is no number.
func (c Curve) whyWithheld() string {
	var reasons []string
	seen := map[string]bool{}
	for _, e := range c.Effects {
		if why := e.Withheld.String(); !seen[why] {
			seen[why] = true
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		return "nothing has been measured"
	}
	return strings.Join(reasons, "; ")
}

// String returns a sentence for people, without a stop at its end; "" for the zero Withheld.
func (w Withheld) String() string {
	text := cmp.Or(w.sentence(), w.Text)
	switch what := w.Measured.inWords(); {
	case text == "" && w.Code != "":
		return "no number"
	case what != "":
		return text + " (" + what + ")"
	}
	return text
}

// sentence is that of the code, "" if it has none.
func (w Withheld) sentence() string {
	switch w.Code {
	case withheldcode.Iterations:
		return fmt.Sprintf("%s measured, %d are needed", naming.Count(w.Count, "iteration"), w.Need)
	case withheldcode.StartedAs:
		return fmt.Sprintf("spans of the region are started as %q, as others are, and what they are is known when they end: name them at their start", w.Name)
	case withheldcode.NoSpans:
		return "the region did not run in the experiments"
	case withheldcode.FewSpans:
		return fmt.Sprintf("the region ended %s in %s, %d in each are needed: make them longer by timing.experiment", times(w.Count), naming.Count(w.Of, "experiment"), w.Need)
	case withheldcode.Elsewhere:
		return fmt.Sprintf("the region's spans took %v of %v, and saved the program %v: its spans were not where the experiment looked for them", w.Took.Round(time.Millisecond), w.Elapsed.Round(time.Millisecond), w.Saved.Round(time.Microsecond))
	case withheldcode.OtherPath:
		return fmt.Sprintf("the progress point was visited by another path: %.0f %% of its visits came from other spans than without delay", 100*w.Part)
	case withheldcode.CallsItself:
		return fmt.Sprintf("the process has called itself over connections, %s for %s of the progress point, and what is owed does not pass along those exactly: ask recordings, which need no plan (otelprof whatif, mode replay), or give what it calls a process of its own", times(w.Count), naming.Count(w.Of, "visit"))
	case withheldcode.WaitsBefore:
		return fmt.Sprintf("%d of %s from the network waited for a lock or another goroutine before their first spans began, and what they owed for the network is not paid before that: begin a span where the request is read", w.Count, naming.Count(w.Of, "request"))
	case withheldcode.UnknownWaits:
		return fmt.Sprintf("in the warm-up %.0f %% of the waiting was for goroutines whose locks and channels are not recorded, since they are Go's own: build with otelprof, or use causal.Mutex, causal.Chan and the like", 100*w.Part)
	case withheldcode.Saturated:
		return fmt.Sprintf("processors were short for %.0f %% of the time, and who waits for one is seen by no span: measure at less load, or build with otelprof build", 100*w.Part)
	case withheldcode.Throttled:
		return fmt.Sprintf("a quota (cpu.max of the cgroup) took %.0f %% of the processor time in the experiments: raise it, or lower GOMAXPROCS to it", 100*w.Part)
	case withheldcode.Stolen:
		return fmt.Sprintf("the host of the virtual machine took %.0f %% of the processor time in the experiments: measure where no others have its processors", 100*w.Part)
	case withheldcode.NotInserted:
		return fmt.Sprintf("only %.0f %% of the delays could be inserted: the rules that withheld them say which limit to raise", 100*w.Part)
	case withheldcode.Owed:
		return fmt.Sprintf("%.1f %% of the delays had not been inserted by the end, more than 1 %%: ask for smaller speed-ups, or raise limits.per_span", 100*w.Part)
	case withheldcode.Stretched:
		return fmt.Sprintf("stretching all spans by x makes the period %.1f x longer: they wait, for others or for processors, and their waits are stretched with them: wrap waits for others in causal.Blocked; where processors are short ask recordings (mode replay)", w.Part)
	case withheldcode.Unattributed:
		return fmt.Sprintf("it is not known what ended %.0f %% of the waiting: use causal.Mutex and the like, or causal.Blocked", 100*w.Part)
	case withheldcode.SelfCheck:
		return fmt.Sprintf("self-check failed: of %s made from arms without any delay, %d leave out 0: measure while the load is steady, or longer by timing.experiment", naming.Count(w.Of, "interval"), w.Count)
	case withheldcode.Bounds:
		return "its bounds are not among the metrics"
	}
	return w.sentenceOfReplay()
}

func (w Withheld) sentenceOfReplay() string {
	switch w.Code {
	case withheldcode.Windows:
		return fmt.Sprintf("%s measured, %d are needed", naming.Count(w.Count, "recorded window"), w.Need)
	case withheldcode.Deviation:
		if w.Of == 0 { // saved by an earlier version
			return fmt.Sprintf("simulated with nothing changed, the program is not within %.0f %% of what was recorded", 100*w.Part)
		}
		return fmt.Sprintf("simulated with nothing changed, %d of %s missed what was recorded by more than 3 %%, all by %.1f %% in the mean", w.Count, naming.Count(w.Of, "window"), 100*w.Part)
	case withheldcode.Stuck:
		return "simulated, the program came to where nothing could go on"
	case withheldcode.Visits:
		return "too few visits of the progress point in most recordings"
	case withheldcode.Slower:
		return "simulated with a region faster, the program became much slower: it is not known well enough what waits for what"
	case withheldcode.Contradicted:
		return "contradicted by slow-downs, which were measured in the program: the simulation lacks what decides here"
	case withheldcode.Starved:
		return "goroutines had no processor for more than a tenth of the time that they ran: other programs, a quota or the host of the virtual machine took it"
	case withheldcode.Choices:
		return "select statements or timeouts would end in ways of which the recordings have no example"
	case withheldcode.Pauses:
		return "some requests are longer by pauses, and whether there would be one is decided by time"
	case withheldcode.Offers:
		return "what others do meanwhile decides which way goroutines go: an offer or a request is refused (select with default, TryLock, a limit), or the least loaded server asked"
	}
	return ""
}

func (m Measured) inWords() string {
	var parts []string
	if m.Elapsed > 0 {
		parts = append(parts, fmt.Sprintf("%s of the progress point in %v", naming.Count(m.Visits, "visit"), m.Elapsed.Round(time.Millisecond)))
	}
	if m.Elapsed > 0 && m.Spans >= 0 {
		parts = append(parts, naming.Count(m.Spans, "span")+" of the region")
	}
	if m.Owed > 0 {
		parts = append(parts, fmt.Sprintf("%v of %v delay inserted", m.Inserted.Round(time.Microsecond), m.Owed.Round(time.Microsecond)))
	}
	if m.Rejected > 0 {
		parts = append(parts, naming.Count(m.Rejected, "experiment")+" thrown away")
	}
	return strings.Join(parts, ", ")
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
