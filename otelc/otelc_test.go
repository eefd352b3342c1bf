package otelc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A rule is what otelc.yaml has, in otelc's words.
type rule struct {
	Target string `yaml:"target"`
	Where  struct {
		Func string `yaml:"func"`
	} `yaml:"where"`
	Do []struct {
		Inject struct {
			Raw string `yaml:"raw"`
		} `yaml:"inject_code"`
	} `yaml:"do"`
	Imports map[string]string `yaml:"imports"`
}

const program = `package main

import (
	"context"
	"io"
	"os"

	"go.opentelemetry.io/otel"
	%s
)

func main() {
	%s
	_, span := otel.Tracer("program").Start(context.Background(), "work")
	span.End()
	io.Copy(io.Discard, os.Stdin)
}
`

// TestRule builds a program with what the rule adds to it, as otelc does: its page has its spans.
func TestRule(t *testing.T) {
	text, err := os.ReadFile("otelc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules map[string]rule
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	r := rules["otelprof"]
	if len(rules) != 1 || r.Target != "main" || r.Where.Func != "main" || len(r.Do) != 1 || len(r.Imports) != 1 {
		t.Fatalf("rules %+v: want one, of main.main", rules)
	}
	var imports string
	for name, path := range r.Imports {
		imports = fmt.Sprintf("%s %q", name, path)
	}
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, fmt.Appendf(nil, program, imports, r.Do[0].Inject.Raw), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "program.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		testutil.Lacks(t, "GO", fmt.Sprintf("go build: %v: %s", err, out))
	}
	checkRegions(t, binary, "work")
}

const service = `package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
)

func main() {
	http.HandleFunc("/orders", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })
	s := httptest.NewServer(http.DefaultServeMux)
	defer s.Close()
	response, err := http.Get(s.URL + "/orders")
	if err != nil {
		panic(err)
	}
	response.Body.Close()
	io.Copy(io.Discard, os.Stdin)
}
`

const tools = `//go:build tools

package tools

import (
	_ "github.com/otelprof/otelprof/otelc"
	_ "go.opentelemetry.io/otelc/instrumentation/net/http/server"
	_ "go.opentelemetry.io/otelc/instrumentation/runtime"
)
`

// TestOtelc builds a service without a line of OpenTelemetry by otelc itself, out of the clone of
// open-telemetry/opentelemetry-go-compile-instrumentation that OTELC names. Its page has the
// service's requests, and not its own.
func TestOtelc(t *testing.T) {
	clone := os.Getenv("OTELC")
	if clone == "" {
		testutil.Lacks(t, "OTELC", "OTELC names no clone of open-telemetry/opentelemetry-go-compile-instrumentation")
	}
	ours, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go": service, "otel.instrumentation.go": tools,
		"go.mod": "module example.com/service\n\ngo 1.26.0\n\nrequire github.com/otelprof/otelprof v0.0.0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(dir, name string, args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOWORK=off")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
	}
	tool, binary := filepath.Join(dir, "otelc.exe"), filepath.Join(dir, "service.exe")
	run(clone, "go", "build", "-o", tool, "./tool/cmd/otelc")
	run(dir, "go", "mod", "edit", "-replace", "github.com/otelprof/otelprof="+ours, "-replace", "go.opentelemetry.io/otelc="+clone)
	for _, part := range []string{"pkg", "instrumentation"} { // the modules of a release are of one version
		err := filepath.WalkDir(filepath.Join(clone, part), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "go.mod" {
				below, _ := filepath.Rel(clone, filepath.Dir(path))
				run(dir, "go", "mod", "edit", "-replace", "go.opentelemetry.io/otelc/"+filepath.ToSlash(below)+"="+filepath.Dir(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	run(dir, "go", "mod", "tidy")
	run(dir, tool, "go", "build", "-o", binary, ".")
	checkRegions(t, binary, "GET /orders")
}

// checkRegions runs a program, and wants one region in its page, of this name.
func checkRegions(t *testing.T, binary, want string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, binary)
	command.Env = append(os.Environ(), "OTELPROF_VIEWER="+address, "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none")
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for ctx.Err() == nil && len(got) == 0 {
		time.Sleep(20 * time.Millisecond)
		got = regions(ctx, "http://"+address+"/api/v1/regions")
	}
	got = regions(ctx, "http://"+address+"/api/v1/regions") // with the requests before, if these are measured
	_ = stdin.Close()
	if err := command.Wait(); err != nil || !slices.Equal(got, []string{want}) {
		t.Errorf("regions %q, %v: want %s alone, and a program that ends: %s", got, err, want, said.String())
	}
}

// regions are the names of a page's regions, nil where it does not answer.
func regions(ctx context.Context, url string) (names []string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var answer struct{ Regions []struct{ Name string } }
	if json.NewDecoder(response.Body).Decode(&answer) != nil {
		return nil
	}
	for _, r := range answer.Regions {
		names = append(names, r.Name)
	}
	return names
}
