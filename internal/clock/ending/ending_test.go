package ending_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/internal/clock/ending"
)

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		for name, test := range map[string]struct {
			left, takes, want time.Duration
			err               error
		}{
			"in time":       {left: 2 * time.Hour, takes: time.Hour, want: time.Hour, err: failed},
			"no time left":  {takes: time.Millisecond, want: time.Millisecond, err: failed},
			"hangs at once": {takes: time.Hour, want: ending.Grace, err: context.DeadlineExceeded},
			"hangs":         {left: time.Second, takes: time.Hour, want: time.Second + ending.Grace, err: context.DeadlineExceeded},
		} {
			ctx, cancel := context.WithTimeout(context.Background(), test.left)
			start := time.Now()
			err := ending.Within(ctx, func() error { time.Sleep(test.takes); return failed })
			cancel()
			if took := time.Since(start); !errors.Is(err, test.err) || took != test.want {
				t.Errorf("%s: Within = %v after %v, want %v after %v", name, err, took, test.err, test.want)
			}
		}
		time.Sleep(time.Hour) // what hangs ends by itself
	})
}
