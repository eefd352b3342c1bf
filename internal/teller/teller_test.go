package teller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/teller"
)

func TestTeller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		tl := teller.New(2, func(n int) { time.Sleep(time.Second); got = append(got, n) })
		tl.Wait(t.Context()) // nothing to wait for
		began := time.Now()
		if !tl.Tell(1) {
			t.Error("no room for the first message")
		}
		synctest.Wait() // the first message is under way
		for n, want := range []bool{true, true, false} {
			if tl.Tell(n+2) != want {
				t.Errorf("Tell(%d) = %v, want %v", n+2, !want, want)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Tell took %v", took)
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
