package saved

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
)

// words keeps one copy of texts that come again and again: names, keys, short values. It is
// bounded, so that texts which never come again cannot fill the memory.
type words map[string]string

const (
	maxWords    = 1 << 16
	maxWordSize = 64
)

func (w words) one(s string) string {
	if len(s) > maxWordSize {
		return s
	}
	if known, ok := w[s]; ok {
		return known
	}
	if len(w) < maxWords {
		w[s] = s
	}
	return s
}

func (w words) scope(s pcommon.InstrumentationScope, schema string) instrumentation.Scope {
	return instrumentation.Scope{Name: w.one(s.Name()), Version: w.one(s.Version()), SchemaURL: w.one(schema)}
}

func (w words) attributes(m pcommon.Map) []attribute.KeyValue {
	if m.Len() == 0 {
		return nil
	}
	kvs := make([]attribute.KeyValue, 0, m.Len())
	for k, v := range m.All() {
		kvs = append(kvs, attribute.KeyValue{Key: attribute.Key(w.one(k)), Value: w.value(v)})
	}
	return kvs
}

// value is the reverse of what exporters do.
func (w words) value(v pcommon.Value) attribute.Value {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return attribute.StringValue(w.one(v.Str()))
	case pcommon.ValueTypeBool:
		return attribute.BoolValue(v.Bool())
	case pcommon.ValueTypeInt:
		return attribute.Int64Value(v.Int())
	case pcommon.ValueTypeDouble:
		return attribute.Float64Value(v.Double())
	case pcommon.ValueTypeBytes:
		return attribute.ByteSliceValue(v.Bytes().AsRaw())
	case pcommon.ValueTypeMap:
		return attribute.MapValue(w.attributes(v.Map())...)
	case pcommon.ValueTypeSlice:
		return w.slice(v.Slice())
	default:
		return attribute.Value{}
	}
}

// slice returns a slice of one type where all elements have that.
func (w words) slice(s pcommon.Slice) attribute.Value {
	kind := pcommon.ValueTypeEmpty
	for i, v := range s.All() {
		if i == 0 {
			kind = v.Type()
		}
		if v.Type() != kind {
			kind = pcommon.ValueTypeEmpty
			break
		}
	}
	switch kind {
	case pcommon.ValueTypeStr:
		return attribute.StringSliceValue(collect(s, func(v pcommon.Value) string { return w.one(v.Str()) }))
	case pcommon.ValueTypeBool:
		return attribute.BoolSliceValue(collect(s, pcommon.Value.Bool))
	case pcommon.ValueTypeInt:
		return attribute.Int64SliceValue(collect(s, pcommon.Value.Int))
	case pcommon.ValueTypeDouble:
		return attribute.Float64SliceValue(collect(s, pcommon.Value.Double))
	default:
		return attribute.SliceValue(collect(s, w.value)...)
	}
}

func collect[T any](s pcommon.Slice, f func(pcommon.Value) T) []T {
	out := make([]T, 0, s.Len())
	for _, v := range s.All() {
		out = append(out, f(v))
	}
	return out
}
