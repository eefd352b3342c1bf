package spans

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"
)

// SessionID identifies one session, uniquely in this process.
type SessionID [16]byte

// String returns the ID as 32 lower-case hexadecimal digits.
func (id SessionID) String() string { return hex.EncodeToString(id[:]) }

// IsValid reports whether the ID is not all zeros.
func (id SessionID) IsValid() bool { return id != SessionID{} }

// MarshalText returns the same as String.
func (id SessionID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what String writes.
func (id *SessionID) UnmarshalText(text []byte) error {
	parsed, err := ParseSessionID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParseSessionID reads what [SessionID.String] writes. It returns an error that wraps
// [ErrSessionID] unless s is 32 hexadecimal digits, not all zero.
func ParseSessionID(s string) (SessionID, error) {
	var id SessionID
	if len(s) != 2*len(id) {
		return SessionID{}, fmt.Errorf("%w: %q: must have %d hexadecimal digits", ErrSessionID, s, 2*len(id))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return SessionID{}, fmt.Errorf("%w: %q: %w", ErrSessionID, s, err)
	}
	if !id.IsValid() {
		return SessionID{}, fmt.Errorf("%w: %q: must not be zero", ErrSessionID, s)
	}
	return id, nil
}

// A SessionRecord is a finished session: what one local root, or one [StartSession],
// did in this process. It is immutable.
type SessionRecord struct {
	ID SessionID
	// Revision is 0 for the first record of a session. Each span that ends after its
	// session makes another record, complete and one higher, to take the place of the last.
	Revision int
	// Origin is the session in which the work began, in another process if the
	// caller is trusted; otherwise it equals ID.
	Origin SessionID
	// Name is the name of the root span, or the one given to StartSession.
	Name string
	// TraceID is the trace ID of the first root.
	TraceID trace.TraceID
	// Attributes are the session's own tags.
	Attributes []attribute.KeyValue
	Start      time.Time
	Duration   time.Duration
	// Errors is the number of spans whose status is Error, also among those left out.
	Errors int
	// Spans are ordered by start time, except that a parent stands before its children.
	Spans []SpanRecord
	// Open is the number of spans that had not ended when the record was made.
	Open int
	// Dropped is the number of spans left out, see [Dropped.SessionFull].
	Dropped int

	// sizeBytes is what the record costs a store, about.
	sizeBytes int
}

// SizeBytes is about how much memory the record holds.
func (s *SessionRecord) SizeBytes() int {
	if s.sizeBytes == 0 { // not made here
		return s.size()
	}
	return s.sizeBytes
}

// size is about what the record holds in memory. The strings of keys are shared with the program,
// names of spans and events, and values, are counted.
func (s *SessionRecord) size() int {
	const (
		recordBytes = 200
		spanBytes   = 300
		eventBytes  = 80
	)
	n := recordBytes + attributeBytes(s.Attributes)
	for i := range s.Spans {
		span := &s.Spans[i]
		n += spanBytes + len(span.Name) + len(span.StatusText) + attributeBytes(span.Attributes)
		for _, e := range span.Events {
			n += eventBytes + len(e.Name) + attributeBytes(e.Attributes)
		}
		for _, l := range span.Links {
			n += eventBytes + attributeBytes(l.Attributes)
		}
	}
	return n
}

var (
	attributeSize = int(reflect.TypeFor[attribute.KeyValue]().Size())
	valueSize     = int(reflect.TypeFor[attribute.Value]().Size())
	stringSize    = int(reflect.TypeFor[string]().Size())
)

func attributeBytes(kvs []attribute.KeyValue) (n int) {
	for _, kv := range kvs {
		n += attributeSize + valueBytes(kv.Value)
	}
	return n
}

// valueBytes is what a value holds beside its own words.
func valueBytes(v attribute.Value) (n int) {
	const numberBytes = 8
	switch v.Type() {
	case attribute.STRING:
		return len(v.AsString())
	case attribute.BYTESLICE:
		return len(v.AsByteSlice())
	case attribute.BOOLSLICE:
		return len(v.AsBoolSlice())
	case attribute.INT64SLICE:
		return numberBytes * len(v.AsInt64Slice())
	case attribute.FLOAT64SLICE:
		return numberBytes * len(v.AsFloat64Slice())
	case attribute.STRINGSLICE:
		for _, s := range v.AsStringSlice() {
			n += stringSize + len(s)
		}
	case attribute.SLICE:
		for _, one := range v.AsSlice() {
			n += valueSize + valueBytes(one)
		}
	case attribute.MAP:
		for _, kv := range v.AsMap() {
			n += len(kv.Key)
		}
		n += attributeBytes(v.AsMap())
	}
	return n
}

// A SpanRecord is one finished span of a session.
type SpanRecord struct {
	Name  string
	Scope instrumentation.Scope
	Kind  trace.SpanKind
	// SpanID is zero for spans of a provider without IDs.
	SpanID trace.SpanID
	// Parent is the index of the parent in SessionRecord.Spans, -1 for a root.
	Parent int
	// Depth is the number of ancestors in the session.
	Depth int
	// Start is the time since the session's start.
	Start    time.Duration
	Duration time.Duration
	// SelfTime is the part of Duration in which no child was open, in [0, Duration].
	SelfTime time.Duration
	// Delay is the time that causal experiments inserted in and below this span.
	Delay time.Duration
	// Late is set if the span ended after its session did.
	Late bool
	// Sampled is false for spans without attributes, events and status text, since
	// the SDK's sampler left them out.
	Sampled    bool
	Status     codes.Code
	StatusText string
	Attributes []attribute.KeyValue
	Events     []EventRecord
	Links      []LinkRecord
}

// An EventRecord is one event of a span; exceptions are events named "exception".
type EventRecord struct {
	Name string
	// Time is the time since the session's start.
	Time       time.Duration
	Attributes []attribute.KeyValue
}

// A LinkRecord is one link of a span.
type LinkRecord struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Attributes []attribute.KeyValue
}
