// Package runtimemode is the home of runtime mode, in which programs that were built by "otelprof
// build" have a scheduler that takes part in experiments. It has no code of its own:
//
//   - overlay rewrites Go's runtime and sync for the go command's flag -overlay, and adds the files
//     of overlay/_runtime, overlay/_sync and overlay/_internal: the scheduler's half.
//   - sched is what the rest of otelprof calls: the program's half, linked to overlay/_runtime by
//     name. In other programs its functions do nothing, see sched.Present.
//
// Outside are the callers of the two: the commands build, run, test and install
// (cmd/otelprof/build.go); experiments of mode overlap (causal/internal/engine/runtime.go for the
// run, runtime_span.go beside it for spans); times of spans (spans/schedule/schedtimes); the slots
// that spans reserve for those (spans/slot_runtime.go, spans/slot_other.go).
//
// docs/runtime.md describes what a user sees, docs/design/0006-runtime-mode.md what is changed in
// Go's runtime and why.
package runtimemode
