package breaker

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
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
