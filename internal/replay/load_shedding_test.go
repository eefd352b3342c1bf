package replay

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestRefused: goroutines that do something else where there is no room for their work, or give it
// up, are refused; if they do so for other reasons they are not, nor if they go on all the same.
func TestRefused(t *testing.T) {
	slow(t, "records programs for seconds")
	for name, tt := range map[string]struct {
		otherwise func(n int, room bool) bool
		waits     bool
		want      bool
	}{
		"no room":     {func(_ int, room bool) bool { return !room }, true, true},
		"given up":    {func(int, bool) bool { return false }, true, true},
		"each third":  {func(n int, _ bool) bool { return n%3 == 0 }, true, false},
		"handed over": {func(int, bool) bool { return false }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				rec := p.recorded(t, func() {
					jobs := make(chan chan int, 1)
					for range 2 {
						go func() {
							for job := range jobs {
								p.span("serve", time.Duration(1000+rand.IntN(2000))*time.Microsecond)
								job <- 1
							}
						}()
					}
					side(5, func(i int) {
						for n := range 60 {
							p.span("think", time.Duration(1000+rand.IntN(3000))*time.Microsecond)
							job := make(chan int, 1)
							room := false
							if !tt.otherwise(n+i, true) {
								select {
								case jobs <- job:
									room = true
								default:
								}
							}
							if tt.otherwise(n+i, room) {
								p.span("fallback", time.Millisecond)
							} else if room && tt.waits {
								<-job
							}
							mark.LogProgress("done")
						}
					})
					close(jobs)
				})
				if got := doubt.Refused(infer.NewProgram(rec, true))["done"]; got != tt.want {
					return fmt.Errorf("refused: %t, want %t", got, tt.want)
				}
				return nil
			})
		})
	}
}

// TestRefusedOffersWithMarks: with marks, who goes another way behind a refusal is refused; who
// waits for room then, or goes that way without an offer, is not.
func TestRefusedOffersWithMarks(t *testing.T) {
	const worker, client, jobs = 1, 2, 7
	for name, tt := range map[string]struct {
		refusal func(b *trace.Recorder, at int64)
		want    bool
	}{
		"another way": {func(b *trace.Recorder, at int64) {
			b.Operate(at, client, 'y', 0, 0)
			b.Open(at+1, client, uint64(at), 0, trace.Region{Name: "fallback"})
			b.Close(at+2, client, uint64(at))
		}, true},
		"no offer": {func(b *trace.Recorder, at int64) {
			b.Open(at+1, client, uint64(at), 0, trace.Region{Name: "fallback"})
			b.Close(at+2, client, uint64(at))
		}, false},
		"waits for room": {func(b *trace.Recorder, at int64) {
			b.Operate(at, client, 'y', 0, 0)
			b.Operate(at+1, client, 'Y', jobs, 0)
			b.Wait(at+2, client, trace.WaitSelect)
			b.Ready(at+3, client, worker)
			b.Start(at+4, client, 0)
			b.Operate(at+5, client, 'q', jobs, 1)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, 2)
			b.Running(0, worker)
			b.Running(0, client)
			for n := range int64(100) {
				at := 1 + n*ms
				b.Visit(at, client, "done")
				if n%3 > 0 {
					tt.refusal(b, at+10)
				} else {
					b.Operate(at+10, client, 'q', jobs, 1)
				}
				b.Operate(at+20, worker, 'r', jobs, 1)
			}
			if got := doubt.Refused(infer.NewProgram(recorded(t, b, 100*ms), true))["done"]; got != tt.want {
				t.Errorf("refused: %t, want %t", got, tt.want)
			}
		})
	}
}
