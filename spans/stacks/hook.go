package stacks

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/spans"
)

var _ spans.Hook = (*hook)(nil)

// A hook labels goroutines with the region that they are in. [Profiler.Hook] names what can be
// relied on.
type hook struct {
	on        atomic.Bool // while samples are taken
	unsampled bool
	// spans is set if sampled spans have labels of their own, whether or not samples are taken.
	spans    bool
	labels   labels
	sessions sessions
	owed     debts

	// Spans that end as they should are not counted: a counter that all processors write is slow.
	elsewhere, foreign atomic.Uint64
}

func newHook(unsampled, spans bool) *hook {
	h := &hook{unsampled: unsampled, spans: spans}
	h.labels.regions = registry.New(0, hashOf, func(number int) *label { return h.newLabel(number, otherRegion) })
	return h
}

// A mark is what a span in progress has done to its goroutine. It is used again for other spans as
// it is, since each pointer that is cleared costs as much as one that is set.
type mark struct {
	label       *label
	set, before unsafe.Pointer
	goroutine   goroutine.ID
}

var (
	marks    = spans.NewSlot[mark]()
	markPool = sync.Pool{New: func() any { return new(mark) }}
)

// OnStart implements [spans.Hook].
func (h *hook) OnStart(ctx context.Context, r *spans.Span) context.Context {
	h.owed.pay(&h.labels)
	if !h.spans && !h.on.Load() || !h.unsampled && !r.IsRecording() {
		return ctx
	}
	l := h.labelInSession(ctx, r, h.labelOf(r))
	before, set := profLabels(), l.labels
	others := before
	if before != nil && (hasLabel(r.Parent(), before) || h.labels.ours(before)) {
		others = nil
	}
	if h.spans && r.SpanContext().IsSampled() {
		set = l.inSpan(r.SpanContext(), others)
	} else if others != nil || h.owed.owes(set) {
		set = l.beside(others)
	}
	if others != nil || l.reset.Load() {
		ctx = withLabels(ctx, set)
	}
	setProfLabels(set)
	m := markPool.Get().(*mark)
	*m = mark{l, set, before, goroutine.Current()}
	marks.Set(r, m)
	return ctx
}

// hasLabel reports whether labels belong to a region, which is the quick way to know that they
// are ours.
func hasLabel(r *spans.Span, labels unsafe.Pointer) bool {
	if r == nil {
		return false
	}
	l := labelsOfName.Get(r)
	return l != nil && l.labels == labels
}

// OnEnd implements [spans.Hook].
func (h *hook) OnEnd(r *spans.Span) {
	if m := marks.Get(r); m != nil && m.label.hook == h {
		marks.Set(r, nil)
		h.endSession(r, m.label)
		h.restore(r, m)
		markPool.Put(m)
	}
	h.owed.pay(&h.labels)
}

// restore gives the goroutine what it had before the span, if it is the same one.
func (h *hook) restore(r *spans.Span, m *mark) {
	if m.goroutine != goroutine.Current() {
		h.elsewhere.Add(1)
		h.owed.push(m.goroutine, m.set, m.before)
		return
	}
	before := m.before
	switch now := profLabels(); {
	case now == m.set:
		if before == m.set && outlived(r, before) { // all three are spans of one name
			before = nil
		}
	case !goroutine.Known():
		return // it may be another goroutine
	case now == nil && outlived(r, before):
		return // the parent has ended, and put back what was before both
	case now == nil:
		// A pprof.Do has put back the labels of its context, which had none.
		m.label.reset.Store(true)
	case !h.labels.inRegion(now):
		h.foreign.Add(1) // the application has set labels to stay
		return
	default: // a span below is open: it has its label until it ends, and then this one is not to come back
		h.owed.push(m.goroutine, m.set, m.before)
		return
	}
	setProfLabels(before)
}

// outlived reports whether the labels from before a span are those of its parent, which has ended.
func outlived(r *spans.Span, before unsafe.Pointer) bool {
	p := r.Parent()
	return p != nil && before != nil && marks.Get(p) == nil && hasLabel(p, before)
}

// debts are labels that goroutines still have, or will have again, from spans that ended elsewhere
// or before spans below them. Only a goroutine itself can change its labels, so it does when it
// comes by here again. One that has ended does not: of each place the oldest are forgotten.
type debts struct {
	any    atomic.Bool                 // from the first one on
	places [256]atomic.Pointer[[]debt] // by goroutine, the newest last; no list is ever changed
}

// A debt is that a goroutine which has the labels set is to have those from before.
type debt struct {
	goroutine   goroutine.ID
	set, before unsafe.Pointer
}

// mostDebts bounds those of one place, and so of one goroutine.
const mostDebts = 16

func (d *debts) place(id goroutine.ID) *atomic.Pointer[[]debt] {
	return &d.places[int(id)%len(d.places)]
}

// push notes that a goroutine has to put back what it had before set.
func (d *debts) push(id goroutine.ID, set, before unsafe.Pointer) {
	place := d.place(id)
	for {
		old := place.Load()
		var kept []debt
		if old != nil {
			kept = (*old)[max(0, len(*old)+1-mostDebts):]
		}
		all := slices.Concat(kept, []debt{{id, set, before}})
		if place.CompareAndSwap(old, &all) {
			d.any.Store(true)
			return
		}
	}
}

// owes reports whether the calling goroutine is to lose these labels when it has them again. A span
// that begins has others.
func (d *debts) owes(set unsafe.Pointer) bool {
	if !d.any.Load() {
		return false
	}
	id := goroutine.Current()
	all := d.place(id).Load()
	return all != nil && slices.ContainsFunc(*all, func(o debt) bool { return o.goroutine == id && o.set == set })
}

// pay gives the calling goroutine its labels back. One load as long as there never were debts, some
// nanoseconds later on.
func (d *debts) pay(l *labels) {
	if d.any.Load() {
		d.payNow(l)
	}
}

func (d *debts) payNow(l *labels) {
	id := goroutine.Current()
	own := func(o debt) bool { return o.goroutine == id }
	place := d.place(id)
	for {
		old := place.Load()
		if old == nil || !slices.ContainsFunc(*old, own) {
			return
		}
		has, left := profLabels(), slices.Clone(*old)
		paid := has
		for i := len(left) - 1; i >= 0; i-- {
			if own(left[i]) && left[i].set == paid {
				paid = left[i].before
				left = slices.Delete(left, i, i+1)
				i = len(left) // any of the others may follow
			}
		}
		if !l.inRegion(paid) { // no span is open here whose end would lead to one of the others
			left = slices.DeleteFunc(left, own)
		}
		if !place.CompareAndSwap(old, &left) {
			continue // another goroutine has noted one
		}
		if paid != has {
			setProfLabels(paid)
		}
		return
	}
}
