package otlpjson

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
)

// A Resource is what sends.
type Resource struct {
	Attributes []KeyValue `json:"attributes,omitempty"`
}

// A Scope is what measures.
type Scope struct {
	Name       string     `json:"name,omitempty"`
	Version    string     `json:"version,omitempty"`
	Attributes []KeyValue `json:"attributes,omitempty"`
}

// ScopeOf is the scope of a tracer, a meter or a logger.
func ScopeOf(s instrumentation.Scope) Scope {
	return Scope{s.Name, s.Version, Attributes(s.Attributes.ToSlice())}
}

// A KeyValue is an attribute.
type KeyValue struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// A Value has one of its fields, or none.
type Value struct {
	String *string `json:"stringValue,omitempty"`
	Bool   *bool   `json:"boolValue,omitempty"`
	Int    *int64  `json:"intValue,omitempty,string"`
	Double *Double `json:"doubleValue,omitempty"`
	Bytes  *[]byte `json:"bytesValue,omitempty"`
	List   *List   `json:"arrayValue,omitempty"`
	Map    *Map    `json:"kvlistValue,omitempty"`
}

// A List is a value of several.
type List struct {
	Values []Value `json:"values,omitempty"`
}

// A Map is a value of attributes.
type Map struct {
	Values []KeyValue `json:"values,omitempty"`
}

// Attributes are kvs; of those with the same key the last, as the SDK has it.
func Attributes(kvs []attribute.KeyValue) []KeyValue {
	out := make([]KeyValue, 0, len(kvs))
	for _, kv := range kvs {
		key := string(kv.Key)
		if i := slices.IndexFunc(out, func(o KeyValue) bool { return o.Key == key }); i >= 0 {
			out[i].Value = ValueOf(kv.Value)
		} else {
			out = append(out, KeyValue{key, ValueOf(kv.Value)})
		}
	}
	return out
}

// ValueOf is a value of the SDK.
func ValueOf(v attribute.Value) Value {
	switch v.Type() {
	case attribute.BOOL:
		return boolean(v.AsBool())
	case attribute.INT64:
		return integer(v.AsInt64())
	case attribute.FLOAT64:
		return double(v.AsFloat64())
	case attribute.STRING:
		return text(v.AsString())
	case attribute.BYTESLICE:
		bytes := append([]byte{}, v.AsByteSlice()...) // nil would be null
		return Value{Bytes: &bytes}
	case attribute.BOOLSLICE:
		return list(v.AsBoolSlice(), boolean)
	case attribute.INT64SLICE:
		return list(v.AsInt64Slice(), integer)
	case attribute.FLOAT64SLICE:
		return list(v.AsFloat64Slice(), double)
	case attribute.STRINGSLICE:
		return list(v.AsStringSlice(), text)
	case attribute.SLICE:
		return list(v.AsSlice(), ValueOf)
	case attribute.MAP:
		return Value{Map: &Map{Attributes(v.AsMap())}}
	case attribute.EMPTY:
		return Value{}
	default: // a type of a later SDK
		return text(v.String())
	}
}

func boolean(v bool) Value { return Value{Bool: &v} }

func integer(v int64) Value { return Value{Int: &v} }

func double(v float64) Value {
	d := Double(v)
	return Value{Double: &d}
}

func text(v string) Value { return Value{String: &v} }

func list[T any](values []T, of func(T) Value) Value {
	l := &List{make([]Value, len(values))}
	for i, v := range values {
		l.Values[i] = of(v)
	}
	return Value{List: l}
}
