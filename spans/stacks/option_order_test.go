package stacks

import (
	"fmt"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/testutil"
)

// The order of options never matters.
func TestOptionsInAnyOrder(t *testing.T) {
	testutil.CheckOrder(t, []Option{
		WithRate(50), WithWindow(30 * time.Second), WithHistory(20 * time.Minute), WithUnsampled(), WithPaused(), WithService("shop"),
	}, func(all []Option) string {
		c, err := newConfig(all)
		return fmt.Sprintf("%+v %v", c, err)
	})
}
