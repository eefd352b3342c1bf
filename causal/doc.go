// Package causal is a causal profiler, as Coz is: it answers what would happen if a span took less
// time, by experiments in the running program, and by recordings of it.
//
// A [plan.Plan] has the regions to examine, what counts as progress, when, and what it may cost
// at most. A [Controller] carries out one plan at a time, by its hook, given to spans.WithHook.
// What the plan's mode does to the program changes from window to window, in random order, and the
// times between visits of a progress point, or the durations of its spans, tell the effect: a
// [profile.Profile].
//
//   - Slow-down, the default, holds callers of the region's spans for a part of its own time. What
//     that costs is what it would bring to take as much away, where that is little, and bounds it
//     from above where it is much.
//   - Overlap is Coz's virtual speedup: all others are delayed by what the region would save.
//   - Dilation stretches all regions but one.
//
// Recordings, see [WithReplay], delay nothing: they are simulated with the region faster.
//
// Nothing is ever delayed unless the program opts in by [WithExperiments] and a plan is in
// force; see [Controller] for all that must hold.
//
// # Cost
//
// Without a plan, a few atomic loads for each span, and at each call of [Progress].
// With one, a few hundred nanoseconds for each span, besides the delays.
package causal
