package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/testutil"
)

// fakeMetrics is an exporter that does what export does, and notes how many data points each export
// had.
type fakeMetrics struct {
	sdkmetric.Exporter
	export func(number int) error
	took   time.Duration
	points []int
	seen   []string // scope, metric and kind of each point
}

func (f *fakeMetrics) Export(_ context.Context, rm *metricdata.ResourceMetrics) error {
	number := len(f.points)
	f.points = append(f.points, DataPoints(rm))
	f.seen = append(f.seen, flat(rm)...)
	time.Sleep(f.took)
	if f.export != nil {
		return f.export(number)
	}
	return nil
}

// flat is a line for each data point: where it belongs, and its attributes' or, without any, its
// place.
func flat(rm *metricdata.ResourceMetrics) (lines []string) {
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			for i := range Points(m.Data) {
				lines = append(lines, fmt.Sprintf("%s %s %T %v", scope.Scope.Name, m.Name, m.Data, cut(m.Data, i, i+1)))
			}
		}
	}
	return lines
}

// everyKind has metrics of every kind, n data points each, which differ in their times.
func everyKind(n int) *metricdata.ResourceMetrics {
	number := 0
	next := func() time.Time { number++; return time.Unix(int64(number), 0) }
	numbers := make([]metricdata.DataPoint[int64], n)
	floats := make([]metricdata.DataPoint[float64], n)
	integerHistograms := make([]metricdata.HistogramDataPoint[int64], n)
	histograms := make([]metricdata.HistogramDataPoint[float64], n)
	integerExponentials := make([]metricdata.ExponentialHistogramDataPoint[int64], n)
	exponentials := make([]metricdata.ExponentialHistogramDataPoint[float64], n)
	summaries := make([]metricdata.SummaryDataPoint, n)
	for i := range n {
		numbers[i].Time, floats[i].Time, integerHistograms[i].Time, histograms[i].Time = next(), next(), next(), next()
		integerExponentials[i].Time, exponentials[i].Time, summaries[i].Time = next(), next(), next()
	}
	scope := func(name string, data ...metricdata.Aggregation) metricdata.ScopeMetrics {
		s := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: name}}
		for i, d := range data {
			s.Metrics = append(s.Metrics, metricdata.Metrics{Name: fmt.Sprint(i), Data: d})
		}
		return s
	}
	return &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{
		scope("numbers", metricdata.Gauge[int64]{DataPoints: numbers}, metricdata.Gauge[float64]{DataPoints: floats},
			metricdata.Sum[int64]{DataPoints: numbers}, metricdata.Sum[float64]{DataPoints: floats}),
		scope("empty"),
		scope("histograms", metricdata.Histogram[int64]{DataPoints: integerHistograms}, metricdata.Histogram[float64]{DataPoints: histograms},
			metricdata.ExponentialHistogram[int64]{DataPoints: integerExponentials},
			metricdata.ExponentialHistogram[float64]{DataPoints: exponentials}, metricdata.Summary{DataPoints: summaries}, nil),
	}}
}

// The pieces of a collection are of bounded size and number, and together they are the collection.
func TestMetricsGoInPieces(t *testing.T) {
	for _, one := range []struct{ each, exports, largest int }{
		{0, 1, 1},
		{1, 1, 10},
		{14, 1, 127},
		{15, 2, 128},
		{1000, 32, 282},
		{5000, 32, 1407},
	} {
		t.Run(fmt.Sprint(one.each), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rm := everyKind(one.each)
				f := &fakeMetrics{}
				e := WrapMetrics(f, NewMonitor(Config{Name: "x", Unit: "data points"}))
				if err := e.Export(t.Context(), rm); err != nil {
					t.Fatal(err)
				}
				if len(f.points) != one.exports || f.points[0] != one.largest {
					t.Errorf("exports of %v points, want %d, of %d at most", f.points, one.exports, one.largest)
				}
				if diff := cmp.Diff(flat(rm), f.seen); diff != "" {
					t.Errorf("points (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(Stats{Name: "x", Exported: uint64(9*one.each + 1)}, e.Stats()); diff != "" {
					t.Errorf("Stats (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A fakeFile waits for no answer.
type fakeFile struct{ fakeMetrics }

func (*fakeFile) AtOnce() int { return 64 }

// Exports that wait for no answer are no larger than wanted, however many they are.
func TestMetricsGoInPiecesAsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFile{}
		_ = WrapMetrics(f, NewMonitor(Config{Name: "x"})).Export(t.Context(), everyKind(1000))
		if len(f.points) != 9001/64+1 || slices.Max(f.points) != 64 {
			t.Errorf("%d exports of %d points at most, want %d of 64", len(f.points), slices.Max(f.points), 9001/64+1)
		}
	})
}

// After a piece that fails no further one is tried, and all that are left count as failed once.
func TestPieceThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeMetrics{export: func(number int) error {
			if number == 2 {
				return errors.New("down")
			}
			return nil
		}}
		logger, _ := newLogger()
		e := WrapMetrics(f, NewMonitor(Config{Name: "x", Unit: "data points", Logger: logger}))
		_ = e.Export(t.Context(), everyKind(100))
		want := Stats{Name: "x", Exported: 256, Failed: 901 - 256, FailedExports: 1, Outage: "down"}
		if diff := cmp.Diff(want, e.Stats()); diff != "" || len(f.points) != 3 {
			t.Errorf("%d exports, want 3; Stats (-want +got):\n%s", len(f.points), diff)
		}
	})
}

// A piece of which some points are refused keeps the others from nothing.
func TestPieceThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("too old")
		f := &fakeMetrics{export: func(int) error { return refused }}
		logger, _ := newLogger()
		e := WrapMetrics(f, NewMonitor(Config{
			Name: "x", Unit: "data points", Logger: logger,
			Rejected: func(err error) (int, bool) { return 3, errors.Is(err, refused) },
		}))
		_ = e.Export(t.Context(), everyKind(100))
		if diff := cmp.Diff(Stats{Name: "x", Exported: 901 - 24, Rejected: 24}, e.Stats()); diff != "" || len(f.points) != 8 {
			t.Errorf("%d exports, want 8; Stats (-want +got):\n%s", len(f.points), diff)
		}
	})
}

// Between two pieces the processor is the application's for as long as the first took, and no
// longer than the context says.
func TestExportRests(t *testing.T) {
	for _, one := range []struct{ piece, within, want time.Duration }{
		{time.Millisecond, time.Hour, 15 * time.Millisecond},
		{time.Second, time.Hour, 8*time.Second + 7*2*time.Millisecond},
		{time.Second, time.Second + time.Millisecond, 8*time.Second + time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), one.within)
			defer cancel()
			begun := time.Now()
			_ = WrapMetrics(&fakeMetrics{took: one.piece}, NewMonitor(Config{Name: "x"})).Export(ctx, everyKind(100))
			if took := time.Since(begun); took != one.want {
				t.Errorf("eight exports of %v each, %v left: %v, want %v", one.piece, one.within, took, one.want)
			}
		})
	}
}

// pieceByPiece answers each export with the next error, and the last one for good.
type pieceByPiece struct {
	sdkmetric.Exporter
	answers []error
	exports int
}

func (f *pieceByPiece) Export(context.Context, *metricdata.ResourceMetrics) error {
	f.exports++
	err := f.answers[0]
	if len(f.answers) > 1 {
		f.answers = f.answers[1:]
	}
	return err
}

// An outage ends with a whole collection.
func TestOutageEndsWithAllPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said testutil.Log
		down := errors.New("down")
		f := &pieceByPiece{answers: []error{nil, down, nil, down, nil, down, nil}}
		e := WrapMetrics(f, NewMonitor(Config{Name: "x", Unit: "data points", Logger: said.Logger()}))
		for range 3 {
			_ = e.Export(t.Context(), everyKind(15))
			if e.Stats().Outage != "down" {
				t.Errorf("%+v, want an outage", e.Stats())
			}
		}
		_ = e.Export(t.Context(), everyKind(15))
		synctest.Wait()
		if s := e.Stats(); s.Outage != "" || s.FailedExports != 3 || s.Ended() != 4*136 {
			t.Errorf("%+v, want 3 failed exports, and the outage over", s)
		}
		if got := said.String(); strings.Count(got, "delivering again") != 1 || strings.Count(got, "not delivered") != 1 {
			t.Errorf("said %q, want one outage", got)
		}
	})
}

// Where all is refused, what an item holds is not the reason, and the search for it is bounded.
func TestAllRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for each, exports := range map[int]int{1: 2*10 - 1, 200: mostRefusals + 1} {
			f := &pieceByPiece{answers: []error{errors.New("no")}}
			e := WrapMetrics(f, NewMonitor(Config{Name: "x", Unit: "data points", Refused: func(error) bool { return true }, Logger: slog.New(slog.DiscardHandler)}))
			rm := everyKind(each)
			_ = e.Export(t.Context(), rm)
			if s := e.Stats(); s.Failed != uint64(DataPoints(rm)) || s.Rejected > 0 || s.Outage != "no" || f.exports != exports {
				t.Errorf("%d points in %d exports: %+v, want all failed in %d", DataPoints(rm), f.exports, s, exports)
			}
		}
	})
}
