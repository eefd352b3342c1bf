package schedule

import (
	"context"
	"syscall"
	"testing"
	"time"
)

func TestSystemCallsBlock(t *testing.T) {
	r, tr := recording(t)
	const wait = 150 * time.Millisecond
	took := timed(t.Context(), tr, "syscall", func(context.Context) {
		for left := syscall.NsecToTimespec(int64(wait)); ; { // signals interrupt it
			if err := syscall.Nanosleep(&left, &left); err != syscall.EINTR {
				return
			}
		}
	})
	got := regionOf(t, snapshot(t, r), "syscall").Total
	near(t, "in all", got.Sum(), took)
	if blocked := got.Blocked["syscall"]; blocked < wait*95/100 || blocked > took.outside*105/100 {
		t.Errorf("blocked %v by %s, want between %v and %v", blocked, "syscall", wait, took.outside)
	}
}
