package pmuattrs

import (
	"fmt"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// The order of options never matters, but for that of rules, of which the first that matches
// counts.
func TestOptionsInAnyOrder(t *testing.T) {
	testutil.CheckOrder(t, []HookOption{WithEvents(Cycles), WithSampling(7), WithRegions("a*", 3)}, func(all []HookOption) string {
		c, err := newHookConfig(all)
		return fmt.Sprintf("%+v %v", c, err)
	})
}
