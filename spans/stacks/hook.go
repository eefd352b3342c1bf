package stacks

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/spans"
)

var _ spans.Hook = (*hook)(nil)

// A hook labels goroutines with the region that they are in. [Profiler.Hook] says what can be
// relied on.
type hook struct {
	on        atomic.Bool // while samples are taken
	unsampled bool
	labels    labels
	sessions  sessions
	owed      debts

	// Spans that end as they should are not counted: a counter that all processors write is slow.
	elsewhere, foreign atomic.Uint64
}

func newHook(unsampled bool) *hook {
	h := &hook{unsampled: unsampled}
	h.labels.byRegion = map[Region]*label{}
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
func (h *hook) OnStart(ctx context.Context, r *spans.Region) context.Context {
	h.owed.pay()
	if !h.on.Load() || !h.unsampled && !r.IsRecording() {
		return ctx
	}
	l := h.labelInSession(ctx, r, h.labelOf(r))
	before, set := profLabels(), l.labels
	if before != nil && !hasLabel(r.Parent(), before) && !h.labels.ours(before) {
		set = l.beside(before)
		ctx = withLabels(ctx, set)
	} else if l.reset.Load() {
		ctx = withLabels(ctx, set)
	}
	setProfLabels(set)
	m := markPool.Get().(*mark)
	*m = mark{l, set, before, goroutine.Current()}
	marks.Set(r, m)
	return ctx
}

// hasLabel reports whether labels are those of a region, which is the quick way to know that they
// are ours.
func hasLabel(r *spans.Region, labels unsafe.Pointer) bool {
	if r == nil {
		return false
	}
	l := labelsOfName.Get(r)
	return l != nil && l.labels == labels
}

// OnEnd implements [spans.Hook].
func (h *hook) OnEnd(r *spans.Region) {
	if m := marks.Get(r); m != nil && m.label.hook == h {
		marks.Set(r, nil)
		h.endSession(r, m.label)
		h.restore(m)
		markPool.Put(m)
	}
	h.owed.pay()
}

// restore gives the goroutine what it had before the span, if it is the same one.
func (h *hook) restore(m *mark) {
	if m.goroutine != goroutine.Current() {
		h.elsewhere.Add(1)
		h.owed.add(m, h.labels.ours)
		return
	}
	switch now := profLabels(); {
	case now == m.set:
	case !goroutine.Known():
		return // it may be another goroutine
	case now == nil:
		// A pprof.Do has put back the labels of its context, which had none.
		m.label.reset.Store(true)
	case !h.labels.ours(now):
		h.foreign.Add(1) // the application has set labels to stay
		return
	}
	setProfLabels(m.before)
}

// debts are labels that goroutines still have from spans that ended elsewhere. Only a goroutine
// itself can change its labels, so it does when it comes by here again. A place that is taken over
// belonged most likely to a goroutine that has ended.
type debts struct {
	any    atomic.Bool // from the first one on
	places [256]atomic.Pointer[debt]
}

type debt struct {
	goroutine   goroutine.ID
	set, before unsafe.Pointer
}

func (d *debts) place(id goroutine.ID) *atomic.Pointer[debt] { return &d.places[int(id)%len(d.places)] }

// add notes that the mark's goroutine has to put back what it had. Of several debts of one, the one
// that leads back to where no span was counts.
func (d *debts) add(m *mark, ours func(unsafe.Pointer) bool) {
	next := &debt{m.goroutine, m.set, m.before}
	place := d.place(m.goroutine)
	for {
		old := place.Load()
		if old != nil && old.goroutine == next.goroutine && next.before != nil && ours(next.before) {
			next.before = old.before
		}
		if place.CompareAndSwap(old, next) {
			d.any.Store(true)
			return
		}
	}
}

// pay gives the calling goroutine its labels back. One load as long as there never were debts, a
// few nanoseconds later on.
func (d *debts) pay() {
	if d.any.Load() {
		d.payNow()
	}
}

func (d *debts) payNow() {
	id := goroutine.Current()
	place := d.place(id)
	if owed := place.Load(); owed != nil && owed.goroutine == id && place.CompareAndSwap(owed, nil) && profLabels() == owed.set {
		setProfLabels(owed.before)
	}
}
