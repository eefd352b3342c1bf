package beside

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/pprof"
	"runtime/trace"
	"time"

	"github.com/otelprof/otelprof/spans"
)

// Trace runs the program for a while and writes an execution trace of that to a file, for otelprof
// whatif. A CPU profile is on meanwhile, so that its samples stand in the trace, and otelprof can
// ask about functions.
func (p Program) Trace(ctx context.Context, file string, length time.Duration, optimized bool) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	if err := trace.Start(f); err != nil {
		return err
	}
	defer trace.Stop()
	tp := spans.WrapTracerProvider(nil, spans.WithMarks())
	limited, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	p.Run(limited, tp.Tracer(p.Name), optimized)
	return errors.Join(ctx.Err(), tp.Shutdown(context.WithoutCancel(ctx)))
}
