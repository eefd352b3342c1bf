package spans

import (
	"context"
	"fmt"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// The order of options never matters, but for that of hooks, which are called in theirs.
func TestOptionsInAnyOrder(t *testing.T) {
	testutil.CheckOrder(t, []Option{
		WithHook(nil), WithStore(NewRing(1 << 20)), WithoutRecording(), WithoutPanicRecording(), WithTrustedSessions(),
		WithSessionFilter(func(context.Context, string) bool { return true }),
		WithMaxRegions(5), WithMaxSessionSpans(6), WithQueueSize(7),
	}, func(all []Option) string {
		c, err := newConfig(all)
		return fmt.Sprintf("%+v %v", c, err)
	})
}
