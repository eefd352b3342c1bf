// Package causal is a causal profiler, as Coz is: it answers what would happen if a span took less
// time, by experiments in the running program.
//
// A [plan.Plan] says which regions to examine, what counts as progress, when, and what it may cost
// at most. A [Controller] carries out one plan at a time: its hook, given to spans.WithHook,
// makes every span longer in proportion to its self time but for the spans of one region,
// which is as if that region were faster in a system that is slower as a whole. Comparing the
// times between visits of a progress point gives the effect; repeating it over a grid of
// speed-ups gives a [profile.Profile].
//
// Nothing is ever delayed unless the program opts in by [WithExperiments] and a plan is in
// force; see [Controller] for all that must hold.
//
// # Cost
//
// Without a plan, one atomic load at the end of each span, and at each call of [Progress].
// With one, a few hundred nanoseconds for each span, besides the delays.
package causal
