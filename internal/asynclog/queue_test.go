package asynclog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/asynclog"
)

func TestTeller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		tl := asynclog.NewQueue(2, func(n int) { time.Sleep(time.Second); got = append(got, n) })
		tl.Wait(t.Context()) // nothing to wait for
		began := time.Now()
		if !tl.Put(1) {
			t.Error("no room for the first message")
		}
		synctest.Wait() // the first message is under way
		for n, want := range []bool{true, true, false} {
			if tl.Put(n+2) != want {
				t.Errorf("Put(%d) = %v, want %v", n+2, !want, want)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Put took %v", took)
		}
		short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		tl.Wait(short)
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("Wait took %v, want until its context ended", took)
		}
		tl.Wait(t.Context())
		if diff := cmp.Diff([]int{1, 2, 3}, got); diff != "" || time.Since(began) != 3*time.Second {
			t.Errorf("told after %v (-want +got):\n%s", time.Since(began), diff)
		}
	})
}
