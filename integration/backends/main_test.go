package backends

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/integration/backends/programs"
	"github.com/otelprof/otelprof/integration/internal/child"
	"github.com/otelprof/otelprof/internal/testutil"
)

// long asks for the faults in their full length: a Collector that is down for a minute, calls of 30
// s.
var long = flag.Bool("long", false, "let outages last as long as they do in production")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../.."

// tools is where setup puts the programs.
var tools = sync.OnceValues(func() (string, error) { return filepath.Abs(filepath.Join(root, ".tools")) })

// needs skips the test unless it is run by make integration, or fails it where that is required.
func needs(t testing.TB) {
	t.Helper()
	if os.Getenv("OTELPROF_INTEGRATION") == "" {
		testutil.Lacks(t, "INTEGRATION", "the backends take minutes: make integration builds and runs them")
	}
}

// backend returns the path of a program that setup has built.
func backend(t testing.TB, name string) string {
	t.Helper()
	needs(t)
	dir, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs.All {
		if p.Name != name {
			continue
		}
		path, err := p.Path(".", dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			testutil.Lacks(t, "INTEGRATION", fmt.Sprintf("%s is not built: go run ./backends/setup", name))
		}
		return path
	}
	t.Fatalf("backend %q: must be one of programs.All", name)
	return ""
}

// builds are those of our own programs, by package.
var builds = map[string]func() (string, error){
	"otelprof":  sync.OnceValues(func() (string, error) { return build(root, "./cmd/otelprof") }),
	"pair":      sync.OnceValues(func() (string, error) { return build(".", "./pair") }),
	"realworld": sync.OnceValues(func() (string, error) { return build("..", "./realworld") }),
	"shop":      sync.OnceValues(func() (string, error) { return build(filepath.Join(root, "examples"), "./shop") }),
}

// ours returns the path of one of our own programs, newly built.
func ours(t testing.TB, name string) string {
	t.Helper()
	needs(t)
	path, err := builds[name]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func build(module, pkg string) (string, error) {
	dir, err := tools()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "integration", filepath.Base(pkg))
	return path, child.Build(context.Background(), module, pkg, path)
}

// cleared has the names of tests whose artefacts are of this run.
var cleared sync.Map

// artefacts returns a folder for logs and screenshots of a test, empty at first. It outlives the
// test.
func artefacts(t testing.TB) string {
	t.Helper()
	dir, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "integration", t.Name())
	if _, again := cleared.LoadOrStore(t.Name(), true); !again {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// check says that something holds, and how well, unless the test has found that it does not.
func check(t testing.TB, name, format string, args ...any) {
	t.Helper()
	if t.Failed() {
		name += " FAILED"
	}
	_, _ = fmt.Fprintf(t.Output(), "check %s %s\n", name, fmt.Sprintf(format, args...))
}
