package breaker

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// thoroughly is much with -long, else little.
func thoroughly(much, little int) int {
	if *thorough.Rounds {
		return much
	}
	return little
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
