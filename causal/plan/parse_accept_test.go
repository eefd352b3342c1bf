package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/causal/internal/plantest"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/testutil/threadtime"
)

func TestParseDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc := plantest.Document()
		got, err := Parse(doc)
		if err != nil {
			t.Fatal(err)
		}
		want := &Plan{
			API:       "causal/v1",
			ID:        "plan-1",
			ExpiresAt: time.Date(2000, 1, 1, 0, 30, 0, 0, time.UTC),
			Mode:      profile.ModeDilation,
			Regions:   []RegionPattern{{Span: "*"}},
			Progress:  []ProgressPoint{{Span: "root", Type: "throughput"}},
			Grid:      Grid{Speedups: []float64{0, 10, 25, 50}, ZeroWeight: 0.4},
			Timing: Timing{
				Warmup:        Duration(2 * time.Second),
				Experiment:    Duration(2 * time.Second),
				Cooloff:       Duration(200 * time.Millisecond),
				MinProgress:   5,
				MaxExperiment: Duration(time.Minute),
			},
			Limits: Limits{PerSpan: Duration(5 * time.Millisecond), PerTrace: Duration(25 * time.Millisecond), Duty: 0.05, Total: Duration(time.Minute)},
			Abort:  Abort{P99Ratio: 1.2, ErrDelta: 0.005, Window: Duration(10 * time.Second), MinSamples: 200},
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Plan{})); diff != "" {
			t.Errorf("Parse(%q) differs, -want +got:\n%s", doc, diff)
		}
		sum := sha256.Sum256(doc)
		if want := hex.EncodeToString(sum[:]); got.Hash() != want {
			t.Errorf("Hash() = %s, want %s", got.Hash(), want)
		}
	})
}

func TestParseReadsEveryKey(t *testing.T) {
	want := &Plan{
		API:        "causal/v1",
		ID:         "0d9c",
		Generation: 946_684_800e9 + 3600e9, // the last one at this time
		Author:     "yes",
		Reason:     "who is\nslow?\n",
		IssuedAt:   time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		Restart:    true,
		NotBefore:  time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC),
		ExpiresAt:  time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC),
		Target:     Target{Service: "shop", Env: "prod", Instances: Instances{Percent: 2.5}},
		Mode:       profile.ModeDilation,
		Regions:    []RegionPattern{{Scope: "shop/*", Span: "GET /items/{id}"}, {Span: "*"}},
		Progress:   []ProgressPoint{{Span: "checkout", Type: "throughput"}},
		Grid:       Grid{Speedups: []float64{0, 12.5, 80}, ZeroWeight: 0.9},
		Timing: Timing{
			Warmup:        0,
			Experiment:    Duration(10 * time.Millisecond),
			Cooloff:       Duration(time.Minute),
			MinProgress:   1e6,
			MaxExperiment: Duration(10 * time.Minute),
		},
		Seed:   math.MinInt64,
		Limits: Limits{PerSpan: Duration(time.Microsecond), PerTrace: Duration(90 * time.Millisecond), Duty: 1, Total: Duration(24 * time.Hour)},
		Abort:  Abort{P99Ratio: 1e3, P99: Duration(1500 * time.Millisecond), ErrDelta: 0.001, Window: Duration(10 * time.Minute), MinSamples: 1},
	}
	for name, doc := range map[string]string{
		"YAML": `---
# Comments and both styles are fine.
api: causal/v1
id: "0d9c"
generation: 946688400000000000
author: yes
reason: |
  who is
  slow?
issued_at: 2000-01-01T00:00:00Z
restart: true
not_before: 2000-01-01T00:10:00Z
expires_at: "2000-01-01T02:00:00+01:00"
target: {service: shop, env: prod, instances: {percent: 2.5}}
mode: dilation
regions:
  - scope: shop/*
    span: GET /items/{id}
  - {span: "*"}
progress:
  - span: checkout
    type: throughput
grid: {speedups: [0, 12.5, 80], zero_weight: 0.9}
timing:
  warmup: 0s
  experiment: 10ms
  cooloff: 1m
  min_progress: 1000000
  max_experiment: 10m
seed: -9223372036854775808
limits: {per_span: 1us, per_trace: 90ms, duty: 100 %, total: 24h}
abort: {p99_ratio: 1000, p99: 1.5s, err_delta: "0.1%", window: 10m0s, min_samples: 1}
`,
		"JSON": `{
	"api": "causal\/v1", "id": "0d9\u0063", "generation": 946688400000000000, "author": "yes",
	"reason": "who is\nslow?\n",
	"issued_at": "2000-01-01T00:00:00Z", "restart": true,
	"not_before": "2000-01-01T00:10:00Z", "expires_at": "2000-01-01T01:00:00Z",
	"target": {"service": "shop", "env": "prod", "instances": {"percent": 2.5}},
	"mode": "dilation",
	"regions": [{"scope": "shop/*", "span": "GET /items/{id}"}, {"span": "*"}],
	"progress": [{"span": "checkout", "type": "throughput"}],
	"grid": {"speedups": [0, 12.5, 8E1], "zero_weight": 9e-1},
	"timing": {"warmup": "0s", "experiment": "10ms", "cooloff": "1m", "min_progress": 1000000, "max_experiment": "10m"},
	"seed": -9223372036854775808,
	"limits": {"per_span": "1µs", "per_trace": "90ms", "duty": "100%", "total": "24h"},
	"abort": {"p99_ratio": 1000, "p99": "1.5s", "err_delta": "0.1%", "window": "10m", "min_samples": 1}
}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := Parse([]byte(doc))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Plan{})); diff != "" {
					t.Errorf("Parse(%s) differs, -want +got:\n%s", doc, diff)
				}
			})
		})
	}
}

// progressPoints are n of them.
func progressPoints(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "{span: a%d, type: throughput}, ", i)
	}
	return list.String()
}

// Each value at the edge of its range is inside.
func TestParseAcceptsEdges(t *testing.T) {
	for _, line := range []string{
		"id: " + strings.Repeat("i", 128),
		"author: " + strings.Repeat("a", 256),
		"reason: " + strings.Repeat("r", 1024),
		"expires_at: 2000-01-01T01:00:00Z",
		"expires_at: 2000-01-01T00:00:00.000000001Z",
		"not_before: 1990-01-01T00:00:00Z",
		"target: {instances: {percent: 0.001}}",
		"target: {instances: {percent: 100}}",
		"regions: [" + strings.Repeat("{span: a}, ", 64) + "]",
		"regions: [{span: " + strings.Repeat("s", 256) + ", scope: " + strings.Repeat("s", 256) + "}]",
		"progress: [" + progressPoints(16) + "]",
		"grid: {speedups: [80], zero_weight: 0.1}",
		"grid: {speedups: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]}",
		"expires_at: 2000-01-01T00:19:00Z\ntiming: {warmup: 0s, experiment: 10ms, cooloff: 0s, min_progress: 1, max_experiment: 10ms}",
		"timing: {warmup: 1m, experiment: 5m, cooloff: 1m, min_progress: 1000000, max_experiment: 10m}",
		"mode: slowdown\nregions: [{scope: s, span: a\\*}]\ntiming: {epoch: 2s}\ntarget: {service: a, watch: [b]}",
		"mode: slowdown\nregions: [{scope: s, span: a}]\ntiming: {epoch: 1m}\ntarget: {instances: {percent: 5}}",
		"limits: {per_span: 1us, per_trace: 1us, duty: 0.001%, total: 1us}",
		"limits: {per_span: 1s, per_trace: 1m, duty: 100%, total: 24h}",
		"abort: {p99_ratio: 1.001, p99: 0s, err_delta: 0.001%, window: 1s, min_samples: 1}",
		"abort: {p99_ratio: 1000, p99: 1h, err_delta: 100%, window: 10m, min_samples: 1000000}",
	} {
		synctest.Test(t, func(t *testing.T) {
			if _, err := Parse(plantest.Document(strings.Split(line, "\n")...)); err != nil {
				t.Errorf("Parse(… %.100s) = %v, want none", line, err)
			}
		})
	}
	doc := plantest.Document()
	doc = append(doc, []byte(strings.Repeat("#", MaxBytes-len(doc)))...)
	if _, err := Parse(doc); err != nil {
		t.Errorf("Parse of %d bytes = %v, want none", len(doc), err)
	}
}

// TestSpeedupsTakeThePercentSign: 25% and 25 are alike for speed-ups, and for all other numbers in
// percent.
func TestSpeedupsTakeThePercentSign(t *testing.T) {
	want := mustParse(t, "grid: {speedups: [0, 10, 25]}", "target: {instances: {percent: 5}}", "mode: overlap",
		"progress: [{span: root, type: latency, quantiles: [50, 99.9]}]")
	got := mustParse(t, `grid: {speedups: [0%, "10 %", 25%]}`, "target: {instances: {percent: 5%}}", "mode: overlap",
		`progress: [{span: root, type: latency, quantiles: ['50%', 99.9]}]`)
	if diff := cmp.Diff(want.Grid, got.Grid); diff != "" {
		t.Errorf("grid (-plain +signs):\n%s", diff)
	}
	if diff := cmp.Diff(want.Target, got.Target); diff != "" {
		t.Errorf("target (-plain +signs):\n%s", diff)
	}
	if diff := cmp.Diff(want.Progress, got.Progress); diff != "" {
		t.Errorf("progress (-plain +signs):\n%s", diff)
	}
	for _, line := range []string{"grid: {speedups: [ten%]}", "grid: {speedups: [25%%]}", "grid: {zero_weight: 40%}", "restart: 1", "restart: yes%"} {
		if p, err := Parse(plantest.Document(line)); !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse(… %s) = %v, %v, want ErrInvalid", line, p, err)
		}
	}
}

func TestPercentText(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Percent
		back string
	}{
		{"5%", 0.05, "5%"},
		{" 7 % ", 0.07, "7%"},
		{"0.5%", 0.005, "0.5%"},
		{"100%", 1, "100%"},
		{"1.23456789012345%", 0.0123456789012345, "1.23456789012345%"},
		{"1e-7%", 1e-9, "1e-07%"},
	} {
		var p Percent
		if err := p.UnmarshalText([]byte(tt.text)); err != nil {
			t.Errorf("UnmarshalText(%q) = %v", tt.text, err)
			continue
		}
		if math.Abs(float64(p-tt.want)) > 1e-15*float64(tt.want) {
			t.Errorf("UnmarshalText(%q) gives %g, want %g", tt.text, float64(p), float64(tt.want))
		}
		if got := p.String(); got != tt.back {
			t.Errorf("String() after UnmarshalText(%q) = %q, want %q", tt.text, got, tt.back)
		}
	}
}

// inRange fails the test for a plan that Parse must not have let through. It repeats
// the ranges of the documentation, not the code that checks them.
func inRange(t *testing.T, p *Plan, now time.Time) {
	t.Helper()
	between := func(what string, v, lo, hi float64) {
		if !(v >= lo && v <= hi) {
			t.Errorf("%s = %g, want it in [%g, %g]", what, v, lo, hi)
		}
	}
	between("len(id)", float64(len(p.ID)), 1, 128)
	between("len(regions)", float64(len(p.Regions)), 1, 64)
	between("len(progress)", float64(len(p.Progress)), 1, 16)
	between("expires_at", p.ExpiresAt.Sub(now).Seconds(), -60, 3600)
	between("percent", p.Target.Instances.Percent, 0, 100)
	positive := false
	for _, s := range p.Grid.Speedups {
		between("speedup", s, 0, 80)
		positive = positive || s > 0
	}
	if !positive {
		t.Errorf("speedups %v: none is above 0", p.Grid.Speedups)
	}
	between("zero_weight", p.Grid.ZeroWeight, 0.1, 0.9)
	between("warmup", float64(p.Timing.Warmup), 0, float64(time.Minute))
	between("experiment", float64(p.Timing.Experiment), 1e7, float64(5*time.Minute))
	between("cooloff", float64(p.Timing.Cooloff), 0, float64(time.Minute))
	between("max_experiment", float64(p.Timing.MaxExperiment), float64(p.Timing.Experiment), float64(10*time.Minute))
	if p.ByClock() {
		between("epoch", float64(p.Timing.Epoch), 2e9, float64(time.Minute))
	}
	between("min_progress", float64(p.Timing.MinProgress), 1, 1e6)
	between("per_span", float64(p.Limits.PerSpan), 1e3, 1e9)
	between("per_trace", float64(p.Limits.PerTrace), 1e3, float64(time.Minute))
	between("duty", float64(p.Limits.Duty), math.SmallestNonzeroFloat64, 1)
	between("total", float64(p.Limits.Total), 1e3, float64(24*time.Hour))
	between("p99_ratio", p.Abort.P99Ratio, 1, 1000)
	between("err_delta", float64(p.Abort.ErrDelta), math.SmallestNonzeroFloat64, 1)
	between("window", float64(p.Abort.Window), 1e9, float64(10*time.Minute))
	between("min_samples", float64(p.Abort.MinSamples), 1, 1e6)
	if p.API != API || !p.Mode.Delays() {
		t.Errorf("api %q, mode %q", p.API, p.Mode)
	}
}

// parseWithin is what is promised for any document, also one that is refused.
const parseWithin = 50 * time.Millisecond

// parseSoon parses a document and fails the test if that takes too long. A machine that is busy
// is no reason: where the processor's time is known, it counts; and one try may be slow, not each.
func parseSoon(t *testing.T, doc string) (p *Plan, err error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fastest := time.Hour
	for range 5 {
		began := threadtime.Now()
		p, err = Parse([]byte(doc))
		if fastest = min(fastest, threadtime.Now()-began); fastest <= raceFactor*parseWithin {
			return p, err
		}
	}
	t.Errorf("Parse of %d bytes takes %v, want at most %v: %.60q", len(doc), fastest, parseWithin, doc)
	return p, err
}

// checkCaps fails the test if a plan that is accepted would exceed the program's own limits.
func checkCaps(t *testing.T, p *Plan) {
	t.Helper()
	caps := Limits{PerSpan: Duration(3 * time.Millisecond), PerTrace: Duration(20 * time.Millisecond), Duty: 0.03, Total: Duration(10 * time.Second)}
	got := p.Limits.Tighten(caps)
	if got.PerSpan > caps.PerSpan || got.PerTrace > caps.PerTrace || got.Duty > caps.Duty || got.Total > caps.Total {
		t.Errorf("limits in force %+v, want none above %+v", got, caps)
	}
	if got != got.Tighten(p.Limits) {
		t.Errorf("limits in force %+v, want none above the plan's %+v", got, p.Limits)
	}
}

// The documents that take a parser longest.
func TestParseRefusesSoon(t *testing.T) {
	for name, part := range map[string]string{
		"deep lists": "[", "deep mappings": "{a: ", "deep lines": "- ", "keys": "a: 1\n", "the same key": "id: a\n", "anchors": "- &a b\n", "aliases": "*a ",
		"quotes": `"\u0041`, "comments": "#\n", "blanks": " ", "regions": "{span: a}, ", "numbers": "9", "tags": "!!int ", "documents": "---\na\n", "JSON": `[{"a":`,
		"merge keys": "<<: {a: b}\n", "questions": "? ",
	} {
		for _, head := range []string{"", "regions: [", "api: causal/v1\nid: "} {
			doc := head + strings.Repeat(part, (MaxBytes-len(head))/len(part))
			if _, err := parseSoon(t, doc); err == nil {
				t.Errorf("%s behind %q are accepted", name, head)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(plantest.Document()))
	f.Add(string(plantest.Document("generation: 7", "author: ann", "reason: |\n  why\n  not", "target: {service: a, env: b, instances: {percent: 5}}")))
	f.Add(string(plantest.Document("grid: {speedups: [0, 12.5, 80], zero_weight: 0.3}", "seed: -4", "not_before: 2020-01-01T00:00:00.5+01:00")))
	f.Add(string(plantest.Document("timing: {warmup: 0s, experiment: 10ms, cooloff: 1m, min_progress: 3, max_experiment: 1m30s}", "limits: {per_span: 1s, per_trace: 1m, duty: 100%, total: 24h}", "abort: {p99_ratio: 1000, err_delta: 100%, min_samples: 1}")))
	f.Add(string(plantest.Document("limits: {duty: 1.2345678901234567%}", "abort: {err_delta: 1e-5%, p99: 1.5s}")))
	f.Add(string(plantest.Document(`id: "\x7f\u0085\u00a0\u2028\ufeff\uffff\U0001F600<&>"`, `author: "\t\e\0"`)))
	if whole, err := json.Marshal(mustParse(f, "generation: 7")); err == nil {
		f.Add(string(whole))
	}
	for _, c := range refused {
		if c.doc == "" {
			c.doc = string(plantest.Document(c.lines...))
		}
		f.Add(c.doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		p, err := parseSoon(t, doc)
		if (p == nil) == (err == nil) {
			t.Fatalf("Parse(%q) = %v, %v: want one of both", doc, p, err)
		}
		if err != nil {
			return
		}
		inRange(t, p, time.Now())
		checkCaps(t, p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("Marshal of Parse(%q) = %v", doc, err)
		}
		if len(text) > MaxBytes {
			return // escapes and defaults can make it larger than what it came from
		}
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("Parse(%s), which is Parse(%q) as JSON: %v", text, doc, err)
		}
		// Percentages far below any use have fewer digits.
		tiny := cmp.Comparer(func(a, b Percent) bool { return a == b || max(a, b) < 1e-300 })
		if diff := cmp.Diff(p, again, cmpopts.IgnoreUnexported(Plan{}), tiny); diff != "" {
			t.Errorf("Parse(%s), which is Parse(%q) as JSON, differs, -first +second:\n%s", text, doc, diff)
		}
	})
}

func TestProgressPointMetrics(t *testing.T) {
	for _, tt := range []struct {
		lines string
		want  []profile.Metric
	}{
		{"progress: [{span: a, type: throughput}]", []profile.Metric{profile.MetricThroughput}},
		{"progress: [{span: a, type: latency}]", []profile.Metric{profile.MetricLatencyP50, profile.MetricLatencyP90, profile.MetricLatencyP99}},
		{"progress: [{span: a, type: latency, quantiles: [99.9, 75]}]", []profile.Metric{"latency_p99.9", "latency_p75"}},
	} {
		p := mustParse(t, "-mode", tt.lines)
		got, at := p.Progress[0].Metrics()
		if diff := cmp.Diff(tt.want, got); diff != "" || len(at) != len(got) || p.Mode != profile.ModeSlowdown {
			t.Errorf("%s: metrics differ, -want +got:\n%s", tt.lines, diff)
		}
	}
}

func TestParseAutoRegions(t *testing.T) {
	p := mustParse(t, "regions: [{span: a}, {auto: 4}, {auto: 2, scope: db}]")
	want := []RegionPattern{{Span: "a"}, {Auto: 4}, {Auto: 2, Scope: "db"}}
	if diff := cmp.Diff(want, p.Regions); diff != "" {
		t.Errorf("regions differ, -want +got:\n%s", diff)
	}
	for i, want := range []string{"a", "auto 4", "db:auto 2"} {
		if got := p.Regions[i].String(); got != want || i > 0 && p.Regions[i].Match("db", "query") {
			t.Errorf("region %d: %q, want %q, and no match", i, got, want)
		}
	}
}
