package stacks

import (
	"context"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/spans"
)

// label is the label of one region, or of one region in one session.
type label struct {
	hook    *hook
	id      int    // from 1
	number  string // the same as text
	region  spans.Region
	session *session // nil for the one that all other spans share
	// labels are the labels of a goroutine that has no others.
	labels unsafe.Pointer
	// reset is set when labels went missing during a span, as they do behind a pprof.Do.
	// Such spans get a context that has the label, which takes an allocation.
	reset atomic.Bool
}

var labelsOfName = spans.NewNameSlot[label]()

// labels are the labels of one hook. None is ever taken away, since a goroutine may have it for as
// long as it lives; those of sessions go with their session. There are as many as the providers of
// spans keep regions apart.
type labels struct {
	regions *registry.Registry[spans.Region, label] // by their ids, less 1
	// known has the labels by what a goroutine has.
	known sync.Map // unsafe.Pointer → *label
}

// otherRegion counts spans whose names are beyond the limit.
var otherRegion = spans.Region{Name: "other"}

func hashOf(r spans.Region) uint64 {
	return registry.Mix(registry.String(r.Name), registry.String(r.Scope.Name))
}

// labelOf returns the label of the region's name, which is made at the first span.
func (h *hook) labelOf(r *spans.Span) *label {
	l := labelsOfName.Get(r)
	if l == nil || l.hook != h {
		if l = h.labels.regions.Other(); labelsOfName.Own(r) {
			l = h.add(r.Region())
		}
		labelsOfName.Set(r, l)
	}
	return l
}

func (h *hook) add(region spans.Region) *label {
	return h.labels.regions.Add(region, func(number int) *label { return h.newLabel(number, region) })
}

func (h *hook) newLabel(number int, region spans.Region) *label {
	l := &label{hook: h, id: number + 1, number: strconv.Itoa(number + 1), region: region}
	l.labels = labelsOf(pprof.WithLabels(context.Background(), l.set()))
	h.labels.known.Store(l.labels, l)
	return l
}

// ours reports whether labels are nothing but a region's, or a span's.
func (all *labels) ours(l unsafe.Pointer) bool {
	if spanLabelOf(l) != nil {
		return true
	}
	_, ok := all.known.Load(l)
	return ok
}

// inRegion reports whether labels have a region's among them, alone or beside the application's.
func (all *labels) inRegion(l unsafe.Pointer) bool {
	region, _ := all.find(l)
	return region != 0
}

// set returns the label as package pprof wants it.
func (l *label) set() pprof.LabelSet {
	if l.session == nil {
		return pprof.Labels(naming.RegionLabel, l.number)
	}
	return pprof.Labels(naming.RegionLabel, l.number, naming.SessionLabel, strconv.FormatInt(l.session.number, 10))
}

// beside returns the label together with the labels that a goroutine has.
func (l *label) beside(others unsafe.Pointer) unsafe.Pointer {
	return labelsOf(pprof.WithLabels(withLabels(context.Background(), others), l.set()))
}

// find returns to which region and session a sample with these labels belongs, 0 if to none.
func (all *labels) find(tag unsafe.Pointer) (region int, session int64) {
	if tag == nil {
		return 0, 0
	}
	if s := spanLabelOf(tag); s != nil {
		return s.label.numbers()
	}
	if l, ok := all.known.Load(tag); ok {
		return l.(*label).numbers()
	}
	pprof.ForLabels(withLabels(context.Background(), tag), func(key, value string) bool {
		switch key {
		case naming.RegionLabel:
			region, _ = strconv.Atoi(value) // 0 for what is not ours
		case naming.SessionLabel:
			session, _ = strconv.ParseInt(value, 10, 64)
		}
		return true
	})
	return region, session
}

func (l *label) numbers() (region int, session int64) {
	if l.session != nil {
		session = l.session.number
	}
	return l.id, session
}

// region returns the region with a number.
func (all *labels) region(id int) (spans.Region, bool) {
	if l := all.numbered(id); l != nil {
		return l.region, true
	}
	return spans.Region{}, false
}

// alone returns the labels of a goroutine in a region, and nothing else.
func (all *labels) alone(id int) unsafe.Pointer {
	if l := all.numbered(id); l != nil {
		return l.labels
	}
	return nil
}

func (all *labels) numbered(id int) *label {
	known := all.regions.All()
	if id < 1 || id > len(known) {
		return nil
	}
	return known[id-1]
}
