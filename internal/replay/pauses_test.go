package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestPauses: what requests wait for in pauses is decided by time; what they sleep for each time,
// each n-th time, or within spans that not all of them have, is not.
func TestPauses(t *testing.T) {
	slow(t, "records programs for seconds")
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		request func(p *stockProgram, lock *sync.Mutex, n int)
		want    bool
	}{
		"deadlines": {func(p *stockProgram, _ *sync.Mutex, n int) {
			for late := true; late; n = rand.IntN(5) {
				ctx, cancel := context.WithTimeout(t.Context(), 4*ms)
				over := time.NewTimer(time.Duration(1+n%3*4) * ms)
				select {
				case <-over.C:
					late = false
				case <-ctx.Done():
				}
				cancel()
			}
		}, true},
		"answers that may be late": {func(p *stockProgram, _ *sync.Mutex, _ int) {
			answer, d := make(chan int, 1), time.Duration(1+rand.IntN(3)*4)*ms
			go func() {
				p.span("answer", d)
				answer <- 1
			}()
			select {
			case <-answer:
			case <-time.After(4 * ms):
				p.span("give up", ms)
			}
		}, true},
		"back-off": {func(p *stockProgram, lock *sync.Mutex, _ int) {
			for !lock.TryLock() {
				time.Sleep(ms)
			}
			p.span("inside", 2*ms)
			lock.Unlock()
		}, true},
		"of helpers": {func(p *stockProgram, lock *sync.Mutex, _ int) {
			side(2, func(int) {
				for !lock.TryLock() {
					time.Sleep(2 * ms)
				}
				p.span("inside", 2*ms)
				lock.Unlock()
			})
		}, true},
		"each time": {func(p *stockProgram, _ *sync.Mutex, _ int) {
			time.Sleep(ms)
			p.span("work", 2*ms)
		}, false},
		"seldom, but long": {func(p *stockProgram, _ *sync.Mutex, n int) {
			p.span("work", ms)
			if n == 3 || n == 17 { // of forty rounds, most of the time
				time.Sleep(40 * ms)
			}
		}, true},
		"each third time": {func(p *stockProgram, _ *sync.Mutex, n int) {
			if n%3 == 0 {
				time.Sleep(2 * ms)
			}
			p.span("work", 2*ms)
		}, false},
		"in spans": {func(p *stockProgram, _ *sync.Mutex, _ int) {
			if rand.IntN(3) == 0 {
				p.span("load", 3*ms)
			}
			p.span("work", 2*ms)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				var lock sync.Mutex
				rec := p.recorded(t, func() {
					side(3, func(int) {
						for n := range 40 {
							p.span("think", ms)
							tt.request(p, &lock, n)
							mark.LogProgress("done")
						}
					})
				})
				if got := doubt.Pauses(infer.NewProgram(rec, true))["done"].Part; (got > doubt.MaxUndecided) != tt.want {
					return fmt.Errorf("%.2f of the time for pauses, want more than %g: %t", got, doubt.MaxUndecided, tt.want)
				}
				return nil
			})
		})
	}
}

// TestMissedDeadlines has one of ten requests miss the deadline of its context, a small part of the
// time, but all of the longest latencies.
func TestMissedDeadlines(t *testing.T) {
	slow(t, "records a program for a second")
	const ms = time.Millisecond
	tried(t, func() error {
		p := &stockProgram{}
		rec := p.recorded(t, func() {
			side(3, func(i int) {
				random := rand.New(rand.NewPCG(1, uint64(i)))
				for range 60 {
					takes := 2 * ms
					if random.IntN(10) == 0 {
						takes = 20 * ms
					}
					ctx, cancel := context.WithTimeout(t.Context(), 6*ms)
					answer := make(chan int, 1)
					go func() {
						p.span("answer", takes)
						answer <- 1
					}()
					select {
					case <-answer:
					case <-ctx.Done():
					}
					cancel()
					mark.LogProgress("done")
				}
			})
		})
		if got := doubt.Pauses(infer.NewProgram(rec, true))["done"].Missed; got < 0.05 || got > 0.16 {
			return fmt.Errorf("%.2f of the requests miss a deadline, want one of ten", got)
		}
		return nil
	})
}

// TestMissedDeadlinesBound has 3 of 100 requests miss a deadline: the p99 is theirs, and the p90 is
// between the p87 and the p93 of what is simulated.
func TestMissedDeadlinesBound(t *testing.T) {
	w := &window{
		length: time.Second, effects: map[question]sample{}, harm: map[string]float64{},
		paused: map[string]doubt.Delay{"done": {Missed: 0.03}},
	}
	outcome := func(by int64) *sim.Outcome {
		d := make([]int64, 1111) // of which 111 are before the replay has settled
		for i := range d {
			d[i] = by * (1000 - int64(i*7%1000))
		}
		return &sim.Outcome{Visits: [][]int64{{1, 2}}, Durations: [][]int64{d}}
	}
	q := question{ask: ask{region: trace.Region{Name: "answer"}, speedup: 0.5}, point: "done"}
	w.sample(q, outcome(2), outcome(1), 0, int64(time.Second))
	whys := map[Metric]Withheld{}
	for _, m := range []Metric{Throughput, LatencyP50, LatencyP90, LatencyP99} {
		q.metric = m
		if why := w.doubt(q); why != WithheldNone {
			whys[m] = why
		}
	}
	if diff := cmp.Diff(map[Metric]Withheld{LatencyP99: WithheldPauses}, whys); diff != "" {
		t.Errorf("doubts (-want +got):\n%s", diff)
	}
	q.metric = LatencyP90
	x := w.effects[q]
	got := [3]string{fmt.Sprintf("%.2f", x.least), fmt.Sprintf("%.2f", x.reduction()), fmt.Sprintf("%.2f", x.most)}
	if diff := cmp.Diff([3]string{"0.48", "0.50", "0.52"}, got); diff != "" {
		t.Errorf("p90 (-want +got):\n%s", diff)
	}
}
