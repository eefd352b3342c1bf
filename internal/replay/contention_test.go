package replay

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
)

// TestContention has clients wait for a place in a channel, which others have while they query, and
// for the answer of a server that does nothing until it is asked: the first is contention, by the
// query, and the second is not.
func TestContention(t *testing.T) {
	tried(t, func() error {
		p := &stockProgram{}
		rec := p.recorded(t, func() {
			places, asked := make(chan int, 1), make(chan chan int)
			go func() {
				for answer := range asked {
					p.span("serve", 2*time.Millisecond)
					answer <- 1
				}
			}()
			side(3, func(i int) {
				for range 40 {
					p.span("think", time.Duration(500+rand.IntN(1000))*time.Microsecond)
					places <- i
					p.span("query", time.Millisecond)
					<-places
				}
			})
			for range 40 {
				answer := make(chan int)
				asked <- answer
				<-answer
			}
			close(asked)
		})
		all := doubt.Contentions(rec)
		queries := 0
		for _, c := range all {
			for region, part := range c.By {
				switch name := rec.Regions[region].Name; {
				case name == "serve" && 2*part > c.Time:
					return fmt.Errorf("an answer is waited for: %+v", c)
				case name == "query" && 10*part > 8*c.Time:
					queries++
				}
			}
		}
		if queries != 1 {
			return fmt.Errorf("%d places where a query is waited for, want 1, of %d", queries, len(all))
		}
		return nil
	})
}

// TestChosenByLoad has requests refused while three are served, and by what they are.
func TestChosenByLoad(t *testing.T) {
	for name, tt := range map[string]struct {
		serves func(n int, under int64) bool
		want   bool
	}{
		"a limit":    {func(_ int, under int64) bool { return under < 3 }, true},
		"each third": {func(n int, _ int64) bool { return n%3 > 0 }, false},
		"in turns":   {func(n int, _ int64) bool { return n%2 > 0 }, false},
		"all":        {func(int, int64) bool { return true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				rec := p.recorded(t, func() {
					var under atomic.Int64
					var served sync.WaitGroup
					for n := range 300 {
						time.Sleep(time.Duration(200+rand.IntN(800)) * time.Microsecond)
						if !tt.serves(n, under.Load()) {
							if name == "in turns" { // so that the number goes with the turn
								mark.LogProgress("skipped")
								served.Wait()
							}
							continue
						}
						under.Add(1)
						served.Go(func() {
							p.span("serve", time.Duration(1000+rand.IntN(2000))*time.Microsecond)
							under.Add(-1)
							mark.LogProgress("done")
						})
					}
					served.Wait()
				})
				if got := doubt.ChosenByLoad(infer.NewProgram(rec, true)); got != tt.want {
					return fmt.Errorf("chosen by load: %t, want %t", got, tt.want)
				}
				return nil
			})
		})
	}
}
