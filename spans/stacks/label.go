package stacks

import (
	"context"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/spans"
)

// The labels of a goroutine in a region, and in a session that is profiled. Their values are
// numbers, looked up in the tables below: labels are shown in crash traces.
const (
	regionLabel  = "otelprof_region"
	sessionLabel = "otelprof_session"
)

// A Region is what samples are counted for: spans of one scope and name.
type Region struct {
	Scope instrumentation.Scope
	Name  string
}

// label is the label of one region, or of one region in one session.
type label struct {
	hook    *hook
	id      int // from 1
	region  Region
	session *session // nil for the one that all other spans share
	// labels are those of a goroutine that has no others.
	labels unsafe.Pointer
	// reset is set when labels went missing during a span, as they do behind a pprof.Do.
	// Such spans get a context that has the label, which takes an allocation.
	reset atomic.Bool
}

var labelsOfName = spans.NewNameSlot[label]()

// labels are the labels of one hook. None is ever taken away, since a goroutine may have it for
// as long as it lives; those of sessions go with their session.
type labels struct {
	mu       sync.Mutex
	byID     []*label // index id-1
	byRegion map[Region]*label
	// known has the labels by what a goroutine has.
	known sync.Map // unsafe.Pointer → *label
}

// maxRegions is as many as package spans keeps apart by default. Spans of further names are
// counted for the region "other".
const maxRegions = 2000

// labelOf returns the label of the region's name, which is made at the first span.
func (h *hook) labelOf(r *spans.Region) *label {
	l := labelsOfName.Get(r)
	if l == nil || l.hook != h {
		l = h.labels.add(h, Region{Scope: r.Scope(), Name: r.Name()})
		labelsOfName.Set(r, l)
	}
	if l.region.Name != r.Name() { // the place is shared by all names beyond the provider's limit
		return h.labels.add(h, Region{Name: "other"})
	}
	return l
}

func (all *labels) add(h *hook, region Region) *label {
	all.mu.Lock()
	defer all.mu.Unlock()
	if l := all.byRegion[region]; l != nil {
		return l
	}
	if len(all.byID) >= maxRegions {
		region = Region{Name: "other"}
		if l := all.byRegion[region]; l != nil {
			return l
		}
	}
	l := &label{hook: h, id: len(all.byID) + 1, region: region}
	l.labels = labelsOf(pprof.WithLabels(context.Background(), l.set()))
	all.byID = append(all.byID, l)
	all.byRegion[region] = l
	all.known.Store(l.labels, l)
	return l
}

// ours reports whether labels are nothing but a region's.
func (all *labels) ours(l unsafe.Pointer) bool {
	_, ok := all.known.Load(l)
	return ok
}

// set returns the label as package pprof wants it.
func (l *label) set() pprof.LabelSet {
	if l.session == nil {
		return pprof.Labels(regionLabel, strconv.Itoa(l.id))
	}
	return pprof.Labels(regionLabel, strconv.Itoa(l.id), sessionLabel, strconv.FormatInt(l.session.number, 10))
}

// beside returns the label together with those that a goroutine has.
func (l *label) beside(others unsafe.Pointer) unsafe.Pointer {
	return labelsOf(pprof.WithLabels(withLabels(context.Background(), others), l.set()))
}

// find tells to which region and session a sample with these labels belongs, 0 if to none.
func (all *labels) find(tag unsafe.Pointer) (region int, session int64) {
	if tag == nil {
		return 0, 0
	}
	if l, ok := all.known.Load(tag); ok {
		return l.(*label).numbers()
	}
	pprof.ForLabels(withLabels(context.Background(), tag), func(key, value string) bool {
		switch key {
		case regionLabel:
			region, _ = strconv.Atoi(value) // 0 for what is not ours
		case sessionLabel:
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
func (all *labels) region(id int) (Region, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if id < 1 || id > len(all.byID) {
		return Region{}, false
	}
	return all.byID[id-1].region, true
}
