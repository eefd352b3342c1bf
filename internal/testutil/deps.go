package testutil

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Deps returns what go list prints in a format, such as {{.ImportPath}}, about the packages and all
// that they compile, each once.
func Deps(t testing.TB, format string, packages ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", format}, packages...)...).Output()
	if err != nil {
		Lacks(t, "GO", fmt.Sprintf("go list: %v", err))
	}
	all := strings.Fields(string(out))
	slices.Sort(all)
	return slices.Compact(all)
}
