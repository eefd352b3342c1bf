package viewer

import (
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
)

// maxExactInt is the largest integer that JavaScript's numbers hold exactly.
const maxExactInt = 1<<53 - 1

// attributeJSON is one attribute. Value is a JSON value of its own type; integers beyond
// 2^53 and numbers that JSON does not have are strings.
type attributeJSON struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// attributesJSON keeps the order in which they were set. It never returns nil, so that the
// JSON is an array.
func attributesJSON(attrs []attribute.KeyValue) []attributeJSON {
	out := make([]attributeJSON, len(attrs))
	for i, kv := range attrs {
		out[i] = attributeJSON{Key: string(kv.Key), Type: kv.Value.Type().String(), Value: valueJSON(kv.Value)}
	}
	return out
}

func valueJSON(v attribute.Value) any {
	switch v.Type() {
	case attribute.BOOL:
		return v.AsBool()
	case attribute.STRING:
		return v.AsString()
	case attribute.INT64:
		return intJSON(v.AsInt64())
	case attribute.FLOAT64:
		return floatJSON(v.AsFloat64())
	case attribute.BOOLSLICE:
		return v.AsBoolSlice()
	case attribute.STRINGSLICE:
		return v.AsStringSlice()
	case attribute.INT64SLICE:
		return mapJSON(v.AsInt64Slice(), intJSON)
	case attribute.FLOAT64SLICE:
		return mapJSON(v.AsFloat64Slice(), floatJSON)
	case attribute.SLICE:
		return mapJSON(v.AsSlice(), valueJSON)
	case attribute.MAP:
		return attributesJSON(v.AsMap())
	default:
		return v.String()
	}
}

func intJSON(i int64) any {
	if i > maxExactInt || i < -maxExactInt {
		return strconv.FormatInt(i, 10)
	}
	return i
}

func floatJSON(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return f
}

func mapJSON[T any](in []T, f func(T) any) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}
