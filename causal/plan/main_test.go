package plan

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal/internal/plantest"
	_ "github.com/otelprof/otelprof/internal/testutil/thorough" // -long
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustParse(t testing.TB, lines ...string) *Plan {
	t.Helper()
	p, err := Parse(plantest.Document(lines...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
