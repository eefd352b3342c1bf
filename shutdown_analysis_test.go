package otelprof

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// An analysis that goes on keeps no Shutdown: it ends with it, and that is no error. With -long the
// median of several takes 50 ms at most until Record has returned.
func TestShutdownDuringAnAnalysis(t *testing.T) {
	rounds := thorough.Of(7, 1)
	var took []time.Duration
	for i := range rounds {
		took = append(took, shutdownDuringAnAnalysis(t, time.Duration(i)*50*time.Millisecond))
	}
	slices.Sort(took)
	median := took[rounds/2]
	t.Logf("Record returned %v after Shutdown was called, the median of %v", median, took)
	if *thorough.Rounds && median > 50*time.Millisecond {
		t.Errorf("Record returned %v after Shutdown was called, the median of %d, want 50ms at most", median, rounds)
	}
}

// shutdownDuringAnAnalysis returns how long Record goes on after Shutdown is called, so long after
// the analysis has begun.
func shutdownDuringAnAnalysis(t *testing.T, after time.Duration) time.Duration {
	t.Helper()
	p, _ := setup(t)
	over := make(chan struct{})
	var working sync.WaitGroup
	for range 16 {
		working.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(100 * time.Microsecond):
					spanOf(p, "work")
				}
			}
		})
	}
	type end struct {
		err error
		at  time.Time
	}
	recorded := make(chan end, 1)
	go func() {
		err := p.Causal().Record(context.Background(), time.Second)
		recorded <- end{err, time.Now()}
	}()
	analyses := testutil.Eventually(func() bool { return len(recorded) > 0 || p.Causal().Status().Recording.Phase == "analysing" })
	close(over)
	working.Wait()
	time.Sleep(after)
	start := time.Now()
	if err := p.Shutdown(within(t, time.Minute)); err != nil {
		t.Error(err)
	}
	ended := <-recorded
	switch {
	case errors.Is(ended.err, causal.ErrTraced):
		testutil.Lacks(t, "TRACE", ended.err.Error())
	case !analyses, !errors.Is(ended.err, causal.ErrRecording):
		t.Fatalf("Record = %v, want ErrRecording during an analysis", ended.err)
	}
	return ended.at.Sub(start)
}
