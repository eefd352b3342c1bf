package backends

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

// fleetPlan has slow-downs of two regions, at a level of .1 and of .3, and ends while the shops
// run.
const fleetPlan = `
api: causal/v1
id: fleet
restart: true
expires_at: %s
mode: slowdown
regions: [{span: reserve stock}, {span: price cart}]
progress: [{span: POST /orders, type: throughput}]
grid: {speedups: [0, 10, 50], zero_weight: 0.4}
timing: {warmup: 2s, experiment: 800ms, cooloff: 20ms, min_progress: 5, max_experiment: 5s}
limits: {per_span: 50ms, per_trace: 500ms, duty: 100%%, total: 10m}
abort: {p99_ratio: 100, err_delta: 100%%, window: 10s, min_samples: 100}
`

// fleetFor is how long the experiments take.
const fleetFor = 70 * time.Second

// TestFleetLeverage lets two shops slow regions down, each by itself. What a millisecond is worth
// is the same by PromQL, from their counters in one Prometheus, as from both processes' profiles.
func TestFleetLeverage(t *testing.T) {
	p := newPrometheus(t)
	c := newCollector(t, "collector", []string{"PROMETHEUS_ENDPOINT=" + p.address}, "collector.yaml")
	ends := time.Now().Add(fleetFor)
	text := fmt.Sprintf(fleetPlan, ends.UTC().Format(time.RFC3339))
	var urls []string
	for i := range 2 {
		data, address := t.TempDir(), freeAddress(t)
		plan := filepath.Join(data, "plan.yaml")
		if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		start(t, fmt.Sprint("shop", i+1), ours(t, "shop"), c.exporting("OTEL_TRACES_EXPORTER=none", "OTELPROF_REPLAY=off"),
			"-clients", "4", "-listen", address, "-data", data, "-plan", plan)
		urls = append(urls, "http://"+address+"/api/v1/causal/profile?samples=1")
	}

	var profiles []profile.Profile
	time.Sleep(time.Until(ends)) // each look would cost the shops some of their processors
	eventually(t, 20*time.Second, func() error {
		profiles = nil
		for _, url := range urls {
			text, err := get(t.Context(), url)
			if err != nil {
				return err
			}
			one, err := profile.Read(bytes.NewReader(text))
			switch {
			case err != nil:
				return err
			case one.Ended.IsZero():
				return fmt.Errorf("%s: the plan has not ended", url)
			}
			profiles = append(profiles, one)
		}
		return nil
	})
	merged := profile.Merge(profiles...)

	rules, figures := 0, []string{}
	for _, curve := range merged.Curves {
		if curve.Mode != profile.ModeSlowdown {
			continue
		}
		for _, slope := range curve.Slopes {
			want := leverageOf(profiles, curve, slope.Level)
			expression := fmt.Sprintf(`otelprof:causal_leverage:ratio{otelprof_causal_progress_point=%q, otelprof_region_name=%q, otelprof_causal_speedup="%g"}`,
				curve.Progress, curve.Region.Name, slope.Level)
			var promql float64
			eventually(t, 40*time.Second, func() error { // rules are evaluated each 15 s
				promql = p.one(t, expression).Value
				if math.Abs(promql-want) > 1e-6*math.Abs(want) {
					return fmt.Errorf("%s: %g, want %g, from the sums of both profiles", expression, promql, want)
				}
				return nil
			})
			rules++
			unit := float64(curve.BasePeriod) / float64(curve.Own)
			elasticity := p.one(t, strings.Replace(expression, "leverage", "elasticity", 1)).Value
			if off := math.Abs(elasticity*unit/promql - 1); !(off < 0.25) {
				t.Errorf("%s, level %g: elasticity %.3f by PromQL, want leverage %.3f times own time by period, %.3f", curve.Region, slope.Level, elasticity, promql, 1/unit)
			}
			estimate, stdErr := slope.Elasticity*unit, slope.StdErr*unit
			if slope.Samples < 10 || math.Abs(promql-estimate) > max(3*math.Sqrt2*stdErr, 0.25*math.Abs(estimate)) {
				t.Errorf("%s, level %g: leverage %.3f by PromQL, %.3f ±%.3f by the processes, from %d windows", curve.Region, slope.Level, promql, estimate, stdErr, slope.Samples)
			}
			figures = append(figures, fmt.Sprintf("promql=%.3f processes=%.3f ±%.3f for %s by %g", promql, estimate, stdErr, curve.Region, slope.Level))
		}
	}
	if rules != 4 {
		t.Errorf("%d leverages, want 4: of two regions at two levels", rules)
	}
	report, err := exec.CommandContext(t.Context(), ours(t, "otelprof"), "report", "-prometheus", "http://"+p.address, "-match", `job="shop"`).Output()
	worth := regexp.MustCompile(`each ms taken from reserve stock takes (.*) from`).FindSubmatch(report)
	if err != nil || worth == nil {
		t.Fatalf("report: %v: want what each ms is worth:\n%s", err, report)
	}
	check(t, "fleet_leverage", "%s; %d rules equal to what the sums of %d processes give; by the report %s for reserve stock",
		strings.Join(figures, ", "), rules, len(profiles), worth[1])
}

// leverageOf is by how much longer visits take for each ms of delay: of each process beside its own
// placebos, and added up.
func leverageOf(profiles []profile.Profile, of profile.Curve, level float64) float64 {
	var excess, taken float64
	for _, p := range profiles {
		var slowed, placed profile.Tally
		for _, t := range p.Tallies {
			switch {
			case t.Mode != of.Mode || t.Region != of.Region || t.Progress != of.Progress:
			case t.Speedup == level:
				slowed = t
			case t.Speedup == 0:
				placed = t
			}
		}
		excess += slowed.Effective.Seconds() - float64(slowed.Visits)/float64(placed.Visits)*placed.Effective.Seconds()
		taken += slowed.Delay.Seconds() - float64(slowed.Own)/float64(placed.Own)*placed.Delay.Seconds()
	}
	return excess / taken
}
