package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime/trace"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil/heapuse"
)

const (
	// hypotheses are all that is asked of each window: speed-ups of each of the service's regions.
	hypotheses = 64
	// requestsPerArm take a million events where an arm takes 100 ms.
	requestsPerArm = 160
)

// runAnalysis writes what it takes to read a trace of a million events, and to simulate it with 64
// changes.
func runAnalysis(w io.Writer, match *regexp.Regexp, rounds int, arm time.Duration) error {
	const name = "replay_analysis"
	if !match.MatchString(name) {
		return nil
	}
	text, err := recordParts(max(100, int(requestsPerArm*arm/time.Millisecond)))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var seconds []float64 // for a million events
	var events, asked int
	for range min(rounds, 5) {
		began, err := readClocks()
		if err != nil {
			return err
		}
		if events, asked, err = analyse(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ended, err := readClocks()
		if err != nil {
			return err
		}
		seconds = append(seconds, (ended.cpu-began.cpu).Seconds()/float64(events)*1e6)
	}
	most := heapuse.Peak(10, func() { _, _, err = analyse(text) })
	if err != nil {
		return err
	}
	mib := float64(most) / (1 << 20) / float64(events) * 1e6
	holds := yes(quantile(seconds, 0.5) <= 1 && mib <= 48 && asked >= hypotheses)
	_, err = fmt.Fprintf(w, "ratio %s seconds=%.2f seconds_lo=%.2f seconds_hi=%.2f mib=%.0f events=%d hypotheses=%d bytes=%d rounds=%d clock=cpu target=seconds<=1,mib<=48 holds=%s\n",
		name, quantile(seconds, 0.5), quantile(seconds, 0.25), quantile(seconds, 0.75), mib, events, asked, len(text), len(seconds), holds)
	return err
}

// analyse does with a trace what package causal does with a recording, and leaves no question to
// later ones.
func analyse(text []byte) (events, asked int, err error) {
	rec, err := replaytrace.Read(bytes.NewReader(text))
	if err != nil {
		return 0, 0, err
	}
	study, err := replay.NewStudy(replay.StudyConfig{Speedups: []float64{0.25, 0.5, 0.75, 0.95}, Steps: math.MaxInt})
	if err != nil {
		return 0, 0, err
	}
	for window := range rec.Windows(replay.Parts(rec)) {
		if err := study.Add(context.Background(), window); err != nil {
			return 0, 0, err
		}
	}
	type change struct {
		region  replaytrace.Region
		speedup float64
	}
	all := map[change]bool{}
	for _, a := range study.Result().Answers {
		all[change{a.Region, a.Speedup}] = true
	}
	return rec.Traced, len(all), nil
}

// parts are the regions of a request besides that of the request itself, each of some 6 µs.
var parts = [15]string{"parse", "authorize", "validate", "route", "look up", "price", "discount", "reserve", "tax", "ship", "render", "encode", "sign", "audit", "reply"}

// recordParts returns the execution trace of a service that answers requests: eight clients that
// ask again at once, and four workers that compute some 100 µs in 16 regions, one of them under a
// lock.
func recordParts(requests int) (text []byte, err error) {
	side, _ := controlled("otelprof-replay-analysis")
	defer func() { err = errors.Join(err, side.close()) }()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		return nil, err
	}
	defer mark.Want()()
	type request struct {
		ctx    context.Context //nolint:containedctx // It travels with the request.
		answer causal.Chan[bool]
	}
	queue := causal.NewChan[request](2)
	var lock causal.Mutex
	steps := stepsOf(requestWork / (1 + time.Duration(len(parts))))
	part := func(ctx context.Context, name string) {
		_, span := side.tracer.Start(ctx, name)
		if name == "reserve" {
			lock.Lock()
			defer lock.Unlock()
		}
		burnt.Add(burn(steps))
		span.End()
	}
	var asking, working sync.WaitGroup
	for range 4 {
		working.Go(func() {
			for {
				r, ok := queue.Receive()
				if !ok {
					return
				}
				for _, name := range parts {
					part(r.ctx, name)
				}
				r.answer.Send(true)
			}
		})
	}
	for range clients {
		asking.Go(func() {
			answer := causal.NewChan[bool](0)
			for range requests / clients {
				ctx, span := side.tracer.Start(context.Background(), "request")
				queue.Send(request{ctx, answer})
				burnt.Add(burn(steps))
				answer.Receive()
				span.End()
				causal.Progress(ctx, "answered")
			}
		})
	}
	asking.Wait()
	queue.Close()
	working.Wait()
	trace.Stop()
	return b.Bytes(), nil
}
