package backends

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// servicesPlan is a plan by the clock: stock delays, the shop counts.
const servicesPlan = `
api: causal/v1
id: services
restart: true
expires_at: %s
mode: slowdown
target: {service: stock, watch: [shop]}
regions: [{scope: stock, span: SELECT items}]
progress: [{span: GET /cart, type: throughput}, {span: GET /cart, type: latency, quantiles: [50]}]
grid: {speedups: [0, 10, 25, 50]}
timing: {warmup: 1s, epoch: 2s}
limits: {per_span: 50ms, per_trace: 500ms, duty: 100%%, total: 10m}
abort: {p99_ratio: 100, err_delta: 100%%, window: 10s, min_samples: 100}
`

// selecting is what the stock takes, see package pair.
const selecting = 4 * time.Millisecond

// servicesFor is how long the plan lasts.
const servicesFor = 100 * time.Second

// TestFleetServices asks what a region of one service is worth to another. One of three replicas is
// killed meanwhile. The processes' own profiles, one Prometheus, and what can be computed say the
// same.
func TestFleetServices(t *testing.T) {
	p := newPrometheus(t)
	c := newCollector(t, "collector", []string{"PROMETHEUS_ENDPOINT=" + p.address}, "collector.yaml")
	ends := time.Now().Add(servicesFor)
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(fmt.Sprintf(servicesPlan, ends.UTC().Format(time.RFC3339))), 0o644); err != nil {
		t.Fatal(err)
	}
	var stocks, viewers []string
	var processes []*process
	begin := func(name string, args ...string) {
		viewer := freeAddress(t)
		env := c.exporting("OTEL_TRACES_EXPORTER=none", "OTELPROF_REPLAY=off", "OTELPROF_PLAN_FILE="+file, "OTELPROF_VIEWER="+viewer)
		processes = append(processes, start(t, name, ours(t, "pair"), env, args...))
		viewers = append(viewers, "http://"+viewer)
	}
	for i := range 3 {
		stocks = append(stocks, freeAddress(t))
		begin(fmt.Sprint("stock", i+1), "-service", "stock", "-listen", stocks[i])
	}
	begin("shop1", "-service", "shop", "-stocks", strings.Join(stocks, ","))
	time.Sleep(time.Until(ends.Add(-servicesFor / 3)))
	processes[0].kill() // what it counted is in Prometheus
	time.Sleep(time.Until(ends))

	alone, together := reportOf(t, viewers[3]), reportOf(t, viewers...)
	for _, curve := range alone.Curves {
		if curve.Mode == profile.ModeSlowdown && curve.Effects[0].Known() {
			t.Errorf("the shop alone says %+v, though it delays nothing", curve.Effects[0])
		}
	}
	if len(together.Notes) == 0 || !strings.Contains(strings.Join(together.Notes, "\n"), "left out") {
		t.Errorf("notes %q: want the replica that is left out", together.Notes)
	}
	var own profile.Curve
	for _, curve := range together.Curves {
		if curve.Metric == profile.MetricThroughput && curve.Mode == profile.ModeSlowdown && curve.Progress == "GET /cart" {
			own = curve
		}
	}
	if len(own.Slopes) != 2 {
		t.Fatalf("slopes %+v, want two levels; of %+v", own.Slopes, together)
	}
	var fromMetrics profile.Profile
	eventually(t, 20*time.Second, func() error { // the last export
		fromMetrics = reportOf(t, "-prometheus", "http://"+p.address)
		if len(fromMetrics.Curves) == 0 {
			return fmt.Errorf("no curve: %v", fromMetrics.Notes)
		}
		return nil
	})
	figures := ""
	for _, curve := range fromMetrics.Curves {
		if curve.Metric != profile.MetricThroughput {
			continue
		}
		// The processes' own profiles have no leverage as exact as that: one of them is gone, and
		// with it its part of what was selected. A cart waits for what is selected, and two clients
		// look at carts side by side.
		leverage, stdErr, known := curve.Leverage()
		if !known || math.Abs(leverage-0.5) > max(0.05, 3*stdErr) {
			t.Errorf("leverage %.3f ±%.3f, known: %v: want 0.5; of %+v", leverage, stdErr, known, curve)
		}
		figures = fmt.Sprintf("leverage %.3f ±%.3f, %d epochs", leverage, stdErr, own.Slopes[0].Samples)
		for _, s := range curve.Slopes {
			for _, x := range own.Slopes {
				if x.Level != s.Level {
					continue
				}
				off := 10 * math.Abs(x.Elasticity-s.Elasticity) // percentage points at 10 % faster
				figures += fmt.Sprintf("; by %g elasticity %.3f, from metrics %.3f", s.Level, x.Elasticity, s.Elasticity)
				// Metrics have no epochs of their own: which placebos stand beside which holds
				// differs.
				if chance := 2 * 10 * math.Hypot(x.StdErr, s.StdErr); off > max(0.5, chance) {
					t.Errorf("level %g: elasticity %.3f by the processes, %.3f by their metrics: more than .5 points apart, and than %.1f by chance", s.Level, x.Elasticity, s.Elasticity, chance)
				}
			}
		}
	}
	for _, d := range readDashboards(t) {
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				if strings.Contains(target.Expr, "otelprof:causal") {
					expression := strings.ReplaceAll(target.Expr, "$point", "GET /cart")
					ask(t, panel.Title, func() (int, error) { return p.ruled(t, expression) })
				}
			}
		}
	}
	check(t, "fleet_services", "%s; a replica was killed", figures)
}

// reportOf is what otelprof report says, as JSON.
func reportOf(t *testing.T, args ...string) profile.Profile {
	t.Helper()
	p, err := profileOf(t, append([]string{"report", "-format", "json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// profileOf is the profile that a command writes.
func profileOf(t *testing.T, args ...string) (profile.Profile, error) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), ours(t, "otelprof"), args...)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return profile.Profile{}, fmt.Errorf("%q: %w\n%s", args, err, stderr.Bytes())
	}
	return profile.Read(bytes.NewReader(text))
}

// TestJoinedServices asks what a region of one service is worth to another one from recordings of
// both, joined, and holds that against what can be computed: nothing is delayed.
func TestJoinedServices(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("two-services-of-one-fleet"), 0o600); err != nil {
		t.Fatal(err)
	}
	var viewers []string
	begin := func(name string, args ...string) {
		viewer := freeAddress(t)
		env := []string{"OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTELPROF_VIEWER=" + viewer, "OTELPROF_VIEWER_TOKEN_FILE=" + token}
		start(t, name, ours(t, "pair"), env, args...)
		viewers = append(viewers, "http://"+viewer)
	}
	stock := freeAddress(t)
	begin("stock", "-service", "stock", "-listen", stock)
	begin("shop", "-service", "shop", "-stocks", stock)
	var p profile.Profile
	eventually(t, 30*time.Second, func() (err error) { // until both answer
		p, err = profileOf(t, append([]string{"whatif", "-token-file", token, "-record", "5s", "-region", "SELECT items", "-speedup", "50", "-json"}, viewers...)...)
		if err == nil && slices.ContainsFunc(p.Notes, func(note string) bool { return strings.Contains(note, " is left out: ") }) {
			err = fmt.Errorf("notes %q: want both", p.Notes)
		}
		return err
	})
	clocks := ""
	for _, note := range p.Notes {
		if strings.HasPrefix(note, "clock of "+viewers[1]) {
			clocks = note
		}
	}
	if clocks == "" {
		t.Errorf("notes %q: none about the clock of %s", p.Notes, viewers[1])
	}
	for _, curve := range p.Curves {
		if curve.Progress != "GET /cart" || curve.Metric != profile.MetricThroughput {
			continue
		}
		e := curve.Effects[0]
		want := 0.5 * selecting.Seconds() / (2 * curve.BasePeriod.Seconds()) // two clients look at carts side by side
		if !e.Known() || want < e.Lo || want > e.Hi {
			t.Errorf("SELECT items half as long: %+v, want %.3f", e, want)
		}
		check(t, "joined_services", "SELECT items of stock 50 %% faster: carts of the shop %.1f %% (%.1f to %.1f) sooner, %.1f can be computed; %s", 100*e.Reduction, 100*e.Lo, 100*e.Hi, 100*want, clocks)
		return
	}
	t.Errorf("no curve of SELECT items on GET /cart: %+v", p)
}
