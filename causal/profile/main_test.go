package profile

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/otelprof/otelprof/internal/testutil/thorough" // -long
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
