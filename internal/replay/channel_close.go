package replay

import "github.com/otelprof/otelprof/internal/mark"

// Goroutines that receive from a channel wait until it is closed. One that comes later need not wait, and would have to if it came sooner.

// A latecomer has received from a channel that was closed already.
type latecomer struct {
	closing place // behind which op it was closed
	token   int32
}

// closed books an operation on a channel that is closed, or by which it is. Decided means that it waited, or was one of a select statement.
func (b *builder) closed(g int32, e *event, decided bool) {
	if e.what == mark.Close {
		b.closings[e.ref] = place{g, int32(len(b.p.lists[g].ops)) - 1}
		return
	}
	at, ok := b.closings[e.ref]
	if !ok || at.op < 0 || decided {
		return
	}
	b.emit(g, op{kind: opWait, arg: b.p.tokens, at: e.at, late: -1, reason: waitReceive})
	b.latecomers = append(b.latecomers, latecomer{at, b.p.tokens})
	b.p.tokens++
	b.dead = append(b.dead, false)
}

// letIn has those who close channels let go on who came later.
func (b *builder) letIn() {
	edits := map[int32]*edit{}
	for _, x := range b.latecomers {
		after := editOf(edits, x.closing.list).after
		at := int(x.closing.op)
		after[at] = append(after[at], op{kind: opWake, arg: x.token, at: b.p.op(x.closing).at, late: -1, reason: waitReceive})
	}
	for l, e := range edits {
		e.apply(&b.p.lists[l])
	}
}
