package causal

import (
	"context"
	"runtime/trace"

	"github.com/otelprof/otelprof/causal/internal/record"
)

// StartFlightRecorder starts a flight recorder of the program's own when no recording of this
// package is on. Go allows one in a process, and recordings use it, so that f.Start alone fails
// during one. It waits for the end of a recording, 3 s at most for those of [WithReplay] and
// [MaxWindow] for those on request, ends with ctx, and returns the error of f.Start or the cause of
// ctx. While f is on, nothing is recorded. A [schedule recorder] that is on keeps the process's
// flight recorder until its Shutdown.
//
// [schedule recorder]: https://pkg.go.dev/github.com/otelprof/otelprof/spans/schedule#Recorder
func StartFlightRecorder(ctx context.Context, f *trace.FlightRecorder) error {
	return record.Between(ctx, f.Start)
}
