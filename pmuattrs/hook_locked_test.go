//go:build !otelprof_runtime

package pmuattrs

import (
	"errors"
	"strings"
	"testing"
)

// Without the scheduler it is unknown whether other goroutines ran on the thread.
func TestWithoutLockIsRefused(t *testing.T) {
	h, err := NewHook(WithoutLock())
	if h != nil || !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), `without lock: the scheduler does not take part: must be built by "otelprof build"`) {
		t.Errorf("NewHook(WithoutLock()) = %v, %v, want %v and what to do", h, err, ErrConfig)
	}
}
