package backends

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestScaleOut lets four instances of the demo export to two agents, and those to two gateways, one
// of which is killed in the middle of it and comes back.
func TestScaleOut(t *testing.T) {
	j, p := newJaeger(t), newPrometheus(t)
	behind := []string{"JAEGER_ENDPOINT=" + j.otlp, "PROMETHEUS_ENDPOINT=" + p.address, "DECISION_WAIT=1s", "SAMPLING_PERCENTAGE=100"}
	gateways := [2]*collector{newCollector(t, "gateway1", behind, "gateway.yaml"), newCollector(t, "gateway2", behind, "gateway.yaml")}
	front := []string{"GATEWAYS=[" + gateways[0].grpc + ", " + gateways[1].grpc + "]"}
	agents := [2]*collector{newCollector(t, "agent1", front, "agent.yaml"), newCollector(t, "agent2", front, "agent.yaml")}

	var shops [4]*process
	var data [4]string
	for i := range shops {
		data[i] = t.TempDir()
		shops[i] = start(t, fmt.Sprint("shop", i+1), ours(t, "shop"), agents[i%2].exporting("OTEL_BSP_MAX_QUEUE_SIZE=50000"),
			"-for", "16s", "-clients", "1", "-listen", "127.0.0.1:0", "-data", data[i], "-plan", noPlan(t))
	}
	time.Sleep(6 * time.Second)
	gateways[0].kill()
	time.Sleep(3 * time.Second)
	gateways[0].restart(t)
	for _, s := range shops {
		s.succeeds(t)
	}

	// Each part, bucket for bucket, and what the parts are together.
	sums := map[string]map[int]float64{}
	series, values := 0, 0
	for i := range shops {
		points, _ := pointsIn(t, filepath.Join(data[i], "otlp", "metrics.jsonl"))
		series += p.holds(t, points)
		for _, one := range points {
			if one.name != "otelprof.region.duration" {
				continue
			}
			region := one.attribute("otelprof.region.name")
			if sums[region] == nil {
				sums[region] = map[int]float64{}
			}
			for index, n := range one.buckets() {
				sums[region][index] += n
				values += int(n)
			}
		}
	}
	check(t, "scaleout_parts", "figure=%d histograms of 4 instances are in Prometheus, bucket for bucket", series)
	for region, want := range sums {
		merged := p.one(t, fmt.Sprintf(`sum(otelprof_region_duration_seconds{job="shop", otelprof_region_name=%q})`, region)).Histogram
		if merged == nil {
			t.Fatalf("region %s: no native histogram", region)
		}
		if diff := cmp.Diff(want, merged.byIndex(8)); diff != "" {
			t.Errorf("region %s: merged histogram (-want +got):\n%s", region, diff)
		}
	}
	check(t, "scaleout_merged", "figure=%d merged histograms with %d values equal the sums of their parts, bucket for bucket", len(sums), values)

	// No data point that an agent has accepted is lost with the gateway.
	var accepted float64
	for _, a := range agents {
		accepted += a.counter(t, "otelcol_receiver_accepted_metric_points")
		for _, name := range []string{"otelcol_receiver_refused_metric_points", "otelcol_exporter_enqueue_failed_metric_points", "otelcol_exporter_send_failed_metric_points"} {
			if n := a.counter(t, name); n > 0 {
				t.Errorf("%s: %s is %v, want 0", a.name, name, n)
			}
		}
	}
	var kept float64
	eventually(t, 30*time.Second, func() error {
		var err error
		if kept, err = p.samples(t, "shop"); err != nil {
			return err
		}
		if kept < accepted {
			return fmt.Errorf("%v data points in Prometheus, want %v", kept, accepted)
		}
		return nil
	})
	if kept != accepted {
		t.Errorf("%v data points in Prometheus, want %v", kept, accepted)
	}
	check(t, "scaleout_lost", "figure=%.0f data points lost of %.0f that the agents accepted, though a gateway was killed and away for 3 s", accepted-kept, accepted)

	// Traces wait in a gateway's memory until they are judged; those are what is lost with it.
	want := map[string]span{}
	for i := range shops {
		maps.Copy(want, spansIn(t, filepath.Join(data[i], "otlp", "traces.jsonl")))
	}
	var got map[string]span
	eventually(t, time.Minute, func() error {
		last := len(got)
		got = j.all(t, "shop", 1)
		if len(got) == len(want) || len(got) == last {
			return nil
		}
		time.Sleep(time.Second)
		return fmt.Errorf("%d spans in Jaeger, and more are coming", len(got))
	})
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("span %s: not made by any process", key)
		}
	}
	check(t, "scaleout_traces", "figure=%.2f%% of %d spans were being judged in the gateway that was killed", 100*(1-float64(len(got))/float64(len(want))), len(want))
}

// samples returns how many Prometheus has of a service.
func (p *prometheus) samples(t testing.TB, service string) (sum float64, err error) {
	names, err := p.values(t, "__name__", fmt.Sprintf("{job=%q}", service))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if name == "target_info" { // which Prometheus makes itself
			continue
		}
		all, err := p.query(t.Context(), fmt.Sprintf("sum(count_over_time(%s{job=%q}[10m]))", name, service))
		if err != nil {
			return 0, err
		}
		for _, one := range all {
			sum += one.Value
		}
	}
	return sum, nil
}

// noPlan is the path of a plan that ended long ago.
func noPlan(t testing.TB) string {
	t.Helper()
	return planFile(t, time.Now().Add(-time.Minute))
}

// counter returns the sum over all series of one of the Collector's own counters.
func (c *collector) counter(t testing.TB, name string) (sum float64) {
	t.Helper()
	text, err := get(t.Context(), "http://"+c.metrics+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, name) {
			continue
		}
		number := strings.TrimSpace(line[strings.LastIndexByte(line, '}')+1:])
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(v) {
			t.Fatalf("%s: metric %q: %v", c.name, line, err)
		}
		sum += v
	}
	return sum
}

// TestTailSampling lets a gateway keep only traces that matter: all traces of experiments must be
// there, in full.
func TestTailSampling(t *testing.T) {
	j, p := newJaeger(t), newPrometheus(t)
	gateway := newCollector(t, "gateway", []string{"JAEGER_ENDPOINT=" + j.otlp, "PROMETHEUS_ENDPOINT=" + p.address, "DECISION_WAIT=3s", "SAMPLING_PERCENTAGE=0"}, "gateway.yaml")
	data := t.TempDir()
	shop := start(t, "shop", ours(t, "shop"), []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + gateway.grpc, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_BSP_MAX_QUEUE_SIZE=50000"},
		"-for", "8s", "-clients", "2", "-listen", "127.0.0.1:0", "-data", data, "-plan", writePlan(t))
	shop.succeeds(t)
	all := spansIn(t, filepath.Join(data, "otlp", "traces.jsonl"))
	told := map[string]bool{} // traces of experiments, and slow ones
	traces := map[string]bool{}
	for _, one := range all {
		id := one.TraceID().String()
		traces[id] = true
		delay, ok := one.Attributes().Get("otelprof.causal.delay_ns")
		if ok && delay.Int() > 0 || one.EndTimestamp().AsTime().Sub(one.StartTimestamp().AsTime()) > 500*time.Millisecond {
			told[id] = true
		}
	}
	want := map[string]span{}
	for key, one := range all {
		if told[one.TraceID().String()] {
			want[key] = one
		}
	}
	got := j.all(t, "shop", len(want))
	check(t, "tail_sampling", "figure=%d spans of %d traces with experiments are kept, in full, and nothing else of %d traces", same(t, got, want), len(told), len(traces))
	if len(told) == 0 || len(told) == len(traces) {
		t.Errorf("%d of %d traces tell of experiments, want some", len(told), len(traces))
	}
}
