package backends

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/integration/backends/programs"
	"github.com/otelprof/otelprof/internal/testutil"
)

// planText is a plan of short experiments, so that a short run has some.
const planText = `
api: causal/v1
id: integration-%d
restart: true
expires_at: %s
mode: overlap
regions: [{span: reserve stock}, {span: price cart}]
progress: [{span: POST /orders, type: throughput}, {span: POST /orders, type: latency}]
grid: {speedups: [0, 25, 50], zero_weight: 0.3}
timing: {warmup: 1s, experiment: 200ms, cooloff: 20ms, min_progress: 5, max_experiment: 5s}
limits: {per_span: 50ms, per_trace: 500ms, duty: 100%%, total: 10m}
abort: {p99_ratio: 100, err_delta: 100%%, window: 10s, min_samples: 200}
`

// writePlan returns the path of a plan that is in force for half an hour.
func writePlan(t testing.TB) string {
	t.Helper()
	return planFile(t, time.Now().Add(30*time.Minute))
}

func planFile(t testing.TB, expires time.Time) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	text := fmt.Sprintf(planText, time.Now().UnixNano(), expires.UTC().Format(time.RFC3339))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestDemo(t *testing.T) {
	files := t.TempDir()
	s := newStack(t, []string{"FILE_DIR=" + files}, "collector-file.yaml")
	data := t.TempDir()
	shop := start(t, "shop", ours(t, "shop"), s.exporting("OTEL_BSP_MAX_QUEUE_SIZE=50000"),
		"-for", "15s", "-clients", "2", "-listen", "127.0.0.1:0", "-data", data, "-plan", writePlan(t))
	shop.succeeds(t)
	wrote := filepath.Join(data, "otlp")
	want := spansIn(t, filepath.Join(wrote, "traces.jsonl"))
	points, dataPoints := pointsIn(t, filepath.Join(wrote, "metrics.jsonl"))

	t.Run("Jaeger", func(t *testing.T) {
		services, err := s.jaeger.services(t.Context())
		if err != nil || !slices.Contains(services, "shop") {
			t.Errorf("services: %q, %v: want shop among them", services, err)
		}
		got := s.jaeger.all(t, "shop", len(want))
		check(t, "demo_traces", "figure=%d of %d spans are in Jaeger, equal in everything", same(t, got, want), len(want))
		var counted, delayed int
		traces := map[string]int{}
		for _, one := range got {
			if _, ok := one.Attributes().Get("pmu.source"); ok {
				counted++
			}
			if v, ok := one.Attributes().Get("otelprof.causal.delay_ns"); ok && v.Int() > 0 {
				delayed++
			}
			traces[one.TraceID().String()]++
		}
		check(t, "demo_pmu", "figure=%d spans in Jaeger have counters", counted)
		check(t, "demo_delay", "figure=%d spans in Jaeger tell of inserted delay, in %d traces", delayed, len(traces))
		if counted == 0 || delayed == 0 {
			t.Error("no counters, or no delay: want both in a run with an experiment")
		}
	})

	t.Run("Prometheus", func(t *testing.T) {
		check(t, "demo_histograms", "figure=%d of %d histograms are in Prometheus, bucket for bucket", s.prometheus.holds(t, points), len(points))
		var names []string
		for _, p := range points {
			if !slices.Contains(names, p.name) {
				names = append(names, p.name)
			}
		}
		for _, name := range []string{"otelprof.region.duration", "http.server.request.duration"} {
			if !slices.Contains(names, name) {
				t.Errorf("histograms: %q: want %s among them", names, name)
			}
		}
	})

	t.Run("CLI", func(t *testing.T) {
		report, err := exec.CommandContext(t.Context(), ours(t, "otelprof"), "report", "-prometheus", "http://"+s.prometheus.address, "-match", `job="shop"`).Output()
		if err != nil {
			t.Fatal(err)
		}
		printed, err := os.ReadFile(shop.log)
		if err != nil {
			t.Fatal(err)
		}
		effects := regexp.MustCompile(`-?\d+\.\d \(-?\d+\.\d \.\. -?\d+\.\d\)`)
		// The shop ends with one table, of the progress point with the most visits; its effects
		// have standard errors, which metrics do not, and changes of the program are behind it.
		_, table, _ := strings.Cut(string(printed), "by how many % ")
		table, _, _ = strings.Cut(table, "shrinks with\n")
		want := effects.FindAllString(regexp.MustCompile(` ±\d+\.\d`).ReplaceAllString(table, ""), -1)
		got := effects.FindAllString(string(report), -1)
		missing := slices.DeleteFunc(slices.Clone(want), func(effect string) bool { return slices.Contains(got, effect) })
		if len(missing) > 0 || len(want) == 0 {
			t.Errorf("effects that the shop has printed and Prometheus has not: %q\n%s\n%s", missing, table, report)
		}
		check(t, "demo_causal", "figure=%d effects that the demo has printed are among %d in Prometheus", len(want), len(got))
	})

	// The queries of docs/backends.md, at this stack.
	t.Run("Docs", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			testutil.Lacks(t, "INTEGRATION", "curl is not installed, which docs/backends.md uses")
		}
		page, err := os.ReadFile(filepath.Join(root, "docs", "backends.md"))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(page), "\\\n", "")
		if flags := strings.Join(programs.PrometheusFlags, " "); !strings.Contains(text, flags) {
			t.Errorf("docs/backends.md: starts Prometheus without %s", flags)
		}
		here := strings.NewReplacer("127.0.0.1:16686", s.jaeger.query, "127.0.0.1:9090", s.prometheus.address, "otelprof report", ours(t, "otelprof")+" report")
		commands := regexp.MustCompile(`(?m)^    ((?:curl|otelprof) .*)$`).FindAllStringSubmatch(text, -1)
		for _, m := range commands {
			out, err := exec.CommandContext(t.Context(), "sh", "-c", here.Replace(m[1])).Output()
			if err != nil || len(out) == 0 || strings.Contains(string(out), `"result":[]`) || strings.Contains(string(out), `"services":[]`) {
				t.Errorf("%s: %v\n%s", m[1], err, out)
			}
		}
		if len(commands) < 3 {
			t.Errorf("%d commands in docs/backends.md, want 3 or more", len(commands))
		}
		check(t, "docs", "figure=%d commands of docs/backends.md find the demo's data", len(commands))
	})

	t.Run("Files", func(t *testing.T) {
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
		check(t, "file_traces", "figure=%d of %d spans are in the Collector's file, equal in everything", same(t, spansIn(t, filepath.Join(files, "traces.jsonl")), want), len(want))
		written, n := pointsIn(t, filepath.Join(files, "metrics.jsonl"))
		check(t, "file_metrics", "figure=%d data points in the Collector's file, %d in ours", n, dataPoints)
		if len(written) != len(points) {
			t.Errorf("%d series of histograms in the Collector's file, want %d", len(written), len(points))
		}
	})
}
