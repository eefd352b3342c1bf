package otlpjson_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/internal/otlpjson"
)

// The Collector reads what it would have written.
func TestAttributes(t *testing.T) {
	attributes := otlpjson.Attributes([]attribute.KeyValue{
		attribute.String("twice", "first"),
		attribute.Bool("bool", true), attribute.Int64("int", math.MinInt64), attribute.Float64("float", -1.5),
		attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{1, math.MaxInt64}),
		attribute.Float64Slice("floats", []float64{0, 1e300, math.Inf(-1)}), attribute.StringSlice("strings", []string{"a", "b\xff"}),
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
		"floats": []any{0.0, 1e300, math.Inf(-1)}, "strings": []any{"a", "b\uFFFD"},
		"bytes":   []byte{0, 255},
		"values":  []any{int64(1), "x"},
		"map":     map[string]any{"in": true},
		"nothing": nil,
	}
	line, err := otlpjson.Line(otlpjson.Traces{ResourceSpans: []*otlpjson.ResourceSpans{{Resource: otlpjson.Resource{Attributes: attributes}}}})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if diff := cmp.Diff(want, traces.ResourceSpans().At(0).Resource().Attributes().AsRaw()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}
