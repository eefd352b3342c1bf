package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// TestEditsFit makes the edits of each program in a copy of the files that they change.
func TestEditsFit(t *testing.T) {
	for _, p := range programs() {
		if !p.copied() {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			from := cached(t, p)
			s := source{program: p, dir: t.TempDir()}
			copied := map[string]bool{}
			for _, e := range p.edits {
				if copied[e.file] {
					continue
				}
				copied[e.file] = true
				copyFile(t, filepath.Join(from, e.file), filepath.Join(s.dir, e.file))
			}
			if err := s.makeEdits(); err != nil {
				t.Error(err)
			}
			for _, r := range p.regions {
				if !mentions(p, `control.Scale("`+r.delay+`", `) && !mentions(p, `control.Sleep("`+r.delay+`", `) {
					t.Errorf("region %s: no edit has its delay %q be scaled", r.span, r.delay)
				}
			}
			if !mentions(p, "control.Wrap(") {
				t.Error("no edit wraps the TracerProvider")
			}
		})
	}
}

func mentions(p program, text string) bool {
	for _, e := range p.edits {
		if strings.Contains(e.to, text) {
			return true
		}
	}
	return false
}

// cached returns the folder of the program's module in the module cache.
func cached(t *testing.T, p program) string {
	t.Helper()
	t.Setenv("GOPROXY", "off")
	dir, err := download(t.Context(), p.module, p.version)
	if err != nil {
		testutil.Lacks(t, "INTEGRATION", "make realworld downloads "+p.module+": "+err.Error())
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDownloadSaysWhatIsMissing(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	const module = "example.com/missing"
	if _, err := download(t.Context(), module, "v1.0.0"); err == nil || !strings.Contains(err.Error(), module+"@v1.0.0") {
		t.Errorf("download = %v, want an error that names the module", err)
	}
}

// TestChange prepares a module of three files, and has the go command look at what came out.
func TestChange(t *testing.T) {
	root, err := checkout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := source{root: root, dir: t.TempDir(), program: program{
		module: "example.com/real", version: "v1.0.0", pkg: ".",
		edits: []edit{{"main.go", "_ = 1", "_ = 2"}},
	}}
	for name, text := range map[string]string{
		"go.mod":  "module example.com/real\n\ngo 1.26.0\n",
		"main.go": "package main\n\nfunc main() { _ = 1 }\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.change(t.Context()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", "-f", "{{.Name}} {{.ImportPath}}", "./...")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if want := "main example.com/real\ncontrol example.com/real/internal/otelprof/control\n"; err != nil || string(out) != want {
		t.Errorf("go list = %q, %v; want %q", out, err, want)
	}
}
