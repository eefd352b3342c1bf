package replay

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
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
