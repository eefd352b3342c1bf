package backends

import (
	"fmt"
	"net/url"
	"testing"
	"time"
)

// exemplars returns those of the series in an expression, of the last hour. A place is called by
// its region or else by its metric.
func (p *prometheus) exemplars(t testing.TB, expression string) (all []place, err error) {
	t.Helper()
	now := time.Now()
	values := url.Values{"query": {expression}, "start": {now.Add(-time.Hour).Format(time.RFC3339)}, "end": {now.Add(time.Hour).Format(time.RFC3339)}}
	var answer struct {
		Data []struct {
			SeriesLabels map[string]string
			Exemplars    []struct{ Labels map[string]string }
		}
	}
	if err := getJSON(t.Context(), "http://"+p.address+"/api/v1/query_exemplars?"+values.Encode(), &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", expression, err)
	}
	for _, s := range answer.Data {
		name := s.SeriesLabels["otelprof_region_name"]
		if name == "" {
			name = s.SeriesLabels["__name__"]
		}
		for _, e := range s.Exemplars {
			all = append(all, place{e.Labels["trace_id"], e.Labels["span_id"], name})
		}
	}
	return all, nil
}

// TestExemplars goes from latencies in Prometheus to traces in Jaeger: those of regions, and of the
// application's own histogram.
func TestExemplars(t *testing.T) {
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			s := newStack(t, nil)
			a := newApp(t, "exemplars", s.exporting("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="+temporality), "")
			for range 3 {
				a.work(t, 100)
				time.Sleep(1100 * time.Millisecond) // an export
			}
			a.shutdown(t)
			var regions, own []place
			eventually(t, 20*time.Second, func() (err error) {
				if regions, err = s.prometheus.exemplars(t, `otelprof_region_duration_seconds{job="exemplars"}`); err != nil {
					return err
				}
				if own, err = s.prometheus.exemplars(t, `histogram_quantile(0.99, rate(app_latency_seconds{job="exemplars"}[1m]))`); err != nil {
					return err
				}
				if len(regions) == 0 || len(own) == 0 {
					err = fmt.Errorf("%d exemplars of regions, %d of a histogram: want some of each", len(regions), len(own))
				}
				return err
			})
			names := map[string]bool{}
			for _, p := range regions {
				names[p.name] = true
			}
			if !names["checkout"] || !names["price"] || !names["pay"] {
				t.Errorf("exemplars of regions %v: want some of each", names)
			}
			for i := range own {
				own[i].name = "checkout" // in whose context the values were recorded
			}
			asked, traces := s.jaeger.holds(t, append(regions, own...))
			check(t, "exemplars_"+temporality, "figure=%d of %d exemplars of latencies in Prometheus, %d of regions and %d of a histogram, lead to their span in Jaeger, in %d traces",
				asked, asked, len(regions), len(own), traces)
		})
	}
}
