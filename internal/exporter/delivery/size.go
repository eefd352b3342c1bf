package delivery

import (
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Sizes are about what an item takes: texts as they are, all else by these.
const (
	itemBytes      = 512
	attributeBytes = 64
)

func spanBytes(s sdktrace.ReadOnlySpan) int64 {
	n := itemBytes + len(s.Name()) + attributesBytes(s.Attributes())
	for _, e := range s.Events() {
		n += attributeBytes + len(e.Name) + attributesBytes(e.Attributes)
	}
	for _, l := range s.Links() {
		n += attributeBytes + attributesBytes(l.Attributes)
	}
	return int64(n)
}

func recordBytes(r *sdklog.Record) int64 {
	n := itemBytes + len(r.EventName()) + len(r.SeverityText()) + valueBytes(r.Body())
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		n += len(kv.Key) + valueBytes(kv.Value)
		return true
	})
	return int64(n)
}

func attributesBytes(attributes []attribute.KeyValue) (n int) {
	for i := range attributes {
		kv := &attributes[i]
		n += attributeBytes + len(kv.Key)
		if t := kv.Value.Type(); t == attribute.STRING {
			n += len(kv.Value.AsString())
		} else if t > attribute.STRING { // a list
			n += valueBytes(kv.Value)
		}
	}
	return n
}

// valueBytes allocates for lists only, of which the package attribute gives copies.
func valueBytes(v attribute.Value) int {
	n := attributeBytes
	switch v.Type() {
	case attribute.STRING:
		n += len(v.AsString())
	case attribute.BYTESLICE:
		n += len(v.AsByteSlice())
	case attribute.STRINGSLICE:
		for _, text := range v.AsStringSlice() {
			n += 16 + len(text)
		}
	case attribute.BOOLSLICE:
		n += len(v.AsBoolSlice())
	case attribute.INT64SLICE:
		n += 8 * len(v.AsInt64Slice())
	case attribute.FLOAT64SLICE:
		n += 8 * len(v.AsFloat64Slice())
	case attribute.SLICE:
		for _, inner := range v.AsSlice() {
			n += valueBytes(inner)
		}
	case attribute.MAP:
		n += attributesBytes(v.AsMap())
	}
	return n
}
