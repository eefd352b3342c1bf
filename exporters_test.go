package otelprof

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/otelprof/otelprof/internal/naming"
)

// What has not changed is exported once, and again at the end, where Shutdown flushes and collects.
func TestExportOfUnchangedRegions(t *testing.T) {
	dir := t.TempDir()
	p, err := Setup(t.Context(), WithoutGlobals(), WithoutReplay(), WithDataDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.TracerProvider().Tracer("shop").Start(t.Context(), "still")
	span.End()
	points := func() int {
		text, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), `"still"`)
	}
	for range 3 {
		if err := p.meters.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := points(); got != 3 {
		t.Errorf("after three collections %d points of the region, want one of each of its three metrics", got)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := points(); got != 9 {
		t.Errorf("at the end %d points of the region, want 9", got)
	}
}

// The variable holds for the program's histograms and ours.
func TestExplicitHistogramsByEnv(t *testing.T) {
	for value, exponential := range map[string]bool{"": true, "Explicit_Bucket_Histogram": false, "base2_exponential_bucket_histogram": true, "smooth": true} {
		t.Run(value, func(t *testing.T) {
			r := newReceiver(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", value)
			p, l := setup(t)
			spanOf(p, "checkout")
			histogram, err := p.MeterProvider().Meter("test").Float64Histogram("payment.duration", metric.WithUnit("s"))
			if err != nil {
				t.Fatal(err)
			}
			histogram.Record(t.Context(), 0.0125)
			if err := p.Shutdown(within(t, 10*time.Second)); err != nil {
				t.Error(err)
			}
			for _, name := range []string{"payment.duration", naming.RegionDurationMetric} {
				if !slices.Contains(r.metrics, name) || slices.Contains(r.exponential, name) != exponential {
					t.Errorf("%s: received %q, of which exponential %q, want it to be exponential: %v", name, r.metrics, r.exponential, exponential)
				}
			}
			if said := strings.Contains(strings.Join(l.warnings(), ""), "METRICS_DEFAULT_HISTOGRAM_AGGREGATION"); said != (value == "smooth") {
				t.Errorf("said %q", l.warnings())
			}
		})
	}
}
