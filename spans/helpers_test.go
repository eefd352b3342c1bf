package spans_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

const ms = time.Millisecond

// begin is where the timestamps that tests give begin: long before the process started.
var begin = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// at is a timestamp d after begin, for a start, an end or an event.
func at(d time.Duration) trace.SpanEventOption { return trace.WithTimestamp(begin.Add(d)) }

// counter makes the same IDs in every run.
type counter struct {
	mu            sync.Mutex
	traces, spans uint64
}

func (c *counter) NewIDs(ctx context.Context) (id trace.TraceID, _ trace.SpanID) {
	c.mu.Lock()
	c.traces++
	binary.BigEndian.PutUint64(id[:], c.traces)
	c.mu.Unlock()
	return id, c.NewSpanID(ctx, id)
}

func (c *counter) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans++
	binary.BigEndian.PutUint64(id[:], c.spans)
	return id
}

// newRecorded returns an SDK and what has ended in it.
func newRecorded(opts ...sdktrace.TracerProviderOption) (*sdktrace.TracerProvider, *tracetest.SpanRecorder) {
	ended := tracetest.NewSpanRecorder()
	return sdktrace.NewTracerProvider(append([]sdktrace.TracerProviderOption{
		sdktrace.WithIDGenerator(&counter{}), sdktrace.WithSpanProcessor(ended),
	}, opts...)...), ended
}

// wrap wraps base for the time of the test.
func wrap(t testing.TB, base trace.TracerProvider, opts ...spans.Option) *spans.TracerProvider {
	t.Helper()
	tp := spans.WrapTracerProvider(base, opts...)
	t.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return tp
}

// wrapSDK wraps an SDK that samples everything.
func wrapSDK(t testing.TB, opts ...spans.Option) *spans.TracerProvider {
	t.Helper()
	sdk, _ := newRecorded()
	return wrap(t, sdk, opts...)
}

// stored returns the sessions in the provider's store.
func stored(t testing.TB, tp *spans.TracerProvider) []*spans.SessionRecord {
	t.Helper()
	if err := tp.ForceFlush(context.Background()); err != nil {
		t.Fatalf("ForceFlush: %v", err)
	}
	return tp.Store().Sessions(spans.Query{})
}

// storedOne returns the only session in the provider's store.
func storedOne(t testing.TB, tp *spans.TracerProvider) *spans.SessionRecord {
	t.Helper()
	all := stored(t, tp)
	if len(all) != 1 {
		t.Fatalf("%d sessions in the store, want 1", len(all))
	}
	return all[0]
}

// regionOf returns what has been measured of the region of this name, zero if nothing.
func regionOf(t testing.TB, tp *spans.TracerProvider, name string) spans.RegionStats {
	t.Helper()
	all := tp.Regions()
	i := slices.IndexFunc(all, func(r spans.RegionStats) bool { return r.Name == name })
	if i < 0 {
		return spans.RegionStats{}
	}
	return all[i]
}

// spanOf returns the span of this name in a record.
func spanOf(t testing.TB, rec *spans.SessionRecord, name string) spans.SpanRecord {
	t.Helper()
	i := slices.IndexFunc(rec.Spans, func(s spans.SpanRecord) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no span %q in the record of %q", name, rec.Name)
	}
	return rec.Spans[i]
}

// caught returns the value with which f panicked, nil if it did not.
func caught(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// handled keeps what is given to otel.Handle.
var handled handledErrors

type handledErrors struct {
	mu  sync.Mutex
	all []error
}

func (h *handledErrors) Handle(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, err)
}

// take returns the errors since the last call.
func (h *handledErrors) take() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// mapStore keeps the last record of each session. Each Append first waits for before.
type mapStore struct {
	before func(*spans.SessionRecord) error

	mu   sync.Mutex
	byID map[spans.SessionID]*spans.SessionRecord
}

func (s *mapStore) Append(rec *spans.SessionRecord) error {
	if s.before != nil {
		if err := s.before(rec); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[spans.SessionID]*spans.SessionRecord{}
	}
	s.byID[rec.ID] = rec
	return nil
}

func (s *mapStore) Session(id spans.SessionID) (*spans.SessionRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.byID[id]
	return rec, ok
}

func (s *mapStore) Sessions(spans.Query) (all []*spans.SessionRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range s.byID {
		all = append(all, rec)
	}
	return all
}

// byValue lets cmp compare what keeps its values to itself.
var byValue = cmp.Options{
	cmp.Comparer(func(a, b attribute.Set) bool { return a.Equals(&b) }),
	cmp.Transformer("text", func(kv attribute.KeyValue) string {
		return string(kv.Key) + " " + kv.Value.Type().String() + " " + kv.Value.String()
	}),
}
