package otlpattr_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/internal/otlpattr"
)

func TestPut(t *testing.T) {
	m := pcommon.NewMap()
	otlpattr.Put(m, []attribute.KeyValue{
		attribute.String("twice", "first"),
		attribute.Bool("bool", true), attribute.Int64("int", math.MinInt64), attribute.Float64("float", -1.5),
		attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{1, math.MaxInt64}),
		attribute.Float64Slice("floats", []float64{0, 1e300}), attribute.StringSlice("strings", []string{"a", "b\xff"}),
		{Key: "bytes", Value: attribute.ByteSliceValue([]byte{0, 255})},
		{Key: "values", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue("x"))},
		{Key: "map", Value: attribute.MapValue(attribute.Bool("in", true))},
		{Key: "nothing"},
		attribute.String("twice", "last"),
	})
	want := map[string]any{
		"twice": "last",
		"bool":  true, "int": int64(math.MinInt64), "float": -1.5,
		"bools": []any{true, false}, "ints": []any{int64(1), int64(math.MaxInt64)},
		"floats": []any{0.0, 1e300}, "strings": []any{"a", "b\uFFFD"},
		"bytes":   []byte{0, 255},
		"values":  []any{int64(1), "x"},
		"map":     map[string]any{"in": true},
		"nothing": nil,
	}
	if diff := cmp.Diff(want, m.AsRaw()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}
