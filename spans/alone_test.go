package spans_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// alone reports whether the test runs in a process of its own with a variable. If it does not, it
// starts that, and fails with it.
func alone(t *testing.T, variable string) bool {
	t.Helper()
	const mark = "SPANS_TEST_ALONE=1"
	if os.Getenv(strings.TrimSuffix(mark, "=1")) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable, mark)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}
