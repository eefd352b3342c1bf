package saved_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/otelhdr"
)

// Buckets that a view has made explicit have no percentiles as fine as ours: that they are left out
// is said, with the name of the metric.
func TestExplicitBuckets(t *testing.T) {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "shop")
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName(naming.SpansScope)
	for _, name := range []string{naming.RegionDurationMetric, "of no region"} {
		m := sm.Metrics().AppendEmpty()
		m.SetName(name)
		points := m.SetEmptyHistogram().DataPoints()
		for range 2 {
			if p := points.AppendEmpty(); name == naming.RegionDurationMetric {
				p.Attributes().PutStr(string(naming.RegionNameKey), "price")
			}
		}
	}
	text, err := new(pmetric.JSONMarshaler).MarshalMetrics(md)
	if err != nil {
		t.Fatal(err)
	}
	d := read(t, "m.jsonl", line("1", "1", "", "a", 0, 1)+"\n"+string(text)+"\n")
	f := d.Files[0]
	if want := "metric " + naming.RegionDurationMetric + ": explicit buckets: must be an exponential histogram"; f.Damaged != 1 || !strings.Contains(f.Problems[0].Error(), want) {
		t.Errorf("problems %v of %d, want one: %s", f.Problems, f.Damaged, want)
	}
}

// export is one collection of one process.
type export struct {
	process    string
	start, at  int // s
	delta      bool
	durations  *otelhdr.Snapshot
	self       float64
	errors     int64
	regionName string
	schemaURL  string // of the scope
}

func (e export) line(t *testing.T) string {
	t.Helper()
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "shop")
	rm.Resource().Attributes().PutStr("service.instance.id", e.process)
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName(naming.SpansScope)
	temporality := pmetric.AggregationTemporalityCumulative
	if e.delta {
		temporality = pmetric.AggregationTemporalityDelta
	}
	region := func(m pcommon.Map) {
		m.PutStr(string(naming.RegionNameKey), e.regionName)
		m.PutStr(string(naming.RegionScopeKey), "s")
		m.PutStr(string(naming.RegionScopeSchemaURLKey), e.schemaURL)
	}
	start, at := pcommon.Timestamp(e.start)*1e9, pcommon.Timestamp(e.at)*1e9
	m := sm.Metrics().AppendEmpty()
	m.SetName(naming.RegionDurationMetric)
	h := m.SetEmptyExponentialHistogram()
	h.SetAggregationTemporality(temporality)
	from := e.durations.Exponential(8, time.Nanosecond.Seconds())
	p := h.DataPoints().AppendEmpty()
	region(p.Attributes())
	p.SetStartTimestamp(start)
	p.SetTimestamp(at)
	p.SetCount(from.Count)
	p.SetSum(from.Sum)
	if v, ok := from.Min.Value(); ok {
		p.SetMin(v)
	}
	if v, ok := from.Max.Value(); ok {
		p.SetMax(v)
	}
	p.SetScale(from.Scale)
	p.SetZeroCount(from.ZeroCount)
	p.Positive().SetOffset(from.PositiveBucket.Offset)
	p.Positive().BucketCounts().FromRaw(from.PositiveBucket.Counts)

	sum := func(name string, set func(pmetric.NumberDataPoint)) {
		m := sm.Metrics().AppendEmpty()
		m.SetName(name)
		s := m.SetEmptySum()
		s.SetAggregationTemporality(temporality)
		p := s.DataPoints().AppendEmpty()
		region(p.Attributes())
		p.SetStartTimestamp(start)
		p.SetTimestamp(at)
		set(p)
	}
	sum(naming.RegionSelfTimeMetric, func(p pmetric.NumberDataPoint) { p.SetDoubleValue(e.self) })
	sum(naming.RegionErrorsMetric, func(p pmetric.NumberDataPoint) { p.SetIntValue(e.errors) })
	text, err := new(pmetric.JSONMarshaler).MarshalMetrics(md)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// durations has n values, 1000 ns apart.
func durations(t *testing.T, n uint64) *otelhdr.Snapshot {
	t.Helper()
	h, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	for v := range n {
		h.Record(1000 * (v + 1))
	}
	return h.Snapshot(nil)
}

func TestMetrics(t *testing.T) {
	for _, tt := range []struct {
		name    string
		exports []export
		count   uint64
		errors  uint64
		self    time.Duration
		max     uint64
	}{
		{"cumulative: the last counts", []export{
			{start: 1, at: 2, durations: durations(t, 100), self: 1, errors: 1},
			{start: 1, at: 3, durations: durations(t, 1000), self: 2, errors: 3},
		}, 1000, 3, 2 * time.Second, 1_000_000},
		{"in any order", []export{
			{start: 1, at: 3, durations: durations(t, 1000), self: 2, errors: 3},
			{start: 1, at: 2, durations: durations(t, 100), self: 1, errors: 1},
		}, 1000, 3, 2 * time.Second, 1_000_000},
		{"a restart is added", []export{
			{start: 1, at: 3, durations: durations(t, 1000), self: 2, errors: 3},
			{start: 9, at: 10, durations: durations(t, 100), self: 1, errors: 1},
		}, 1100, 4, 3 * time.Second, 1_000_000},
		{"processes are added", []export{
			{process: "a", start: 1, at: 3, durations: durations(t, 1000), self: 2, errors: 3},
			{process: "b", start: 1, at: 3, durations: durations(t, 100), self: 1, errors: 1},
		}, 1100, 4, 3 * time.Second, 1_000_000},
		{"versions of a scope's schema are added", []export{
			{schemaURL: "a", start: 1, at: 3, durations: durations(t, 1000), self: 2, errors: 3},
			{schemaURL: "b", start: 1, at: 3, durations: durations(t, 100), self: 1, errors: 1},
		}, 1100, 4, 3 * time.Second, 1_000_000},
		{"deltas are added", []export{
			{start: 1, at: 2, durations: durations(t, 1000), self: 2, errors: 3, delta: true},
			{start: 2, at: 3, durations: durations(t, 100), self: 1, errors: 1, delta: true},
		}, 1100, 4, 3 * time.Second, 1_000_000},
	} {
		var text strings.Builder
		for _, e := range tt.exports {
			e.regionName = "price"
			text.WriteString(e.line(t))
		}
		d := read(t, "metrics.jsonl", text.String())
		if len(d.Regions) != 1 {
			t.Errorf("%s: regions %v, want one", tt.name, d.Regions)
			continue
		}
		r := d.Regions[0]
		if r.Name != "price" || r.Scope.Name != "s" || r.Count != tt.count || r.Errors != tt.errors || r.Self != tt.self || r.Durations.Max() != tt.max || r.Durations.Min() != 1000 {
			t.Errorf("%s: %+v, max %d; want %d spans, %d errors, %v, max %d", tt.name, r, r.Durations.Max(), tt.count, tt.errors, tt.self, tt.max)
		}
	}
}

// TestRelativeError checks the bound over the ranges of nanoseconds to hours.
func TestRelativeError(t *testing.T) {
	h, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	var values []uint64
	for v := 1.0; v < 1e13; v *= 1.37 {
		values = append(values, uint64(v))
		h.Record(uint64(v))
	}
	e := export{start: 1, at: 2, durations: h.Snapshot(nil), regionName: "r"}
	d := read(t, "metrics.jsonl", e.line(t))
	if !(d.RelativeError > 0.001 && d.RelativeError < 0.004) {
		t.Errorf("error %g, want that of scale 8, 0.1 %% and a half", d.RelativeError)
	}
	for i, v := range values {
		got := d.Regions[0].Durations.Percentile(100 * float64(i+1) / float64(len(values)))
		if diff := math.Abs(float64(got)-float64(v)) - 1; diff > d.RelativeError*float64(v) {
			t.Errorf("value %d = %d, want within %g", v, got, d.RelativeError)
		}
	}
}

// A distribution of the coarsest scale bounds nothing, but a page can be made of it.
func TestRelativeErrorIsFinite(t *testing.T) {
	e := export{start: 1, at: 2, durations: durations(t, 10), regionName: "r"}
	good := e.line(t)
	text := strings.Replace(good, `"scale":8`, `"scale":-10`, 1)
	if text == good {
		t.Fatalf("no scale in %s", good)
	}
	if d := read(t, "metrics.jsonl", text); len(d.Regions) != 1 || d.RelativeError < 1 || math.IsInf(d.RelativeError, 0) {
		t.Errorf("%d regions, error %g, want one, and a large error that is finite", len(d.Regions), d.RelativeError)
	}
}

// TestMetricsAndTraces checks that the source with more spans is taken, and the kind of the traces.
func TestMetricsAndTraces(t *testing.T) {
	traces := line("1", "1", "", "price", 0, 3) + line("2", "1", "", "ship", 0, 3)
	few := export{start: 1, at: 2, durations: durations(t, 1000), regionName: "price"}
	none := export{start: 1, at: 2, durations: durations(t, 0), regionName: "ship"}
	d := read(t, "all.jsonl", traces+few.line(t)+none.line(t))
	counts := map[string]uint64{}
	for _, r := range d.Regions {
		counts[r.Name+" "+r.Kind.String()] = r.Count
	}
	if fmt.Sprint(counts) != "map[price unspecified:1000 ship unspecified:1]" {
		t.Errorf("regions = %v, want 1000 of price by its metrics and 1 of ship by its span", counts)
	}
	if f := d.Files[0]; f.Spans != 2 || f.Points != 6 {
		t.Errorf("%d spans and %d points, want 2 and 6", f.Spans, f.Points)
	}
}

func TestDamagedMetrics(t *testing.T) {
	e := export{start: 1, at: 2, durations: durations(t, 10), regionName: "r", delta: true}
	good := e.line(t)
	for _, tt := range []struct{ old, new, want string }{
		{`"scale":8`, `"scale":80`, "exponential histogram of scale 80: must be in [-10, 20]"},
		{`"count":"10"`, `"count":"ten"`, "must be OTLP-JSON"},
	} {
		text := strings.Replace(good, tt.old, tt.new, 1)
		if text == good {
			t.Fatalf("%s is not in %s", tt.old, good)
		}
		d := read(t, "metrics.jsonl", text+good)
		if p := d.Files[0].Problems; len(p) != 1 || p[0].Line != 1 || !strings.Contains(p[0].Error(), tt.want) {
			t.Errorf("%s: problems %v, want %q", tt.new, p, tt.want)
		}
		if len(d.Regions) != 1 || d.Regions[0].Count != 10 {
			t.Errorf("%s: regions %v, want that of the other line", tt.new, d.Regions)
		}
	}
}
