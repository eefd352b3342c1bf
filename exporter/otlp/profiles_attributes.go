package otlp

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// keyValues are the attributes of a resource.
func keyValues(attributes []attribute.KeyValue) []*commonpb.KeyValue {
	var out []*commonpb.KeyValue
	for _, kv := range attributes {
		out = append(out, &commonpb.KeyValue{Key: string(kv.Key), Value: anyValue(kv.Value)})
	}
	return out
}

func anyValue(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return boolValue(v.AsBool())
	case attribute.INT64:
		return intValue(v.AsInt64())
	case attribute.FLOAT64:
		return floatValue(v.AsFloat64())
	case attribute.STRING:
		return stringValue(v.AsString())
	case attribute.BOOLSLICE:
		return array(v.AsBoolSlice(), boolValue)
	case attribute.INT64SLICE:
		return array(v.AsInt64Slice(), intValue)
	case attribute.FLOAT64SLICE:
		return array(v.AsFloat64Slice(), floatValue)
	case attribute.STRINGSLICE:
		return array(v.AsStringSlice(), stringValue)
	case attribute.EMPTY:
		return &commonpb.AnyValue{}
	default: // bytes, maps and mixed lists, as text
		return stringValue(v.String())
	}
}

func boolValue(v bool) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v}}
}

func intValue(v int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}
}

func floatValue(v float64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}
}

// stringValue replaces what is not UTF-8, which protobuf does not encode.
func stringValue(v string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(v, "\uFFFD")}}
}

func array[T any](values []T, value func(T) *commonpb.AnyValue) *commonpb.AnyValue {
	list := &commonpb.ArrayValue{}
	for _, v := range values {
		list.Values = append(list.Values, value(v))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
}

// list is the one value that labels mostly have, or an array of them.
func list[T any](values []T, value func(T) *commonpb.AnyValue) *commonpb.AnyValue {
	if len(values) == 1 {
		return value(values[0])
	}
	return array(values, value)
}
