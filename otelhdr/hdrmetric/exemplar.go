package hdrmetric

import (
	"context"
	"reflect"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
)

// An exemplarFilter decides which values are offered to the reservoirs. The zero one lets none
// through.
type exemplarFilter struct {
	allows     exemplar.Filter // nil for none
	traceBased bool            // and so it need not be asked about a context that can have no span
}

func newExemplarFilter(f exemplar.Filter) exemplarFilter {
	switch reflect.ValueOf(f).Pointer() {
	case reflect.ValueOf(exemplar.AlwaysOffFilter).Pointer():
		return exemplarFilter{}
	case reflect.ValueOf(exemplar.TraceBasedFilter).Pointer():
		return exemplarFilter{allows: inSampledSpan, traceBased: true}
	default:
		return exemplarFilter{allows: f}
	}
}

// never reports whether f is sure to let no value through that is recorded with ctx, at no more
// than two comparisons. If not, allows has to be asked. It is small enough to be inlined.
func (f *exemplarFilter) never(ctx context.Context) bool {
	return f.allows == nil || f.traceBased && reflect.TypeOf(ctx) == background
}

// A context without a span is recognized by its type, without a call: the context that most calls
// outside of a request have, and what trace.SpanFromContext returns where it finds none.
var (
	background = reflect.TypeOf(context.Background())
	noSpan     = reflect.TypeOf(trace.SpanFromContext(context.Background()))
)

// inSampledSpan is [exemplar.TraceBasedFilter], but does not fetch a span context where there is
// none to look at. That would cost as much as all the rest of a record.
func inSampledSpan(ctx context.Context) bool {
	span := trace.SpanFromContext(ctx)
	return reflect.TypeOf(span) != noSpan && span.SpanContext().IsSampled()
}

// A reservoir is a series' exemplars for one reader.
type reservoir struct {
	mu  *sync.Mutex // nil if exemplars has a lock of its own
	own exemplar.Reservoir
}

func newReservoir(r exemplar.Reservoir) *reservoir {
	switch r.(type) {
	case *exemplar.FixedSizeReservoir, *exemplar.HistogramReservoir:
		return &reservoir{own: r}
	default: // it may not be for use by several goroutines
		return &reservoir{own: r, mu: new(sync.Mutex)}
	}
}

func (r *reservoir) offer(ctx context.Context, at time.Time, v exemplar.Value, dropped []attribute.KeyValue) {
	if r.mu != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	r.own.Offer(ctx, at, v, dropped)
}

func (r *reservoir) collect(to *[]exemplar.Exemplar) {
	if r.mu != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	r.own.Collect(to)
}

// offer gives a value that the exemplar filter has let through to the reservoirs of all readers.
// Most series never see one, so a reservoir is made for the first.
func (s *stream) offer(ctx context.Context, x *series, v exemplar.Value, set attribute.Set) {
	now := time.Now()
	dropped := s.dropped(set)
	for i := range x.readings {
		slot := &x.readings[i].exemplars
		r := slot.Load()
		if r == nil {
			r = newReservoir(s.reservoir(x.set))
			if !slot.CompareAndSwap(nil, r) {
				if other := slot.Load(); other != nil {
					r = other
				}
			}
		}
		r.offer(ctx, now, v, dropped)
	}
}

// dropped returns the attributes that the filter leaves out.
func (s *stream) dropped(set attribute.Set) []attribute.KeyValue {
	if s.filter == nil {
		return nil
	}
	var dropped []attribute.KeyValue
	set = withoutDuplicates(set)
	for i := range set.Len() {
		if kv, _ := set.Get(i); !s.filter(kv) {
			dropped = append(dropped, kv)
		}
	}
	return dropped
}

// exemplarsOf returns what a reader has in a reservoir. A reader of deltas begins a new one.
func exemplarsOf[N int64 | float64](r *reading, delta bool) []metricdata.Exemplar[N] {
	var own *reservoir
	if delta {
		own = r.exemplars.Swap(nil)
	} else {
		own = r.exemplars.Load()
	}
	if own == nil {
		return nil
	}
	var found []exemplar.Exemplar
	own.collect(&found)
	out := make([]metricdata.Exemplar[N], len(found))
	for i, e := range found {
		out[i] = metricdata.Exemplar[N]{
			FilteredAttributes: e.FilteredAttributes, Time: e.Time, SpanID: e.SpanID, TraceID: e.TraceID,
		}
		if e.Value.Type() == exemplar.Int64ValueType {
			out[i].Value = N(e.Value.Int64())
		} else {
			out[i].Value = N(e.Value.Float64())
		}
	}
	return out
}
