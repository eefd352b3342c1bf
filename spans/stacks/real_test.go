package stacks_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// The tests below take real profiles, of which a process has one: none of them runs in parallel.

func start(t *testing.T, opts ...stacks.Option) (*stacks.Profiler, trace.Tracer) {
	t.Helper()
	p, err := stacks.NewProfiler(opts...)
	if err != nil {
		t.Fatal(err)
	}
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(p.Hook()))
	t.Cleanup(func() { p.Shutdown(context.Background()); tp.Shutdown(context.Background()) })
	if s := p.Stats(); s.State == stacks.Busy {
		testutil.Lacks(t, "CPUPROFILE", "the CPU profile is already taken, as with -cpuprofile: "+s.Reason)
	}
	return p, tp.Tracer("test")
}

var sink float64

//go:noinline
func burnSine(until func() bool) {
	for !until() {
		for i := range 2000 {
			sink += math.Sin(float64(i))
		}
	}
}

//go:noinline
func burnRoot(until func() bool) {
	for !until() {
		for i := range 2000 {
			sink += math.Sqrt(float64(i))
		}
	}
}

// forTime returns a condition that holds when the process has taken that much processor time, which
// takes longer on a busy machine.
func forTime(d time.Duration) func() bool {
	began, known := stacks.ProcessTime()
	end := time.Now().Add(d)
	return func() bool {
		if !known {
			return time.Now().After(end)
		}
		now, _ := stacks.ProcessTime()
		return now-began >= d
	}
}

// turns returns how many of the process's threads' turns on a processor others have ended.
func turns(t *testing.T) int64 {
	t.Helper()
	n, known := stacks.Turns()
	if !known {
		testutil.Lacks(t, "RUSAGE", "the processor time of the process is not known here")
	}
	return n
}

// Samples are accounted for: without scaling they stand for the processor time that the kernel says
// the process has taken, to within 5 %. Where others take the processor away in between, the
// kernel, which looks at its ticks only, may miss a sample of each turn that they end. What is
// scaled is right in either case.
func TestSamplesAccounted(t *testing.T) {
	for _, hz := range []int{100, 200} {
		off, allowed := math.Inf(1), 0.0
		for try := 0; try < 5 && math.Abs(off) > 0.05; try++ {
			p, _ := start(t, stacks.WithRate(hz))
			before := turns(t)
			burnSine(forTime(time.Second))
			p.Shutdown(context.Background())
			ended, s := turns(t)-before, p.Stats()
			if s.CPU == 0 {
				testutil.Lacks(t, "RUSAGE", "the processor time of the process is not known here")
			}
			off = float64(s.Sampled)/float64(s.CPU) - 1
			allowed = 0.05 + float64(ended)/float64(hz)/s.CPU.Seconds()
			t.Logf("%d Hz: %d samples stand for %v of %v, %+.1f %%, others ended %d turns", hz, s.Samples, s.Sampled, s.CPU, 100*off, ended)
			// A window that ends before its first sample comes has nothing to scale.
			if r := p.Snapshot(0); math.Abs(float64(r.Process().Total().Nanos)/float64(s.CPU)-1) > 0.01 {
				t.Errorf("%d Hz: scaled to %v of %v", hz, time.Duration(r.Process().Total().Nanos), s.CPU)
			}
		}
		if off > 0.05 || off < -allowed {
			t.Errorf("%d Hz: samples are off by %+.1f %%, want at most 5 %% more and %.0f %% less", hz, 100*off, 100*allowed)
		}
	}
}

// Each region has the functions that ran in it, and in goroutines that it started.
func TestRegionsAreToldApart(t *testing.T) {
	p, tr := start(t, stacks.WithRate(200))
	ctx, outer := tr.Start(context.Background(), "outer")
	for range 10 {
		_, sine := tr.Start(ctx, "sine")
		burnSine(forTime(30 * time.Millisecond))
		sine.End()
		_, root := tr.Start(ctx, "root")
		var wg sync.WaitGroup
		wg.Go(func() { burnRoot(forTime(30 * time.Millisecond)) })
		wg.Wait()
		root.End()
	}
	outer.End()
	p.Pause()
	r := p.Snapshot(0)
	for name, functions := range map[string][2]string{"sine": {"burnSine", "burnRoot"}, "root": {"burnRoot", "burnSine"}} {
		tree, _ := r.Tree(name)
		own, other := samplesIn(tree, functions[0]), samplesIn(tree, functions[1])
		if own < 10 || other > own/10 {
			t.Errorf("region %s: of %d samples %d in %s and %d in %s, want some tens and none", name, tree.Total().Samples, own, functions[0], other, functions[1])
		}
	}
}

func samplesIn(tree *stacks.Tree, function string) (n int64) {
	tree.WithoutLines().Visit(func(node stacks.Node) bool {
		if strings.HasSuffix(node.Func, "."+function) {
			n += node.Whole.Samples
		}
		return true
	}, nil)
	return n
}

// TestNothingPersonalLeaves holds a real recording against the rule: names of functions, base names
// of files and lines, nothing else.
func TestNothingPersonalLeaves(t *testing.T) {
	p, tr := start(t)
	secret := "token-4711"
	pprof.Do(context.Background(), pprof.Labels("user", secret), func(ctx context.Context) {
		_, span := tr.Start(ctx, "op")
		burnSine(forTime(200 * time.Millisecond))
		span.End()
	})
	p.Pause()
	r := p.Snapshot(0)
	tree := r.Process()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`0x[0-9a-f]{4,}`)
	for name, write := range map[string]func(io.Writer) error{
		"pprof":      r.WritePprof,
		"text":       func(w io.Writer) error { return tree.WriteText(w, stacks.TextOptions{}) },
		"folded":     tree.WriteFolded,
		"svg":        func(w io.Writer) error { return tree.WriteSVG(w, "all") },
		"speedscope": func(w io.Writer) error { return tree.WriteSpeedscope(w, "all") },
		"json": func(w io.Writer) error {
			b, err := tree.MarshalJSON()
			_, _ = w.Write(b)
			return err
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		text := b.Bytes()
		if name == "pprof" {
			zr, err := gzip.NewReader(&b)
			if err != nil {
				t.Fatal(err)
			}
			if text, err = io.ReadAll(zr); err != nil {
				t.Fatal(err)
			}
		}
		for _, leak := range []string{secret, dir, filepath.Dir(dir), "/usr/local"} {
			if bytes.Contains(text, []byte(leak)) {
				t.Errorf("%s contains %q", name, leak)
			}
		}
		if m := address.Find(text); m != nil {
			t.Errorf("%s contains the address %s", name, m)
		}
		if !bytes.Contains(text, []byte("burnSine")) {
			t.Errorf("%s does not contain burnSine", name)
		}
	}
	parsed, err := stacksProfile(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range parsed.Function {
		if strings.ContainsAny(f.Filename, `/\`) {
			t.Errorf("file %q of %s: want a base name", f.Filename, f.Name)
		}
	}
	for _, s := range parsed.Sample {
		for label := range s.Label {
			if label != naming.NameLabel && label != naming.ScopeLabel {
				t.Errorf("sample has the label %s: %v", label, s.Label)
			}
		}
	}
	for _, l := range parsed.Location {
		if l.Address != 0 || l.Mapping != nil {
			t.Errorf("location %d has an address or a mapping", l.ID)
		}
	}
}

func stacksProfile(r *stacks.Recording) (*profile.Profile, error) {
	var b bytes.Buffer
	if err := r.WritePprof(&b); err != nil {
		return nil, err
	}
	return profile.Parse(&b)
}

// A request to the handler gets a profile, with the application's labels, although the profiler
// holds the CPU profile.
func TestHandlerTees(t *testing.T) {
	p, tr := start(t)
	srv := httptest.NewServer(p)
	defer srv.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		pprof.Do(context.Background(), pprof.Labels("tenant", "t1"), func(ctx context.Context) {
			_, span := tr.Start(ctx, "op")
			defer span.End()
			burnSine(func() bool {
				select {
				case <-stop:
					return true
				default:
					return false
				}
			})
		})
	})
	defer wg.Wait()
	defer close(stop)
	response, err := http.Get(srv.URL + "?seconds=2")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := profile.Parse(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("status %d: %v", response.StatusCode, err)
	}
	var samples int64
	for _, s := range got.Sample {
		if len(s.Label["tenant"]) == 1 && s.Label["tenant"][0] == "t1" && len(s.NumLabel["otelprof_region"]) == 1 {
			samples += s.Value[0]
		}
	}
	if samples == 0 {
		t.Errorf("%d samples with both labels, want some:\n%v", samples, got)
	}
	if s := p.Stats(); s.State != stacks.Running {
		t.Errorf("afterwards: %+v", s)
	}
}

func TestHandlerMindsTheWriteTimeout(t *testing.T) {
	p, _ := start(t, stacks.WithPaused())
	srv := httptest.NewUnstartedServer(p)
	srv.Config.WriteTimeout = 2 * time.Second
	srv.Start()
	defer srv.Close()
	response, err := http.Get(srv.URL + "?seconds=2")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != 400 || !strings.Contains(string(body), "write timeout of 2s") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// Other code gets the error that the profile is in use, gets it while the profiler is paused, and
// may even stop ours.
func TestTurnsWithOthers(t *testing.T) {
	p, _ := start(t, stacks.WithWindow(time.Second))
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		pprof.StopCPUProfile()
		t.Error("another profile could start while ours runs")
	}
	p.Pause()
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatalf("while paused: %v", err)
	}
	if err := p.Resume(); !errors.Is(err, stacks.ErrBusy) {
		t.Errorf("resume while another profile runs: %v, want ErrBusy", err)
	}
	pprof.StopCPUProfile()
	if err := p.Resume(); err != nil {
		t.Errorf("resume: %v", err)
	}
	pprof.StopCPUProfile() // a stop of what was never started
	p.Pause()
	if err := p.Resume(); err != nil {
		t.Errorf("resume after a foreign stop: %v", err)
	}
	burnSine(forTime(100 * time.Millisecond))
	if got := p.Snapshot(0).Process().Total().Samples; got == 0 {
		t.Error("no samples after all that")
	}
}

func TestRecordWithoutAProfiler(t *testing.T) {
	start(t, stacks.WithPaused())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		burnSine(func() bool {
			select {
			case <-stop:
				return true
			default:
				return false
			}
		})
	})
	var b bytes.Buffer
	err := stacks.Record(context.Background(), &b, time.Second)
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	r, err := stacks.Read(&b)
	if err != nil || r.Process().Total().Samples == 0 || r.Duration < time.Second {
		t.Errorf("recording of %v: %v, %v", r.Duration, r.Process().Total(), err)
	}
}
