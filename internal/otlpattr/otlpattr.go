// Package otlpattr writes attributes of the SDK as those of OTLP.
package otlpattr

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/attribute"
)

// Put adds kvs to dst. Of attributes with the same key the last is kept, as the SDK does.
func Put(dst pcommon.Map, kvs []attribute.KeyValue) {
	dst.EnsureCapacity(dst.Len() + len(kvs))
	for _, kv := range kvs {
		v, _ := dst.GetOrPutEmpty(UTF8(string(kv.Key)))
		PutValue(v, kv.Value)
	}
}

// PutValue sets dst to v.
func PutValue(dst pcommon.Value, v attribute.Value) {
	switch v.Type() {
	case attribute.BOOL:
		dst.SetBool(v.AsBool())
	case attribute.INT64:
		dst.SetInt(v.AsInt64())
	case attribute.FLOAT64:
		dst.SetDouble(v.AsFloat64())
	case attribute.STRING:
		dst.SetStr(UTF8(v.AsString()))
	case attribute.BYTESLICE:
		dst.SetEmptyBytes().FromRaw(v.AsByteSlice())
	case attribute.BOOLSLICE:
		putSlice(dst, v.AsBoolSlice(), pcommon.Value.SetBool)
	case attribute.INT64SLICE:
		putSlice(dst, v.AsInt64Slice(), pcommon.Value.SetInt)
	case attribute.FLOAT64SLICE:
		putSlice(dst, v.AsFloat64Slice(), pcommon.Value.SetDouble)
	case attribute.STRINGSLICE:
		putSlice(dst, v.AsStringSlice(), func(e pcommon.Value, s string) { e.SetStr(UTF8(s)) })
	case attribute.SLICE:
		putSlice(dst, v.AsSlice(), PutValue)
	case attribute.MAP:
		Put(dst.SetEmptyMap(), v.AsMap())
	case attribute.EMPTY:
	default: // a type of a later SDK
		dst.SetStr(UTF8(v.String()))
	}
}

func putSlice[T any](dst pcommon.Value, values []T, put func(pcommon.Value, T)) {
	s := dst.SetEmptySlice()
	s.EnsureCapacity(len(values))
	for _, v := range values {
		put(s.AppendEmpty(), v)
	}
}

// UTF8 replaces bytes that are not UTF-8: JSON has no way to write them, and one such byte must
// not cost the whole document.
func UTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
