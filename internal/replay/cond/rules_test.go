package cond

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/model"
)

const ms = 1_000_000

// news is a condition variable that is signalled each millisecond, with a goroutine that waits for
// that in between: always the same, or a new one each time.
func news(same bool) *condition {
	c := &condition{}
	for i := range int32(50) {
		at, list := int64(i+1)*ms, i
		if same {
			list = 0
		}
		c.passes = append(c.passes, &section{list: list, came: at - ms/2, at: at + 1000, wait: 1})
		c.signals = append(c.signals, signaling{section: &section{list: 100, at: at, waits: -1}})
	}
	return c
}

func TestLatestTakesEvidence(t *testing.T) {
	for _, same := range []bool{true, false} {
		if got := latest(news(same)) != nil; got != same {
			t.Errorf("a goroutine that waits each time: %t; latest takes it: %t", same, got)
		}
	}
}

// TestFirstRoundOfBatches has 8 goroutines wait for batches of 4 in 30 rounds, first come first
// served.
func TestFirstRoundOfBatches(t *testing.T) {
	x := &batcher{limit: 4}
	var all, queue []model.Handover
	for i := range int32(8) {
		queue = append(queue, model.Handover{Waiter: model.Place{List: i}, From: int64(i) + 1})
	}
	for i := range int32(30) {
		r, end := lot{start: int64(i) * 100 * ms}, int64(i+1)*100*ms
		for _, a := range queue[:4] {
			a.At = end
			r.answers, all = append(r.answers, a), append(all, a)
			queue = append(queue, model.Handover{Waiter: model.Place{List: a.Waiter.List, Op: i + 1}, From: end + ms})
		}
		queue, x.rounds = queue[4:], append(x.rounds, r)
	}
	if !x.agrees(all) {
		t.Error("batches of the first four that wait do not agree with the rule")
	}
}

// TestOtherLocksStay has a goroutine take a lock within another one, give that back, and wait for a
// condition variable of the inner one.
func TestOtherLocksStay(t *testing.T) {
	const inner, outer = 0, 1
	b := &model.Builder{P: &model.Program{Lists: []model.List{{Ops: []model.Op{
		{Kind: model.OpLock, Arg: outer},
		{Kind: model.OpLock, Arg: inner},
		{Kind: model.OpUnlock, Arg: outer},
		{Kind: model.OpUnlock, Arg: inner},
		{Kind: model.OpWait},
		{Kind: model.OpLock, Arg: inner},
	}}}}, Dead: []bool{false}}
	e := Edits{}.Of(0)
	skip(b, e, &section{first: 1, lock: 5}, 1, 5)
	e.Apply(&b.P.Lists[0])
	var left []model.OpKind
	for _, o := range b.P.Lists[0].Ops {
		left = append(left, o.Kind)
	}
	if diff := cmp.Diff([]model.OpKind{model.OpLock, model.OpUnlock, model.OpLock}, left); diff != "" {
		t.Errorf("ops (-want +got):\n%s", diff)
	}
}
