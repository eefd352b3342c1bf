package hdrmetric

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// overflowSet has the attribute of the series that all sets beyond the cardinality limit share.
var overflowSet = attribute.NewSet(attribute.Bool("otel.metric.overflow", true))

// rawAttributes is implemented by the experimental option WithUnsafeAttributes.
type rawAttributes interface {
	RawAttributes() []attribute.KeyValue
	Experimental()
}

// attributesOf returns the attributes of a call's options. Of the same key, the last wins. A single
// WithAttributeSet gives its set as it is.
func attributesOf(opts []metric.RecordOption) attribute.Set {
	c := metric.NewRecordConfig(opts)
	for _, o := range opts {
		if _, ok := o.(rawAttributes); ok {
			return withRaw(c.Attributes(), opts)
		}
	}
	return c.Attributes()
}

// withRaw adds the raw attributes among opts to set. They win over others, wherever they stand.
func withRaw(set attribute.Set, opts []metric.RecordOption) attribute.Set {
	all := set.ToSlice()
	for _, o := range opts {
		if r, ok := o.(rawAttributes); ok {
			all = append(all, r.RawAttributes()...)
		}
	}
	return attribute.NewSet(all...)
}

// merged returns the attributes of both sets; those of over win.
func merged(set, over attribute.Set) attribute.Set {
	return attribute.NewSet(append(set.ToSlice(), over.ToSlice()...)...)
}

// withoutDuplicates returns set with every key once in each of its map values, at any depth; the
// last value of a key wins. A set without map values is returned as it is, and nothing is
// allocated.
func withoutDuplicates(set attribute.Set) attribute.Set {
	for i := range set.Len() {
		if kv, _ := set.Get(i); nested(kv.Value) {
			all := set.ToSlice()
			for i := range all {
				all[i].Value = unique(all[i].Value)
			}
			return attribute.NewSet(all...)
		}
	}
	return set
}

// nested reports whether v may hold a map.
func nested(v attribute.Value) bool {
	return v.Type() == attribute.MAP || v.Type() == attribute.SLICE
}

// unique returns v with every key once in each of its maps.
func unique(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.SLICE:
		all := v.AsSlice()
		for i := range all {
			all[i] = unique(all[i])
		}
		return attribute.SliceValue(all...)
	case attribute.MAP:
		// A set keeps the last value of a key, too.
		set := attribute.NewSet(v.AsMap()...)
		all := set.ToSlice()
		for i := range all {
			all[i].Value = unique(all[i].Value)
		}
		return attribute.MapValue(all...)
	default:
		return v
	}
}

// keptKey returns the key of the attributes of set that pass filter, all if it is nil. It makes no
// set of them.
func keptKey(set attribute.Set, filter attribute.Filter) attribute.Distinct {
	if filter == nil {
		return set.Equivalent()
	}
	h := attribute.NewHasher()
	for i := range set.Len() {
		if kv, _ := set.Get(i); filter(kv) {
			h.Write(kv)
		}
	}
	return h.Distinct()
}
