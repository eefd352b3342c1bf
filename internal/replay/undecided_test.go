package replay

import (
	"fmt"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestUndecided: clients that ask again after a while do what the trace has one side of; a server
// that collects until its timer does not.
func TestUndecided(t *testing.T) {
	impatient := func(t *testing.T) *trace.Recording {
		p := &stockProgram{}
		return p.recorded(t, func() {
			side(3, func(int) {
				for n := range 60 {
					answer := make(chan int, 1)
					go func() {
						p.span("answer", time.Duration(1+n%2*8)*time.Millisecond)
						answer <- n
					}()
					select {
					case <-answer:
					case <-time.After(4 * time.Millisecond):
						p.span("give up", time.Millisecond)
					}
					mark.LogProgress("done")
				}
			})
		})
	}
	collected := func(t *testing.T) *trace.Recording {
		p := &stockProgram{}
		return p.recorded(t, func() {
			jobs, over := make(chan int), make(chan int)
			go func() {
				for {
					select {
					case <-jobs:
					case <-time.After(2 * time.Millisecond):
						p.span("flush", time.Millisecond)
					case <-over:
						return
					}
				}
			}()
			side(2, func(int) {
				for range 60 {
					p.span("work", 3*time.Millisecond)
					jobs <- 1
					mark.LogProgress("done")
				}
			})
			close(over)
		})
	}
	for _, tt := range []struct {
		name   string
		record func(*testing.T) *trace.Recording
		want   bool
	}{{"clients", impatient, true}, {"a server", collected, false}} {
		tried(t, func() error {
			p := infer.NewProgram(tt.record(t), true)
			if got := doubt.Undecided(p)["done"]; (got > doubt.MaxUndecided) != tt.want {
				return fmt.Errorf("%s: undecided for %.2f of the time, want more than %g: %t", tt.name, got, doubt.MaxUndecided, tt.want)
			}
			return nil
		})
	}
}
