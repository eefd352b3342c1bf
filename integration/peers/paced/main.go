//go:build unix

// Command paced answers requests of 31 spans at times of their own, for figures of command peers:
// what otelprof does in the background is measured beside the same service without. It prints one
// line: requests, seconds, seconds of the processors, the 99th percentile of what requests took,
// and the most memory that the process had.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/otelhdr"
)

const (
	perSecond = 800 // requests
	parts     = 30  // spans of a request besides its own
	work      = 10 * time.Microsecond
	recording = time.Second
	looking   = 2 * time.Second // as a page does
	ending    = 10 * time.Second
)

// asked is what a page on the screen asks for.
var asked = []string{"/api/v1/regions", "/api/v1/sessions", "/api/v1/causal/plan", "/api/v1/causal/profile"}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "paced:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("paced", flag.ContinueOnError)
	side := flags.String("side", "all", "all, quiet: without recordings and page, or sdk: the OpenTelemetry SDK alone")
	length := flags.Duration("for", time.Minute, "run this long")
	look := flags.Bool("look", false, "ask for what an open page asks for")
	record := flags.Bool("record", false, "record again and again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	prof, tracer, err := open(*side)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), *length)
	defer cancel()
	var beside sync.WaitGroup
	if prof != nil {
		defer func() {
			last, cancel := context.WithTimeout(context.Background(), ending)
			defer cancel()
			err = errors.Join(err, prof.Shutdown(last))
		}()
		if *look {
			beside.Go(func() { lookAt(ctx, prof.ViewerURL()) })
		}
		if *record {
			beside.Go(func() { recordAgain(ctx, prof.Causal()) })
		}
	}
	began, before, err := processorTime()
	if err != nil {
		return err
	}
	taken, err := serve(ctx, tracer)
	if err != nil {
		return err
	}
	ended, after, err := processorTime()
	beside.Wait()
	_, failed := fmt.Fprintf(stdout, "requests=%d seconds=%.3f cpu_seconds=%.4f p99_us=%.1f peak_kib=%d\n",
		taken.Count(), ended.Sub(began).Seconds(), (after - before).Seconds(), float64(taken.Percentile(99))/1e3, mostMemory())
	return errors.Join(err, failed)
}

// open returns the profiler of a side, nil where there is none.
func open(side string) (prof *otelprof.Profiler, tracer trace.Tracer, err error) {
	options := []otelprof.Option{otelprof.WithServiceName("paced"), otelprof.WithoutGlobals()}
	switch side {
	case "sdk":
		return nil, sdktrace.NewTracerProvider().Tracer("paced"), nil
	case "quiet":
		options = append(options, otelprof.WithoutReplay())
	case "all":
		options = append(options, otelprof.WithViewer("127.0.0.1:0"))
	default:
		return nil, nil, fmt.Errorf("-side %q: must be all, quiet or sdk", side)
	}
	if prof, err = otelprof.Setup(context.Background(), options...); err != nil {
		return nil, nil, err
	}
	return prof, prof.TracerProvider().Tracer("paced"), nil
}

// serve answers requests, each when it is due, until ctx ends, and returns what they took since
// then.
func serve(ctx context.Context, tracer trace.Tracer) (*otelhdr.Snapshot, error) {
	taken, err := otelhdr.NewConcurrent()
	if err != nil {
		return nil, err
	}
	var answers sync.WaitGroup
	for due := time.Now(); ctx.Err() == nil; {
		due = due.Add(time.Second / perSecond)
		time.Sleep(time.Until(due))
		answers.Go(func() {
			answer(tracer)
			taken.Record(uint64(time.Since(due)))
		})
	}
	answers.Wait()
	return taken.Snapshot(nil), nil
}

var names = [15]string{"parse", "authorize", "validate", "route", "look up", "price", "discount", "reserve", "tax", "ship", "render", "encode", "sign", "audit", "reply"}

func answer(tracer trace.Tracer) {
	ctx, request := tracer.Start(context.Background(), "request")
	defer request.End()
	for i := range parts {
		_, span := tracer.Start(ctx, names[i%len(names)])
		for began := time.Now(); time.Since(began) < work; { //nolint:revive // It computes.
		}
		span.End()
	}
}

// lookAt asks for what a page asks for, as often.
func lookAt(ctx context.Context, viewer string) {
	for tick := time.Tick(looking); ; {
		for _, path := range asked {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, viewer+path, nil)
			if err != nil {
				return // the address is the viewer's
			}
			if answer, err := http.DefaultClient.Do(request); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// recordAgain records, and analyses, one time after the other.
func recordAgain(ctx context.Context, c *causal.Controller) {
	for ctx.Err() == nil {
		if err := c.Record(ctx, recording); err != nil && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond) // another one goes on
		}
	}
}

func processorTime() (at time.Time, used time.Duration, err error) {
	user, system, err := perf.ProcessCPU()
	return time.Now(), user + system, err
}

// mostMemory is the largest resident set so far, KiB; 0 where the system does not keep it.
func mostMemory() (kib int) {
	status, _ := os.ReadFile("/proc/self/status") // without it there is no figure
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib
		}
	}
	return 0
}
