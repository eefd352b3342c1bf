package pmuattrs

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/internal/naming"
)

// The attributes of spans. That of an event is "pmu." and its name.
const (
	ipcKey      = attribute.Key("pmu.ipc")
	userOnlyKey = attribute.Key("pmu.user_only")
)

// Key is the event's attribute, and the name of its metric: "pmu.cycles".
func (e Event) Key() attribute.Key { return attribute.Key("pmu." + e.name) }

// maxAttributes is how many a span gets at most.
const maxAttributes = maxEvents + 4

// attributeKeys are the parts of attributes that are the same for all spans.
type attributeKeys struct {
	events           []attribute.Key
	source, userOnly attribute.KeyValue
}

func newAttributeKeys(source Source, events []Event) attributeKeys {
	k := attributeKeys{
		source:   naming.CounterSourceKey.String(string(source)),
		userOnly: userOnlyKey.Bool(!slices.ContainsFunc(events, Event.InKernel)),
	}
	for _, e := range events {
		k.events = append(k.events, e.Key())
	}
	return k
}

// append appends the attributes of one span to dst. It allocates nothing where dst has room
// for maxAttributes.
func (k *attributeKeys) append(dst []attribute.KeyValue, d *Deltas, o outcome) []attribute.KeyValue {
	if o != counted {
		return append(dst, k.source, naming.CounterValidKey.Bool(false))
	}
	for i, key := range k.events {
		dst = append(dst, key.Int64(d.counts[i]))
	}
	if ipc, ok := d.IPC(); ok {
		dst = append(dst, ipcKey.Float64(ipc))
	}
	return append(dst, k.source, k.userOnly, naming.CounterValidKey.Bool(true))
}
