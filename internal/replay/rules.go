package replay

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Each inference is a rule with a name and one sentence of what it takes for granted. make ablation
// leaves out one rule after the other, by [StudyConfig.Without], and reports what answers lose on a
// corpus of recordings: a rule without which they are as good is one too many. A new rule of this
// package goes into a table here, or in bounds.go; where it is not a function of its own, it has a
// name below and asks [trace.Recording.Uses]. TestRules holds that names are unique, and known
// here.

// A doubtable is a window, and the program that answers for it.
type doubtable struct {
	w *window
	p *model.Program
}

// doubts speak against the answers of a window, and leave bounds. Each notes its part of the time,
// or progress points, in the window; judge (doubts.go) decides whether that matters.
// What the state of the program decides (a refused offer, a back-off, a batch's size) is what a
// recording cannot show, since the faster program comes to other states (Goldschmidt and Hennessy,
// The accuracy of trace-driven simulations of multiprocessors, SIGMETRICS 1993).
var doubts = []trace.Rule[func(doubtable)]{
	{Name: "offers", Doc: "offers are refused by what others do meanwhile", Find: func(x doubtable) { x.w.refused = doubt.Refused(x.p) }},
	{Name: "load_balancing", Doc: "clients choose among servers by their load", Find: func(x doubtable) { x.w.balanced = doubt.Balanced(x.p) }},
	{Name: "chosen_by_load", Doc: "goroutines choose what they do by how much of it is under way", Find: func(x doubtable) { x.w.chosen = doubt.ChosenByLoad(x.p) }},
	{Name: "timers_of_unknown_origin", Doc: "goroutines wait for what timers call that others have set", Find: func(x doubtable) { x.w.uncalled = cond.ByPoint(x.p, x.p.UncalledFor) }},
	{Name: "pauses", Doc: "requests are longer by pauses", Find: func(x doubtable) { x.w.paused = doubt.Pauses(x.p) }},
}

// Rules that stand alone, steps of analyze and vary.
const (
	ruleHidden      = "hidden_operations"
	ruleAllButOne   = "all_but_one"
	ruleClients     = "clients"
	ruleOccasional  = "occasional_work"
	ruleBatchCost   = "batch_cost"
	ruleUndisturbed = "undisturbed"
	ruleWakeup      = "wakeup_latency"
	ruleOthers      = "other_programs"
)

// Rules returns the names of all rules, of this package and the ones below it: first the rules of
// translation, then the doubts, the alternatives, and the steps above.
func Rules() []trace.RuleName {
	return slices.Concat(infer.Rules(), hidden.Rules(), trace.Named(doubts), trace.Named(otherWorlds), trace.Named(unruledWorlds), []trace.RuleName{
		{Name: ruleHidden, Doc: "operations that the trace does not show are those of other rounds"},
		{Name: ruleAllButOne, Doc: "a lock or channel with which the replay misses the recording keeps its order"},
		{Name: ruleClients, Doc: "clients of another process share connections"},
		{Name: ruleOccasional, Doc: "work that only some rounds have is done per visit or per time"},
		{Name: ruleBatchCost, Doc: "larger batches take longer, or not"},
		{Name: ruleUndisturbed, Doc: "other programs leave the processors alone"},
		{Name: ruleWakeup, Doc: "processors that are woken come back sooner or later"},
		{Name: ruleOthers, Doc: "other programs take other processor time"},
	})
}
