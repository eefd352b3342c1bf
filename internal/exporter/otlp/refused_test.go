package otlp

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/testutil"
)

// texts yields random bytes, of which half are not UTF-8.
type texts struct{ *rand.Rand }

func (r texts) text() string {
	b := make([]byte, 1+r.IntN(8))
	for i := range b {
		b[i] = byte(r.IntN(256))
		if r.IntN(3) > 0 {
			b[i] = 'a' + b[i]%26
		}
	}
	return string(b)
}

func (r texts) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String(r.text(), r.text()), attribute.StringSlice(r.text(), []string{r.text(), r.text()}), attribute.Bool(r.text(), true),
		{Key: "slice", Value: attribute.SliceValue(attribute.StringValue(r.text()), attribute.MapValue(attribute.String(r.text(), r.text())))},
	}
}

func TestRandomBytesArrive(t *testing.T) {
	const items = 100
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			r := newReceiver(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.endpoint(p))
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(p))
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := texts{rand.New(rand.NewPCG(seed, 1))}
			var l testutil.Log
			tp, b := newTraces(t, &l)
			mp, m := newMetrics(t, &l)
			lp, le := newLogs(t, &l)
			loggers := LoggerProvider{lp}
			for range items {
				scope := random.text()
				_, s := tp.Tracer(scope, trace.WithInstrumentationVersion(random.text()), trace.WithInstrumentationAttributes(random.attributes()...)).Start(
					t.Context(), random.text(), trace.WithAttributes(random.attributes()...), trace.WithLinks(trace.Link{Attributes: random.attributes()}))
				s.AddEvent(random.text(), trace.WithAttributes(random.attributes()...))
				s.SetStatus(codes.Error, random.text())
				s.End()
				c, err := mp.Meter(scope, metric.WithSchemaURL(random.text())).Float64Histogram("h", metric.WithUnit(random.text()), metric.WithDescription(random.text()))
				if err != nil {
					t.Fatal(err)
				}
				c.Record(t.Context(), 1, metric.WithAttributes(random.attributes()...))
				var record otellog.Record
				record.SetBody(attribute.MapValue(random.attributes()...))
				record.SetEventName(random.text())
				record.SetSeverityText(random.text())
				record.AddAttributes(random.attributes()...)
				loggers.Logger(scope, otellog.WithInstrumentationAttributes(random.attributes()...)).Emit(t.Context(), record)
			}
			for _, shut := range []func(context.Context) error{tp.Shutdown, mp.Shutdown, lp.Shutdown} {
				if err := shut(within(t, 10*time.Second)); err != nil {
					t.Error(err)
				}
			}
			for signal, s := range map[string]delivery.Stats{"traces": b.Stats(), "metrics": m.Stats(), "logs": le.Stats()} {
				if s.Exported != items || s.Ended() != items || s.Repaired < items/2 {
					t.Errorf("%s: %+v, want %d exported, and most of them repaired", signal, s, items)
				}
			}
			if said := l.String(); strings.Count(said, "U+FFFD") != 3 || strings.Count(said, "\n") != 3 {
				t.Errorf("said %q, want one line of each signal", said)
			}
		})
	}
}

// One item that no export can hold costs itself alone.
func TestHugeItemAlone(t *testing.T) {
	huge := strings.Repeat("x", 5<<20)
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			r := newReceiver(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.endpoint(p))
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(p))
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "60000")
			var l testutil.Log
			tp, b := newTraces(t, &l)
			mp, m := newMetrics(t, &l)
			lp, le := newLogs(t, &l)
			c, err := mp.Meter("test").Int64Counter("visits")
			if err != nil {
				t.Fatal(err)
			}
			for i := range 300 {
				value := "small"
				if i == 177 {
					value = huge
				}
				_, s := tp.Tracer("test").Start(t.Context(), value[:5])
				s.SetAttributes(attribute.String("value", value))
				s.End()
				c.Add(t.Context(), 1, metric.WithAttributes(attribute.Int("i", i), attribute.String("value", value)))
				emit(lp, value)
			}
			for _, shut := range []func(context.Context) error{tp.Shutdown, mp.Shutdown, lp.Shutdown} {
				if err := shut(within(t, 20*time.Second)); err != nil {
					t.Error(err)
				}
			}
			for signal, s := range map[string]delivery.Stats{"traces": b.Stats(), "metrics": m.Stats(), "logs": le.Stats()} {
				if s.Exported != 299 || s.Rejected+s.Failed != 1 || s.Outage != "" { // a batcher exports a huge span by itself
					t.Errorf("%s: %+v, want 299 exported and 1 lost", signal, s)
				}
			}
			if n := len(r.spanNames()); n != 299 {
				t.Errorf("%d spans arrived, want 299", n)
			}
			if said := l.String(); strings.Count(said, "WARN") != 3 || len(said) > 4<<10 {
				t.Errorf("said %.4096q, want one line of each signal", said)
			}
		})
	}
}

func TestRandomBytesInProfiles(t *testing.T) {
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			r := newProfileReceiver(t)
			random := texts{rand.New(rand.NewPCG(1, 1))}
			var l testutil.Log
			e := newProfiles(t, r.endpoint(p), p, &l)
			for range 50 {
				data := testProfile()
				data.Comments = []string{random.text()}
				data.SampleType[0].Type = random.text()
				data.Function[0].Name, data.Function[1].Filename = random.text(), random.text()
				data.Sample[1].Label[random.text()] = []string{random.text()}
				data.Sample[1].NumLabel[random.text()] = []int64{1}
				if err := e.Export(t.Context(), data); err != nil {
					t.Fatal(err)
				}
			}
			if s := e.Stats(); s.Failed > 0 || s.Exported != 100 {
				t.Errorf("%+v, want 100 exported", s)
			}
		})
	}
}
