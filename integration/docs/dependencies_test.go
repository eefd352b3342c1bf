package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil"
)

// goIn runs the go command in a folder and returns what it wrote.
func goIn(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		testutil.Lacks(t, "MODULES", "needs the go command and the modules of go.mod: "+err.Error()+": "+stderr.String())
	}
	return out
}

// A program that measures spans compiles what OpenTelemetry's SDK needs, and nothing else.
func TestLeanGraph(t *testing.T) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/lean\n\ngo 1.26.0\n\nrequire github.com/otelprof/otelprof v0.0.0\n\n" +
			"replace github.com/otelprof/otelprof => " + checkout + "\n",
		"go.sum": read(t, "go.sum"),
		"main.go": "package main\n\nimport (\n\t_ \"github.com/otelprof/otelprof/otelhdr\"\n" +
			"\t_ \"github.com/otelprof/otelprof/spans\"\n)\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]bool{}
	for path := range strings.FieldsSeq(string(goIn(t, dir, "list", "-mod=mod", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "."))) {
		got[path] = true
	}
	want := map[string]bool{
		"github.com/otelprof/otelprof":        true,
		"github.com/cespare/xxhash/v2":        true,
		"github.com/go-logr/logr":             true,
		"github.com/go-logr/stdr":             true,
		"github.com/google/uuid":              true,
		"go.opentelemetry.io/auto/sdk":        true,
		"go.opentelemetry.io/otel":            true,
		"go.opentelemetry.io/otel/metric":     true,
		"go.opentelemetry.io/otel/sdk":        true,
		"go.opentelemetry.io/otel/sdk/metric": true,
		"go.opentelemetry.io/otel/trace":      true,
		"golang.org/x/sys":                    true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modules that are compiled differ, -want +got:\n%s", diff)
	}

	known := map[string]bool{}
	for node := range strings.FieldsSeq(string(goIn(t, dir, "mod", "graph"))) {
		path, _, _ := strings.Cut(node, "@")
		known[path] = true
	}
	for path := range known {
		if regexp.MustCompile(`gonum|font|latex|pdf|freetype|svg|/image`).MatchString(path) {
			t.Errorf("go mod graph names %s", path)
		}
	}
	for _, self := range []string{"example.com/lean", "go", "toolchain"} {
		delete(known, self)
	}
	t.Logf("%d modules are compiled, go mod graph names %d", len(got), len(known))
	if most := 63; len(known) > most {
		t.Errorf("go mod graph names %d modules, want at most %d", len(known), most)
	}
}

// A licence is known by words that no other one has.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"BSD-3-Clause", "Neither the name"},
	{"BSD-2-Clause", "Redistributions in binary form"},
}

func TestDependenciesAreListed(t *testing.T) {
	page := read(t, "docs/dependencies.md")
	page, _, ends := strings.Cut(page, insides)
	direct, brought, found := strings.Cut(page, "## Brought by those")
	if !found || !ends {
		t.Fatal("docs/dependencies.md has lost a heading")
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|")
	named := map[bool]map[string]string{false: {}, true: {}}
	for indirect, part := range map[bool]string{false: direct, true: brought} {
		for _, m := range rows.FindAllStringSubmatch(part, -1) {
			named[indirect][m[1]] = m[2]
		}
	}
	list := json.NewDecoder(bytes.NewReader(goIn(t, root, "list", "-m", "-json", "all")))
	for {
		var m struct {
			Path, Dir      string
			Main, Indirect bool
		}
		if err := list.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		licence, known := named[m.Indirect][m.Path]
		delete(named[m.Indirect], m.Path)
		switch {
		case m.Main || m.Indirect && !strings.Contains(read(t, "go.mod"), "\t"+m.Path+" v"):
		case !known:
			t.Errorf("docs/dependencies.md has no row for %s where it belongs", m.Path)
		case m.Dir != "": // it has been downloaded
			if texts := licenceOf(t, m.Dir); licence != texts {
				t.Errorf("docs/dependencies.md says %s of %s, which has %s", licence, m.Path, texts)
			}
		}
	}
	for _, left := range named {
		for path := range left {
			t.Errorf("docs/dependencies.md names %s, which go.mod does not", path)
		}
	}
}

// licenceOf returns the names of the licences in a module's folder.
func licenceOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "LICENSE*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no licence: %v", dir, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Join(strings.Fields(string(text)), " ")
	var names []string
	for _, l := range licences {
		if strings.Contains(plain, l.words) && (l.name != "BSD-2-Clause" || len(names) == 0) {
			names = append(names, l.name)
		}
	}
	return strings.Join(names, ", ")
}
