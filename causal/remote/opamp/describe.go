package opamp

import (
	"github.com/open-telemetry/opamp-go/protobufs"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// identifying are the attributes that tell a process from all others.
var identifying = map[attribute.Key]bool{
	"service.name":        true,
	"service.namespace":   true,
	"service.instance.id": true,
	"service.version":     true,
}

// describe returns a resource, which may be nil, as the description of an agent.
func describe(r *resource.Resource) *protobufs.AgentDescription {
	d := &protobufs.AgentDescription{}
	for _, kv := range r.Attributes() {
		pair := &protobufs.KeyValue{Key: text(string(kv.Key)), Value: value(kv.Value)}
		if identifying[kv.Key] {
			d.IdentifyingAttributes = append(d.IdentifyingAttributes, pair)
		} else {
			d.NonIdentifyingAttributes = append(d.NonIdentifyingAttributes, pair)
		}
	}
	return d
}

func value(v attribute.Value) *protobufs.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &protobufs.AnyValue{Value: &protobufs.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &protobufs.AnyValue{Value: &protobufs.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &protobufs.AnyValue{Value: &protobufs.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRING:
		return str(v.AsString())
	case attribute.STRINGSLICE:
		array := &protobufs.ArrayValue{}
		for _, s := range v.AsStringSlice() {
			array.Values = append(array.Values, str(s))
		}
		return &protobufs.AnyValue{Value: &protobufs.AnyValue_ArrayValue{ArrayValue: array}}
	default: // slices of numbers
		return str(v.String())
	}
}

func str(s string) *protobufs.AnyValue {
	return &protobufs.AnyValue{Value: &protobufs.AnyValue_StringValue{StringValue: text(s)}}
}
