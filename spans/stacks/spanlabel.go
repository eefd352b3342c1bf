package stacks

import (
	"context"
	"encoding/hex"
	"reflect"
	"runtime/pprof"
	"strconv"
	"strings"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
)

// A spanLabel is what a goroutine has in one sampled span, with [WithSpanLabels]: the labels of its
// region and those of the span, in one allocation. Nothing of it changes after it is made, since
// goroutines that are started in the span, and samples that are not yet read, have it for as long
// as they like.
type spanLabel struct {
	labels labelMap // what the runtime and pprof see
	label  *label
	list   [5]keyValue // ordered by key
	ids    [16 + 32]byte
}

// A labelMap is a map of labels as package runtime/pprof has it, where layoutKnown.
type labelMap struct{ list []keyValue }

type keyValue struct{ key, value string }

// layoutKnown reports whether that is so: a list of keys and values, at any depth of structs.
var layoutKnown = knowsLayout(labelType)

func knowsLayout(t reflect.Type) bool {
	if t == nil {
		return false
	}
	if t = t.Elem(); t.Size() != unsafe.Sizeof(labelMap{}) {
		return false
	}
	for t.Kind() == reflect.Struct && t.NumField() == 1 {
		t = t.Field(0).Type
	}
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct || t.Elem().NumField() != 2 {
		return false
	}
	key, value := t.Elem().Field(0), t.Elem().Field(1)
	return key.Type.Kind() == reflect.String && value.Type.Kind() == reflect.String && strings.EqualFold(key.Name, "key")
}

// ownSpanID is the key of the span's ID in a spanLabel, and of nothing else: its address identifies
// it.
var ownSpanID = strings.Clone(naming.SpanIDLabel)

// inSpan returns the labels of a goroutine in one span and, if there are any, with others that it
// has. Of these, what has the keys of ours gives way until the span ends.
func (l *label) inSpan(c trace.SpanContext, others unsafe.Pointer) unsafe.Pointer {
	if others == nil && layoutKnown {
		return l.alone(c)
	}
	traceID, spanID := c.TraceID(), c.SpanID()
	set := pprof.Labels(naming.NameLabel, l.region.Name, naming.SpanIDLabel, spanID.String(), naming.TraceIDLabel, traceID.String())
	return labelsOf(pprof.WithLabels(withLabels(context.Background(), l.beside(others)), set))
}

// alone makes a spanLabel.
func (l *label) alone(c trace.SpanContext) unsafe.Pointer {
	s := &spanLabel{label: l}
	traceID, spanID := c.TraceID(), c.SpanID()
	hex.Encode(s.ids[:16], spanID[:])
	hex.Encode(s.ids[16:], traceID[:])
	list := append(s.list[:0], keyValue{naming.RegionLabel, l.number})
	if l.session != nil {
		list = append(list, keyValue{naming.SessionLabel, strconv.FormatInt(l.session.number, 10)})
	}
	s.labels.list = append(list,
		keyValue{ownSpanID, unsafe.String(&s.ids[0], 16)},
		keyValue{naming.NameLabel, l.region.Name},
		keyValue{naming.TraceIDLabel, unsafe.String(&s.ids[16], 32)})
	return unsafe.Pointer(&s.labels)
}

// spanLabelOf returns the spanLabel that labels are, nil if they are others, such as a copy with
// more in it: the key shows that the value lies in some spanLabel, and its place shows in which.
func spanLabelOf(labels unsafe.Pointer) *spanLabel {
	if labels == nil || !layoutKnown {
		return nil
	}
	for _, kv := range (*labelMap)(labels).list {
		if unsafe.StringData(kv.key) == unsafe.StringData(ownSpanID) {
			if uintptr(unsafe.Pointer(unsafe.StringData(kv.value))) != uintptr(labels)+unsafe.Offsetof(spanLabel{}.ids) {
				return nil
			}
			return (*spanLabel)(labels)
		}
	}
	return nil
}
