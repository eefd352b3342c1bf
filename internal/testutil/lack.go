// Package testutil holds what the tests of several packages share.
package testutil

import (
	"os"
	"testing"
)

// Lacks skips a test for want of something, named like NODE, that this machine does not have.
// It fails the test where the environment says that the machine has it: REQUIRE_NODE=1.
func Lacks(t testing.TB, what, reason string) {
	t.Helper()
	if os.Getenv("REQUIRE_"+what) != "" {
		t.Fatalf("REQUIRE_%s is set: %s", what, reason)
	}
	t.Skipf("%s (REQUIRE_%s=1 makes this a failure)", reason, what)
}
