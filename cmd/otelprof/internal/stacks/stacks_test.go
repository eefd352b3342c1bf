package stacks

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// testRecording is of a shop with two regions; discount is slower in the later one.
func testRecording(discount int64) *stacks.Recording {
	add := func(t *stacks.Tree, samples int64, names ...string) {
		var stack []stacks.Frame
		for i, name := range slices.Backward(names) {
			stack = append(stack, stacks.NewFrame("shop."+name, "/src/shop/"+name+".go", 10*(i+1)))
		}
		t.Add(stack, stacks.Weight{Samples: samples, Nanos: samples * int64(10*time.Millisecond)})
	}
	price, store, rest := stacks.NewTree(), stacks.NewTree(), stacks.NewTree()
	add(price, discount, "main", "serve", "price", "discount")
	add(price, 40, "main", "serve", "price")
	add(price, 1, "main", "serve", "price", "log")
	add(store, 30, "main", "serve", "store")
	add(rest, 20, "gc")
	return &stacks.Recording{
		Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Duration: 10 * time.Second, Hz: 100, Lost: 2,
		Regions: []stacks.RegionTree{
			{Region: spans.Region{Scope: instrumentation.Scope{Name: "pricing"}, Name: "price"}, Number: 1, Tree: price},
			{Region: spans.Region{Name: "store"}, Number: 2, Tree: store},
			{Tree: rest},
		},
	}
}

func writeRecording(t *testing.T, name string, discount int64) string {
	t.Helper()
	var b bytes.Buffer
	if err := testRecording(discount).WritePprof(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// stacksRun executes "otelprof stacks" with arguments.
func stacksRun(t *testing.T, stdin io.Reader, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	err = Command.Execute([]string{"otelprof"}, args, stdin, &out, &errs)
	return out.String(), errs.String(), err
}

func mustStacks(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, err := stacksRun(t, nil, args...)
	if err != nil {
		t.Fatalf("stacks %v: %v: %s", args, err, errs)
	}
	return out
}

func checkStacksGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestStacksShow(t *testing.T) {
	file := writeRecording(t, "a.pprof", 60)
	checkStacksGolden(t, "process.txt", mustStacks(t, "show", "-min", "1", file))
	checkStacksGolden(t, "price.txt", mustStacks(t, "show", "-region", "price", "-lines", file))
	checkStacksGolden(t, "price.folded", mustStacks(t, "show", "-region", "price", "-format", "folded", file))
	for format, want := range map[string]string{"svg": "<svg ", "speedscope": `"type":"sampled"`} {
		if got := mustStacks(t, "show", "-format", format, file); !strings.Contains(got, want) {
			t.Errorf("%s: %.100s", format, got)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, _, err := stacksRun(t, f, "show", "-min", "1", "-")
	if want := mustStacks(t, "show", "-min", "1", file); err != nil || got != want {
		t.Errorf("standard input: %v, and not what the file gives:\n%s", err, got)
	}
}

// The first line says of which process a recording is.
func TestStacksShowOrigin(t *testing.T) {
	r := testRecording(60)
	r.Origin = stacks.Origin{Service: "shop", Host: "web-1", PID: 4711}
	for want, args := range map[string][]string{
		"process of shop (PID 4711 on web-1), 10s at 100 Hz, 2 samples lost\n":          {"show", "-"},
		"region \"price\" of shop (PID 4711 on web-1), 10s at 100 Hz, 2 samples lost\n": {"show", "-region", "price", "-"},
	} {
		var b bytes.Buffer
		if err := r.WritePprof(&b); err != nil {
			t.Fatal(err)
		}
		if got, _, err := stacksRun(t, &b, args...); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%v: %v, %.200q; want %q first", args, err, got, want)
		}
	}
}

// What is written as pprof is a recording again, and the extension determines the format.
func TestStacksShowToFiles(t *testing.T) {
	file, dir := writeRecording(t, "a.pprof", 60), t.TempDir()
	for ext, want := range map[string]string{"svg": "<svg ", "folded": "shop.main;shop.serve", "json": "speedscope", "txt": "whole"} {
		out := filepath.Join(dir, "out."+ext)
		mustStacks(t, "show", "-o", out, file)
		if got, err := os.ReadFile(out); err != nil || !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s: %v, %.80s", ext, err, got)
		}
	}
	again := filepath.Join(dir, "price.pb.gz")
	mustStacks(t, "show", "-region", "price", "-o", again, file)
	if got, want := mustStacks(t, "show", "-region", "price", again), mustStacks(t, "show", "-region", "price", file); got != want {
		t.Errorf("recording of a region:\n%s\nwant\n%s", got, want)
	}
}

// A roomFor so many writes is full after them.
type roomFor int

func (r *roomFor) Write(p []byte) (int, error) {
	if *r--; *r < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

// The list of regions behind the tree is written, or it is an error, which keeps the file that was
// there.
func TestStacksShowToFullDisk(t *testing.T) {
	disk := roomFor(1) // the tree
	v := stacksView{Recording: testRecording(60)}
	if err := v.writeText(&disk); err == nil || err.Error() != "disk full" {
		t.Errorf("writeText to a full disk = %v", err)
	}
}

// TestStacksFromAnotherMachine reads a recording of a program that is not here: three seconds in a
// span named burn.
func TestStacksFromAnotherMachine(t *testing.T) {
	got := mustStacks(t, "show", "-min", "5", filepath.Join("testdata", "elsewhere.pprof"))
	if !strings.Contains(got, "main.burn  main.go") || !strings.Contains(got, "regions, by the time") {
		t.Errorf("show of a recording from elsewhere:\n%s", got)
	}
}

func TestStacksDiff(t *testing.T) {
	before, after := writeRecording(t, "before.pprof", 60), writeRecording(t, "after.pprof", 200)
	checkStacksGolden(t, "diff.txt", mustStacks(t, "diff", "-n", "4", before, after))
	checkStacksGolden(t, "diff-store.txt", mustStacks(t, "diff", "-region", "store", before, after))
}

// stacksServer answers as a viewer and as a pprof handler do.
func stacksServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/prefix/api/v1/stacks", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("format") != "pprof" || q.Get("seconds") != "7" {
			http.Error(w, "query "+r.URL.RawQuery, http.StatusBadRequest)
			return
		}
		_ = testRecording(60).WritePprof(w)
	})
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "seconds=7" {
			http.Error(w, "query "+r.URL.RawQuery, http.StatusBadRequest)
			return
		}
		_ = testRecording(200).WritePprof(w)
	})
	mux.HandleFunc("/text/profile", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	mux.HandleFunc("/busy/profile", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "another request takes one", http.StatusConflict)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestStacksRecord(t *testing.T) {
	s, dir := stacksServer(t), t.TempDir()
	for _, tc := range []struct{ name, url, file string }{
		{"viewer", s.URL + "/prefix/", writeRecording(t, "a.pprof", 60)},
		{"pprof", s.URL + "/debug/pprof/profile", writeRecording(t, "b.pprof", 200)},
	} {
		out := filepath.Join(dir, tc.name)
		_, said, err := stacksRun(t, nil, "record", "-seconds", "7", "-url", tc.url, "-o", out)
		if err != nil || !strings.HasSuffix(said, " samples in 10s of 2 regions\n") {
			t.Fatalf("%s: %v, %q", tc.name, err, said)
		}
		if got, want := mustStacks(t, "show", out), mustStacks(t, "show", tc.file); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, want)
		}
		if got, want := mustStacks(t, "show", "-seconds", "7", tc.url), mustStacks(t, "show", tc.file); got != want {
			t.Errorf("show %s:\n%s\nwant\n%s", tc.url, got, want)
		}
	}
}

func TestStacksRefuses(t *testing.T) {
	s, dir := stacksServer(t), t.TempDir()
	good := writeRecording(t, "a.pprof", 60)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	half := file("half", whole[:len(whole)/2])
	for _, tc := range []struct {
		args  []string
		want  string
		usage bool
	}{
		{[]string{"show", half}, half + ": stacks: recording: gzip: truncated: must be whole", false},
		{[]string{"show", file("text", []byte("goroutine 1"))}, "must be a profile in pprof's format", false},
		{[]string{"show", file("empty", nil)}, "recording: empty", false},
		{[]string{"show", "missing"}, "missing: no such file or directory", false},
		{[]string{"show", "-region", "pric", good}, `region "pric": must be one of ["price" "store"]`, false},
		{[]string{"diff", good, half}, half + ": stacks: recording: gzip: truncated", false},
		{[]string{"show", s.URL + "/text/profile"}, "must be a profile in pprof's format", false},
		{[]string{"record", "-url", s.URL + "/busy/profile", "-o", filepath.Join(dir, "none")}, s.URL + "/busy/profile: answer 409 Conflict: must be 200: another request takes one", false},
		{[]string{"show", s.URL + "/nothing"}, "answer 404 Not Found: must be 200", false},
		{[]string{"show", "-format", "png", good}, `format "png": must be one of [text folded svg pprof speedscope]`, true},
		{[]string{"show", "-o", "x.docx", good}, `format "docx"`, true},
		{[]string{"show", "-min", "101", good}, "min 101: must be in [0, 100]", true},
		{[]string{"show"}, "0 arguments: must be at least 1: the URL of a viewer, or a file", true},
		{[]string{"diff", "-n", "-1", good, good}, "n -1: must not be negative", true},
		{[]string{"record"}, `url "": must be a URL or HOST:PORT`, true},
		{[]string{"record", "localhost"}, `url "localhost": must be a URL or HOST:PORT`, true},
		{[]string{"record", "-url", s.URL, s.URL}, "must not be beside -url", true},
		{[]string{"record", "-url", s.URL, "-seconds", "0"}, "record: seconds 0: must be in [1, 3600]", true},
		{[]string{"show", "-seconds", "0", good}, "show: seconds 0: must be in [1, 3600]", true},
	} {
		_, _, err := stacksRun(t, nil, tc.args...)
		if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, command.ErrUsage) != tc.usage {
			t.Errorf("stacks %v: %v, want %s", tc.args, err, tc.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a file was left of a recording that failed")
	}
	if out, _, err := stacksRun(t, nil, "record", "-h"); err != nil || !strings.Contains(out, "-url") {
		t.Errorf("help: %v, %s", err, out)
	}
}
