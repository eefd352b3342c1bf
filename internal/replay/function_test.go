package replay

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// sampledLoops records a goroutine that computes for 10 ms in each round and waits for 10 ms in
// dial. Of its samples, one a millisecond, three of four are in hash.
func sampledLoops(t *testing.T) *trace.Recording {
	t.Helper()
	const ms = 1_000_000
	b := trace.NewRecorder(0, 1)
	b.R.Sites = append(b.R.Sites,
		trace.Site{Frames: []trace.Frame{{Func: "crypto.(*sha).block"}, {Func: "main.hash"}, {Func: "main.work"}}},
		trace.Site{Frames: []trace.Frame{{Func: "main.render"}, {Func: "main.work"}}},
		trace.Site{Frames: []trace.Frame{{Func: "time.Sleep"}, {Func: "main.dial"}, {Func: "main.work"}}})
	b.Running(0, 1)
	at := int64(0)
	for range 50 {
		for i := range int64(8) {
			site := int32(1)
			if i%4 == 3 {
				site = 2
			}
			b.Add(trace.Event{Kind: trace.EvSample, At: at + i*ms, G: b.Goroutine(1), By: trace.NoWaker, Site: site})
		}
		at += 10 * ms
		b.Visit(at, 1, "done")
		b.Wait(at, 1, 3)
		at += 10 * ms
		b.Ready(at, 1, -1)
		b.Start(at, 1, 0)
	}
	return recorded(t, b, at)
}

func TestFunction(t *testing.T) {
	for _, tt := range []struct {
		pattern        string
		samples, waits int
		period         float64 // if it is 40 % faster, ms
	}{
		{"main.hash", 300, 0, 20 - 0.4*7.5},
		{"crypto.(*sha).*", 300, 0, 20 - 0.4*7.5},
		{"main.render", 100, 0, 20 - 0.4*2.5},
		{"main.dial", 0, 50, 20 - 0.4*10},
		{"main.work", 400, 50, 20 - 0.4*20},
		{"main.nothing", 0, 0, 20},
	} {
		r := sampledLoops(t)
		samples, waits := infer.Function(r, tt.pattern)
		base, changed := Predict(r, "done", Speedup{trace.Region{Scope: trace.FunctionScope, Name: tt.pattern}, 0.4})
		if samples != tt.samples || waits != tt.waits || math.Abs(base/20e6-1) > 0.01 || math.Abs(changed/(1e6*tt.period)-1) > 0.01 {
			t.Errorf("%s: %d samples, %d waits, period %v, then %v; want %d, %d, 20 and %v ms", tt.pattern, samples, waits, base, changed, tt.samples, tt.waits, tt.period)
		}
	}
}

// TestManyFunctions asks about more functions than a byte can number: the first one and the last
// one are not the same.
func TestManyFunctions(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.R.Sites = append(b.R.Sites,
		trace.Site{Frames: []trace.Frame{{Func: "time.Sleep"}, {Func: "main.dial"}}},
		trace.Site{Frames: []trace.Frame{{Func: "time.Sleep"}, {Func: "main.rest"}}})
	b.Running(0, 1)
	at := int64(0)
	wait := func(site, d int64) {
		b.Wait(at, 1, site)
		at += d
		b.Ready(at, 1, -1)
		b.Start(at, 1, 0)
	}
	for range 50 {
		at += 10 * ms
		wait(1, 10*ms)
		b.Visit(at, 1, "done")
		wait(2, 20*ms)
	}
	r := recorded(t, b, at)
	infer.Function(r, "main.dial")
	for i := range 255 {
		infer.Function(r, fmt.Sprint("main.nothing", i))
	}
	infer.Function(r, "main.rest")
	for pattern, period := range map[string]float64{"main.dial": 40 - 0.4*10, "main.rest": 40 - 0.4*20} {
		base, changed := Predict(r, "done", Speedup{trace.Region{Scope: trace.FunctionScope, Name: pattern}, 0.4})
		if math.Abs(base/40e6-1) > 0.01 || math.Abs(changed/(1e6*period)-1) > 0.01 {
			t.Errorf("%s: period %v, then %v; want 40 and %v ms", pattern, base, changed, period)
		}
	}
}

// TestFunctionBusiest asks about a function like about any other region.
func TestFunctionBusiest(t *testing.T) {
	r := sampledLoops(t)
	infer.Function(r, "main.render")
	infer.Function(r, "main.dial")
	infer.Function(r, "main.nothing")
	p := infer.NewProgram(r, true)
	var names []string
	for _, i := range busiest(p, 5, nil) {
		names = append(names, r.Regions[i].Name)
	}
	if diff := cmp.Diff([]string{"main.dial", "main.render", "main.nothing"}, names); diff != "" {
		t.Errorf("busiest (-want +got):\n%s", diff)
	}
}
