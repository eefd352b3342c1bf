package overlay

import (
	"encoding/json"
	"go/version"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A later version than the newest that is known is logged, and fails once it is released: its users
// are refused.
func TestNextGo(t *testing.T) {
	if os.Getenv("OTELPROF_TEST_NEXT") == "" {
		t.Skip("asks a module proxy; make next-go runs it")
	}
	latest := latestToolchain(t)
	if version.Compare(version.Lang(latest), newest) <= 0 {
		t.Logf("%s is the latest version of Go, and %s is supported", latest, newest)
		return
	}
	cmd := exec.Command("go", "env", "GOROOT")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+latest)
	goroot, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", latest, err)
	}
	t.Setenv(untested, "1")
	tell := t.Errorf
	if strings.Contains(latest, "rc") || strings.Contains(latest, "beta") {
		tell = t.Logf
	}
	if _, err := rewritten(strings.TrimSpace(string(goroot)), latest); err != nil {
		tell("%s does not fit: %v", latest, err)
		return
	}
	tell("%s fits: make test-runtime GOTOOLCHAIN=%[1]s, then raise newest in overlay.go and TOOLCHAINS in the Makefile", latest)
}

// latestToolchain returns the latest version of Go for this machine that can be downloaded.
func latestToolchain(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "list", "-m", "-versions", "-json", "golang.org/toolchain")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	var module struct{ Versions []string }
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	latest := ""
	name := regexp.MustCompile(`-(go1\.[0-9a-z.]+)\.` + runtime.GOOS + `-` + runtime.GOARCH + `$`)
	for _, v := range module.Versions {
		if m := name.FindStringSubmatch(v); m != nil && version.Compare(m[1], latest) > 0 {
			latest = m[1]
		}
	}
	if err != nil || latest == "" {
		testutil.Lacks(t, "TOOLCHAINS", "needs a module proxy that lists toolchains")
	}
	return latest
}
