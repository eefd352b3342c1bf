package otlpfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/testutil"
)

// numbers reads the attribute "n" of all spans in the files, and fails on a line that is
// not whole.
func numbers(t *testing.T, paths ...string) []int64 {
	t.Helper()
	var out []int64
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(lines.Bytes())
			if err != nil {
				t.Fatalf("%s: %v: %.100q", path, err, lines.Text())
			}
			for _, rs := range td.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, s := range ss.Spans().All() {
						n, _ := s.Attributes().Get("n")
						out = append(out, n.Int())
					}
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func upTo(n int) []int64 {
	var out []int64
	for i := range n {
		out = append(out, int64(i))
	}
	return out
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	// A name that looks like ours and is not must survive.
	foreign := filepath.Join(dir, "traces-backup.jsonl")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := NewSpanExporter(Config{Dir: dir, MaxBytes: 2000, Backups: 3})
	if err != nil {
		t.Fatal(err)
	}
	const batches = 60
	for i := range batches {
		export(t, e, stub("a", i, 1))
	}
	closed(t, e)
	names := files(t, dir)
	if len(names) != 5 || !slices.Contains(names, "traces-backup.jsonl") || !slices.Contains(names, "traces.jsonl") {
		t.Fatalf("files %q, want traces.jsonl, 3 full ones and the foreign one", names)
	}
	var paths []string
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 2000 {
			t.Errorf("%s has %d bytes, more than 2000", name, info.Size())
		}
		if name != "traces-backup.jsonl" {
			paths = append(paths, filepath.Join(dir, name)) // by time: '-' sorts before '.'
		}
	}
	got := numbers(t, paths...)
	want := upTo(batches)[batches-len(got):]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans kept, want the newest (-want +got):\n%s", diff)
	}
}

func TestLineLongerThanAFile(t *testing.T) {
	dir := t.TempDir()
	e, err := NewSpanExporter(Config{Dir: dir, MaxBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	export(t, e, stub("a", 0, 50))
	export(t, e, stub("a", 50, 50))
	closed(t, e)
	names := files(t, dir)
	if len(names) != 2 {
		t.Fatalf("files %q, want 2", names)
	}
	got := numbers(t, filepath.Join(dir, names[0]), filepath.Join(dir, names[1]))
	if diff := cmp.Diff(upTo(100), got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestOpenCutsTornTail(t *testing.T) {
	whole := `{"resourceSpans":[]}` + "\n"
	long := `{"resourceSpans":[],"x":"` + strings.Repeat("y", 200_000) + `"}` + "\n"
	tests := map[string]struct {
		content, want string
		torn          int
	}{
		"empty":                    {"", "", 0},
		"whole":                    {whole + whole, whole + whole, 0},
		"long":                     {long + long, long + long, 0},
		"half a line":              {whole + whole[:9], whole, 1},
		"half a long line":         {long + long[:len(long)-3], long, 1},
		"no newline":               {whole + whole[:len(whole)-1], whole, 1},
		"only half a line":         {whole[:9], "", 1},
		"zeros":                    {whole + "\x00\x00\x00", whole, 1},
		"a line of zeros":          {whole + "\x00\x00\n", whole, 1},
		"a broken line and a half": {whole + whole[3:] + whole[:5], whole, 2},
		"only a broken line":       {whole[3:], "", 1},
		"an empty line at the end": {whole + "\n", whole, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "traces.jsonl")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			var l testutil.Log
			e, err := NewSpanExporter(Config{Dir: dir, Logger: l.Logger()})
			if err != nil {
				t.Fatal(err)
			}
			defer closed(t, e)
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("file is %.100q, want %.100q", got, tt.want)
			}
			want := fmt.Sprintf("%d torn lines, %d bytes,", tt.torn, len(tt.content)-len(tt.want))
			if said := l.Await(min(1, tt.torn)); len(said) != min(1, tt.torn) || tt.torn > 0 && !strings.Contains(said[0], want) {
				t.Errorf("said %q, want %q if and only if something was cut", said, want)
			}
			export(t, e, stub("a", 0, 1))
			if e.Stats().Exported != 1 {
				t.Errorf("Stats = %+v, want the next span written", e.Stats())
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "traces.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ dir, want string }{
		"missing folder":       {filepath.Join(dir, "missing"), "no such file or directory"},
		"folder below a file":  {filepath.Join(plain, "x"), "not a directory"},
		"a file":               {plain, "must be a folder"},
		"a folder of the name": {taken, "must be a regular file"},
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		// Nothing can be created there, not even by root.
		tests["read-only folder"] = struct{ dir, want string }{"/proc/self", "lock /proc/self/traces.lock"}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewSpanExporter(Config{Dir: tt.dir})
			if err == nil || !strings.Contains(err.Error(), tt.dir) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewSpanExporter = %v, want an error with %q and %q", err, tt.dir, tt.want)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	_, err := NewSpanExporter(Config{Dir: t.TempDir(), MaxBytes: -1, Backups: -1})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "max size -1") || !strings.Contains(err.Error(), "backups -1") {
		t.Errorf("NewSpanExporter = %v, want both fields named", err)
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	e, err := NewSpanExporter(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewSpanExporter(Config{Dir: dir}); !errors.Is(err, errInUse) {
		t.Errorf("second NewSpanExporter = %v, want errInUse", err)
	}
	m, err := NewMetricExporter(Config{Dir: dir})
	if err != nil {
		t.Errorf("NewMetricExporter beside it: %v", err)
	} else {
		closed(t, m)
	}
	closed(t, e)
	e, err = NewSpanExporter(Config{Dir: dir})
	if err != nil {
		t.Fatalf("NewSpanExporter after Shutdown: %v", err)
	}
	closed(t, e)
}

// inMovable returns an exporter that logs to l, and its folder, which can be renamed.
func inMovable(t *testing.T, l *testutil.Log) (e *delivery.SpanExporter, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := NewSpanExporter(Config{Dir: dir, Logger: l.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	return e, dir
}

// The folder goes away at run time and comes back.
func TestFailureIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l testutil.Log
		e, dir := inMovable(t, &l)
		export(t, e, stub("a", 0, 1))
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			export(t, e, stub("lost", 0, 1))
			if err := e.ForceFlush(context.Background()); err == nil {
				t.Error("ForceFlush = nil, want the failure")
			}
		}
		if lines := l.Await(1); len(lines) != 1 || !strings.Contains(lines[0], "no such file or directory") {
			t.Errorf("said %q, want the failure once", lines)
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(againAfter)
		export(t, e, stub("a", 1, 1))
		if lines := l.Await(2); len(lines) != 2 || !strings.Contains(lines[1], "delivering again") {
			t.Errorf("said %q, want the return once", lines)
		}
		if s := e.Stats(); s.Exported != 2 || s.Failed != 5 {
			t.Errorf("Stats = %+v, want 2 exported and 5 failed", s)
		}
		closed(t, e)
		if diff := cmp.Diff(upTo(2), numbers(t, filepath.Join(dir, "traces.jsonl"))); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
	})
}

// timeless is a span that counts how often it was encoded.
type timeless struct {
	sdktrace.ReadOnlySpan
	encoded *int
}

func (s timeless) StartTime() time.Time { *s.encoded++; return time.Time{} }

// While writes fail nothing is encoded, but for one piece each second.
func TestNothingIsEncodedWhileWritesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l testutil.Log
		e, dir := inMovable(t, &l)
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		encoded := 0
		spans := stub("a", 0, 5*itemsAtOnce)
		for i := range spans {
			spans[i] = timeless{spans[i], &encoded}
		}
		for range 30 {
			export(t, e, spans)
			time.Sleep(againAfter / 10)
		}
		if encoded != 3*itemsAtOnce {
			t.Errorf("%d spans encoded in 3 s, want %d", encoded, 3*itemsAtOnce)
		}
		if s, want := e.Stats(), uint64(30*len(spans)); s.Failed != want || s.Exported != 0 {
			t.Errorf("Stats = %+v, want %d failed", s, want)
		}
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		export(t, e, spans)
		closed(t, e)
		if s, want := e.Stats(), uint64(len(spans)); s.Exported != want {
			t.Errorf("Stats = %+v, want %d exported", s, want)
		}
		if got := len(numbers(t, filepath.Join(dir, "traces.jsonl"))); got != len(spans) {
			t.Errorf("%d spans in the file, want %d", got, len(spans))
		}
	})
}

func TestRemovedFileIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	e, err := NewSpanExporter(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	export(t, e, stub("a", 0, 1))
	path := filepath.Join(dir, "traces.jsonl")
	if err := os.Rename(path, path+".1"); err != nil { // as logrotate does
		t.Fatal(err)
	}
	export(t, e, stub("a", 1, 1))
	closed(t, e)
	if diff := cmp.Diff(upTo(2), numbers(t, path+".1", path)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestExportAfterShutdown(t *testing.T) {
	var l testutil.Log
	e, err := NewSpanExporter(Config{Dir: t.TempDir(), Logger: l.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	closed(t, e)
	export(t, e, stub("late", 0, 3))
	if s := e.Stats(); s.Failed != 3 {
		t.Errorf("Stats = %+v, want 3 failed", s)
	}
}

func TestExportConcurrentSafe(t *testing.T) {
	dir := t.TempDir()
	e, err := NewSpanExporter(Config{Dir: dir, MaxBytes: 20_000, Backups: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	const goroutines, each = 4, 50
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				export(t, e, stub(fmt.Sprint(g), g*each+i, 1))
				_ = e.ForceFlush(context.Background())
			}
		})
	}
	wg.Wait()
	closed(t, e)
	var paths []string
	for _, name := range files(t, dir) {
		paths = append(paths, filepath.Join(dir, name))
	}
	got := numbers(t, paths...)
	slices.Sort(got)
	if diff := cmp.Diff(upTo(goroutines*each), got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}
