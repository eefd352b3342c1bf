package admission

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wide are limits that no test reaches.
var wide = plan.Limits{PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute), Duty: 1, Total: plan.Duration(24 * time.Hour)}
