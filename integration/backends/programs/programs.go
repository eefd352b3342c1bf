// Package programs builds the backends that the suite runs, from the lock files beside it.
package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// A Program is a backend: a folder of its own with a go.mod and a go.sum.
type Program struct {
	Name    string // of the folder and of the binary
	Package string
	Tags    string
}

// All are in the order in which they are built best: the Collector's packages are most of the
// others'.
var All = []Program{
	{Name: "collector", Package: "."},
	{Name: "prometheus", Package: "github.com/prometheus/prometheus/cmd/prometheus", Tags: "netgo,stringlabels,remove_all_sd"},
	{Name: "jaeger", Package: "github.com/jaegertracing/jaeger/cmd/jaeger"},
}

// Prometheus is the one of All.
func Prometheus() Program { return All[1] }

// PrometheusFlags are the flags that docs/backends.md names.
var PrometheusFlags = []string{"--web.enable-otlp-receiver", "--enable-feature=otlp-native-delta-ingestion,exemplar-storage"}

// ldflags leave out what debuggers want: the binaries have 60 to 90 MB.
const ldflags = "-s -w"

// Path returns where the binary is, or will be: below tools, in a folder named after all that it is
// made from. Source is the folder that has the programs' folders.
func (p Program) Path(source, tools string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, p, ldflags, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		text, err := os.ReadFile(filepath.Join(source, p.Name, name))
		if err != nil && (name != "main.go" || !errors.Is(err, fs.ErrNotExist)) { // some are a package of another module
			return "", err
		}
		fmt.Fprintln(h, name, len(text))
		h.Write(text)
	}
	return filepath.Join(tools, "backends", fmt.Sprintf("%x", h.Sum(nil)[:8]), p.Name), nil
}

// Build builds the program, unless it is there, and says on w what it does.
func (p Program) Build(ctx context.Context, source, tools string, w io.Writer) error {
	path, err := p.Path(source, tools)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	if _, err := os.Stat(path); err == nil {
		fmt.Fprintf(w, "%s: built, %s\n", p.Name, path)
		return nil
	}
	fmt.Fprintf(w, "%s: building %s\n", p.Name, path)
	start := time.Now()
	// Under another name until it is whole.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", ldflags, "-tags", p.Tags, "-o", path+".new", p.Package)
	cmd.Dir = filepath.Join(source, p.Name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: go build: %w\n%s", p.Name, err, bytes.TrimSpace(out))
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	fmt.Fprintf(w, "%s: built in %v\n", p.Name, time.Since(start).Round(time.Second))
	return nil
}
