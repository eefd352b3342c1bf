// Package otlppb makes attributes of the SDK the protobuf messages of OTLP, with no pdata.
package otlppb

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// KeyValues are the attributes of a resource.
func KeyValues(attributes []attribute.KeyValue) []*commonpb.KeyValue {
	var out []*commonpb.KeyValue
	for _, kv := range attributes {
		out = append(out, KeyValue(string(kv.Key), Value(kv.Value)))
	}
	return out
}

// KeyValue is an attribute.
func KeyValue(key string, value *commonpb.AnyValue) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: strings.ToValidUTF8(key, "\uFFFD"), Value: value}
}

// Value is any value. Bytes, maps and mixed lists become text.
func Value(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return Bool(v.AsBool())
	case attribute.INT64:
		return Int(v.AsInt64())
	case attribute.FLOAT64:
		return float(v.AsFloat64())
	case attribute.STRING:
		return String(v.AsString())
	case attribute.BOOLSLICE:
		return Array(v.AsBoolSlice(), Bool)
	case attribute.INT64SLICE:
		return Array(v.AsInt64Slice(), Int)
	case attribute.FLOAT64SLICE:
		return Array(v.AsFloat64Slice(), float)
	case attribute.STRINGSLICE:
		return Array(v.AsStringSlice(), String)
	case attribute.EMPTY:
		return &commonpb.AnyValue{}
	default:
		return String(v.String())
	}
}

// Bool is a value.
func Bool(v bool) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v}}
}

// Int is a value.
func Int(v int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}
}

func float(v float64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}
}

// String replaces what is not UTF-8, which protobuf does not encode.
func String(v string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(v, "\uFFFD")}}
}

// Array is a value of several.
func Array[T any](values []T, value func(T) *commonpb.AnyValue) *commonpb.AnyValue {
	list := &commonpb.ArrayValue{}
	for _, v := range values {
		list.Values = append(list.Values, value(v))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
}
