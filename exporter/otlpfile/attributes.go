package otlpfile

import (
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

func putResource(dst pcommon.Resource, r *resource.Resource) {
	putAttributes(dst.Attributes(), r.Attributes())
}

func putScope(dst pcommon.InstrumentationScope, s instrumentation.Scope) {
	dst.SetName(utf8(s.Name))
	dst.SetVersion(utf8(s.Version))
	putAttributes(dst.Attributes(), s.Attributes.ToSlice())
}

// putAttributes keeps the last of attributes with the same key, as the SDK does.
func putAttributes(dst pcommon.Map, kvs []attribute.KeyValue) {
	dst.EnsureCapacity(len(kvs))
	for _, kv := range kvs {
		v, _ := dst.GetOrPutEmpty(utf8(string(kv.Key)))
		putValue(v, kv.Value)
	}
}

func putValue(dst pcommon.Value, v attribute.Value) {
	switch v.Type() {
	case attribute.BOOL:
		dst.SetBool(v.AsBool())
	case attribute.INT64:
		dst.SetInt(v.AsInt64())
	case attribute.FLOAT64:
		dst.SetDouble(v.AsFloat64())
	case attribute.STRING:
		dst.SetStr(utf8(v.AsString()))
	case attribute.BYTESLICE:
		dst.SetEmptyBytes().FromRaw(v.AsByteSlice())
	case attribute.BOOLSLICE:
		putSlice(dst, v.AsBoolSlice(), pcommon.Value.SetBool)
	case attribute.INT64SLICE:
		putSlice(dst, v.AsInt64Slice(), pcommon.Value.SetInt)
	case attribute.FLOAT64SLICE:
		putSlice(dst, v.AsFloat64Slice(), pcommon.Value.SetDouble)
	case attribute.STRINGSLICE:
		putSlice(dst, v.AsStringSlice(), func(e pcommon.Value, s string) { e.SetStr(utf8(s)) })
	case attribute.SLICE:
		putSlice(dst, v.AsSlice(), putValue)
	case attribute.MAP:
		putAttributes(dst.SetEmptyMap(), v.AsMap())
	case attribute.EMPTY:
	default: // a type of a later SDK
		dst.SetStr(utf8(v.String()))
	}
}

func putSlice[T any](dst pcommon.Value, values []T, put func(pcommon.Value, T)) {
	s := dst.SetEmptySlice()
	s.EnsureCapacity(len(values))
	for _, v := range values {
		put(s.AppendEmpty(), v)
	}
}

// utf8 replaces bytes that are not UTF-8: JSON has no way to write them, and one such byte
// must not cost the whole batch.
func utf8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// timestamp is 0, which OTLP takes as unknown, for times before 1970 and for the zero Time.
func timestamp(t time.Time) pcommon.Timestamp {
	if t.IsZero() {
		return 0
	}
	return pcommon.Timestamp(max(0, t.UnixNano()))
}

func count32(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }
