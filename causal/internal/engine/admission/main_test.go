package admission

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal/plan"
)

// long has tests take as many rounds as they should in the night.
var long = flag.Bool("long", false, "take the rounds that are thorough")

// thoroughly is much with -long, else little.
func thoroughly(much, little int) int {
	if *long {
		return much
	}
	return little
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wide are limits that no test reaches.
var wide = plan.Limits{PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute), Duty: 1, Total: plan.Duration(24 * time.Hour)}
