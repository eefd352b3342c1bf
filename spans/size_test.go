package spans

import (
	"strings"
	"testing"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
)

// TestSizes holds the one allocation of a span, and that of a local root with its session, to whole
// cache lines of 64 bytes, which are size classes of the runtime too.
func TestSizes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("not of 64 bits")
	}
	const further = schedulerSlots * unsafe.Sizeof(uintptr(0))
	for _, c := range []struct {
		what      string
		got, most uintptr
	}{
		{"recording span", unsafe.Sizeof(recordingSpan{}), 192 + further},
		{"plain span", unsafe.Sizeof(plainSpan{}), 192 + further},
		{"recording root", unsafe.Sizeof(recordingRoot{}), 320 + further},
		{"plain root", unsafe.Sizeof(plainRoot{}), 320 + further},
	} {
		if c.got > c.most {
			t.Errorf("%s: %d bytes, want at most %d", c.what, c.got, c.most)
		}
	}
}

// TestRecordSizes: whatever the spans hold counts, so that the bound of a ring holds.
func TestRecordSizes(t *testing.T) {
	const many = 10_000
	texts := make([]attribute.Value, many)
	pairs := make([]attribute.KeyValue, many)
	for i := range many {
		texts[i] = attribute.StringValue("12345678")
		pairs[i] = attribute.String("key", "12345678")
	}
	long := strings.Repeat("x", many)
	of := func(v attribute.Value) SpanRecord {
		return SpanRecord{Attributes: []attribute.KeyValue{{Key: "key", Value: v}}}
	}
	for what, c := range map[string]struct {
		span  SpanRecord
		least int
	}{
		"string":   {of(attribute.StringValue(long)), many},
		"bytes":    {of(attribute.ByteSliceValue([]byte(long))), many},
		"bools":    {of(attribute.BoolSliceValue(make([]bool, many))), many},
		"integers": {of(attribute.Int64SliceValue(make([]int64, many))), 8 * many},
		"floats":   {of(attribute.Float64SliceValue(make([]float64, many))), 8 * many},
		"strings":  {of(attribute.StringSliceValue(make([]string, many))), int(unsafe.Sizeof("")) * many},
		"slice":    {of(attribute.SliceValue(texts...)), (int(unsafe.Sizeof(attribute.Value{})) + 8) * many},
		"map":      {of(attribute.MapValue(pairs...)), (int(unsafe.Sizeof(attribute.KeyValue{})) + 8 + 3) * many},
		"name":     {SpanRecord{Name: long}, many},
		"status":   {SpanRecord{StatusText: long}, many},
		"event":    {SpanRecord{Events: []EventRecord{{Name: long}}}, many},
	} {
		s := &SessionRecord{Spans: []SpanRecord{c.span}}
		if got := s.SizeBytes(); got < c.least || got > c.least+1000 {
			t.Errorf("%s: SizeBytes() = %d, want %d and a little", what, got, c.least)
		}
	}
}
