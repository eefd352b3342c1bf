//go:build unix

// Command timed measures what it costs that the scheduler keeps account of spans, for the figures
// runtime_times of command peers, which builds it by otelprof build. It prints one line, the
// nanoseconds of processor time that an operation takes.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
)

// operations do something n times, on one processor, in spans of a provider that times them or does
// not.
var operations = map[string]func(tr trace.Tracer, n int){
	"span":     span,
	"pingpong": pingPong,
}

func main() {
	runtime.GOMAXPROCS(1)
	n, err := strconv.Atoi(os.Args[3])
	operation := operations[os.Args[2]]
	if err != nil || operation == nil {
		fmt.Fprintf(os.Stderr, "timed: %q: must be timed or plain, an operation and a number\n", os.Args[1:])
		os.Exit(2)
	}
	tr, err := tracer(os.Args[1] == "timed")
	if err != nil {
		fmt.Fprintln(os.Stderr, "timed:", err)
		os.Exit(1)
	}
	operation(tr, n/10) // warm
	before := cpuTime()
	operation(tr, n)
	fmt.Println(float64(cpuTime()-before) / float64(n))
}

// tracer is without sessions, which cost what varies.
func tracer(timed bool) (trace.Tracer, error) {
	opts := []spans.Option{spans.WithSessionFilter(func(context.Context, string) bool { return false })}
	if timed {
		hook, err := schedtimes.NewHook()
		if err != nil {
			return nil, err
		}
		opts = append(opts, spans.WithHook(hook))
	}
	return spans.WrapTracerProvider(sdktrace.NewTracerProvider(), opts...).Tracer("timed"), nil
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no way to fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// span starts and ends one.
func span(tr trace.Tracer, n int) {
	for range n {
		_, s := tr.Start(context.Background(), "span")
		s.End()
	}
}

// pingPong hands a value over to another goroutine and back, within one span of each.
func pingPong(tr trace.Tracer, n int) {
	to, from := make(chan int), make(chan int)
	go func() {
		_, s := tr.Start(context.Background(), "pong")
		defer s.End()
		for range n {
			<-to
			from <- 1
		}
	}()
	_, s := tr.Start(context.Background(), "ping")
	defer s.End()
	for range n {
		to <- 1
		<-from
	}
}
