package backends

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// lines calls f with each line of a file of OTLP-JSON lines.
func lines(file string, f func([]byte) error) error {
	r, err := os.Open(file)
	if err != nil {
		return err
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() && err == nil {
		err = f(s.Bytes())
	}
	if err = errors.Join(err, s.Err(), r.Close()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// spansIn returns the spans of a file, by key; none is there twice.
func spansIn(t testing.TB, file string) map[string]span {
	t.Helper()
	all := map[string]span{}
	err := lines(file, func(line []byte) error {
		traces, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(line)
		if err != nil {
			return err
		}
		for _, s := range spansOf(traces) {
			if _, twice := all[s.key()]; twice {
				return fmt.Errorf("span %s: is there twice", s.key())
			}
			all[s.key()] = s
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// pointsIn returns the last exponential histograms of a file and how many data points of all kinds
// it has.
func pointsIn(t testing.TB, file string) (histograms []point, dataPoints int) {
	t.Helper()
	last := map[string]point{}
	err := lines(file, func(line []byte) error {
		metrics, err := new(pmetric.JSONUnmarshaler).UnmarshalMetrics(line)
		if err != nil {
			return err
		}
		dataPoints += metrics.DataPointCount()
		for _, r := range metrics.ResourceMetrics().All() {
			for _, s := range r.ScopeMetrics().All() {
				for _, m := range s.Metrics().All() {
					if m.Type() != pmetric.MetricTypeExponentialHistogram {
						continue
					}
					for _, p := range m.ExponentialHistogram().DataPoints().All() {
						last[fmt.Sprint(m.Name(), p.Attributes().AsRaw(), r.Resource().Attributes().AsRaw())] = point{m.Name(), r.Resource().Attributes(), p}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range last {
		histograms = append(histograms, p)
	}
	return histograms, dataPoints
}

// A point is an exponential histogram of one series.
type point struct {
	name     string
	resource pcommon.Map
	pmetric.ExponentialHistogramDataPoint
}

func (p point) attribute(key string) string {
	v, _ := p.Attributes().Get(key)
	return v.AsString()
}

// buckets are the counts above zero by the buckets' index at a scale.
func (p point) buckets() map[int]float64 {
	all := map[int]float64{}
	for i, n := range p.Positive().BucketCounts().All() {
		if n > 0 {
			all[int(p.Positive().Offset())+i] = float64(n)
		}
	}
	return all
}

// byIndex are a native histogram's buckets as [point.buckets] are at a scale: bucket i ends at
// 2^((i+1)/2^scale).
func (h histogram) byIndex(scale int) map[int]float64 {
	all := map[int]float64{}
	for _, b := range h.Buckets {
		if b.Lower > 0 {
			all[int(math.Round(math.Log2(b.Upper)*math.Exp2(float64(scale))))-1] = b.Count
		}
	}
	return all
}

// TestFiles sends the lines of an application's data folder to the Collector.
func TestFiles(t *testing.T) {
	s := newStack(t, nil)
	dir := t.TempDir()
	a := newApp(t, "files", []string{"OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"}, dir)
	a.work(t, 500)
	a.shutdown(t)

	want := spansIn(t, filepath.Join(dir, "traces.jsonl"))
	points, _ := pointsIn(t, filepath.Join(dir, "metrics.jsonl"))
	for _, signal := range []string{"traces", "metrics"} {
		err := lines(filepath.Join(dir, signal+".jsonl"), func(line []byte) error {
			answer, err := client.Post("http://"+s.http+"/v1/"+signal, "application/json", bytes.NewReader(bytes.Clone(line)))
			if err != nil {
				return err
			}
			if answer.StatusCode != http.StatusOK {
				err = errors.New(answer.Status)
			}
			return errors.Join(err, answer.Body.Close())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := s.jaeger.all(t, "files", len(want))
	check(t, "files_traces", "figure=%d of %d spans of our file are in Jaeger", same(t, got, want), len(want))
	check(t, "files_metrics", "figure=%d of %d histograms of our file are in Prometheus, bucket for bucket", s.prometheus.holds(t, points), len(points))
}

// same compares spans and returns how many are equal.
func same(t testing.TB, got, want map[string]span) (equal int) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d spans, want %d", len(got), len(want))
	}
	for key, w := range want {
		g, ok := got[key]
		if !ok {
			t.Fatalf("span %s, %s: is missing", key, w.Name())
		}
		if diff := cmp.Diff(text(t, w), text(t, g)); diff != "" {
			t.Fatalf("span %s (-want +got):\n%s", key, diff)
		}
		equal++
	}
	return equal
}

// text writes a span as OTLP-JSON, with its scope and its resource. Attributes have no order on the
// wire, so they are sorted.
func text(t testing.TB, s span) string {
	t.Helper()
	traces := ptrace.NewTraces()
	r := traces.ResourceSpans().AppendEmpty()
	s.resource.CopyTo(r.Resource().Attributes())
	r.ScopeSpans().AppendEmpty().Scope().SetName(s.scope)
	one := r.ScopeSpans().At(0).Spans().AppendEmpty()
	s.CopyTo(one)
	one.Attributes().Remove("@jaeger@warnings") // of a query while spans were still coming in
	sorted(r.Resource().Attributes())
	sorted(one.Attributes())
	for _, e := range one.Events().All() {
		sorted(e.Attributes())
	}
	for _, l := range one.Links().All() {
		sorted(l.Attributes())
	}
	text, err := new(ptrace.JSONMarshaler).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sorted(m pcommon.Map) {
	in := pcommon.NewMap()
	for _, k := range slices.Sorted(maps.Keys(maps.Collect(m.All()))) {
		v, _ := m.Get(k)
		v.CopyTo(in.PutEmpty(k))
	}
	in.MoveTo(m)
}
