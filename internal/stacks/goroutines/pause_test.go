package goroutines

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/testutil"
)

// TestNowStopsBriefly looks at many goroutines with deep stacks. One stop as long as a dump of all
// of them by the runtime takes, some 20 µs for each, would be seen: stops are compared with a tenth
// of that, so that a busy machine is none.
func TestNowStopsBriefly(t *testing.T) {
	const n, most = 5_000, 10 * time.Millisecond
	quit := make(chan struct{})
	var all, begun sync.WaitGroup
	begun.Add(n)
	for range n {
		all.Go(func() { deep(22, func() { begun.Done(); <-quit }) })
	}
	begun.Wait()
	defer all.Wait()
	defer close(quit)
	shortest := time.Duration(math.MaxInt64)
	for range 5 {
		shortest = min(shortest, testutil.LongestStop(t, func() {
			if d, err := Now(); err != nil || d.Count < n {
				t.Fatalf("%+v, %v; want %d goroutines", d, err, n)
			}
		}))
	}
	t.Logf("longest stop, the least of five looks: at most %v", shortest)
	if shortest > most {
		t.Errorf("stopped for %v, want at most %v", shortest, most)
	}
}

//go:noinline
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}
