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

// TestBatched: a writer that takes whatever has come, and takes longer where that is an odd number,
// has batches whose size time decides, and no rule for how long they take; one that waits for three
// has not, nor have those who are let go on one by one.
func TestBatched(t *testing.T) {
	slow(t, "records programs for seconds")
	for name, tt := range map[string]struct {
		more func(jobs <-chan chan int, batch, clients int) bool
		want bool
	}{
		"whatever there is": {func(jobs <-chan chan int, _, _ int) bool { return len(jobs) > 0 }, true},
		"three":             {func(_ <-chan chan int, batch, clients int) bool { return batch < min(3, clients) }, false},
		"one by one":        {func(<-chan chan int, int, int) bool { return false }, false},
	} {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				rec := p.recorded(t, func() {
					jobs := make(chan chan int, 8)
					go func() {
						for clients := 6; clients > 0; {
							var batch []chan int
							for len(batch) == 0 && clients > 0 || tt.more(jobs, len(batch), clients) {
								if job := <-jobs; job != nil {
									batch = append(batch, job)
								} else {
									clients--
								}
							}
							p.span("write", time.Duration(2+3*(len(batch)%2))*time.Millisecond)
							for _, job := range batch {
								close(job)
							}
						}
					}()
					side(6, func(int) {
						for range 40 {
							p.span("prepare", time.Duration(500+rand.IntN(5000))*time.Microsecond)
							job := make(chan int)
							jobs <- job
							<-job
							mark.LogProgress("done")
						}
						jobs <- nil // one client less
					})
				})
				if got := doubt.Batched(infer.NewProgram(rec, true))["done"]; got != tt.want {
					return fmt.Errorf("size decided by time: %t, want %t", got, tt.want)
				}
				return nil
			})
		})
	}
}
