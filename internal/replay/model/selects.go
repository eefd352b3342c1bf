package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Marks record a select statement where it begins to wait, and what it ended by. One that did not
// have to wait is recorded by its end alone, as a receive that is no select statement's: selectgo
// takes a ready case in its first pass, before it puts the goroutine into any queue. In a faster
// program it may have to wait there, for a timer, too. So these are looked for.
//
// In a list a select statement is
//
//	OpChoose, OpReceive                      a goroutine sent, before or while it waited
//	OpChoose, OpOut                          a timer ended it, by a channel without marks
//	OpChoose, OpOut, OpReceive               the same, and the timer's channel has marks
//
// with computing of less than ShortSyscall in between, which is the runtime's own.

// SentTo returns the objects that goroutines send to. Channels of timers are not among these: a
// receive from one is a wait for the timer.
func (p *Program) SentTo() map[int32]bool {
	sends := map[int32]bool{}
	for _, o := range p.All() {
		if o.Kind == OpSend {
			sends[o.Arg] = true
		}
	}
	return sends
}

// Unwaited finds select statements that did not have to wait, where that is not marked: receives
// from a channel for which the goroutine waits in select statements alone, behind as many others in
// a row. A goroutine that gathers a batch receives the first element by a plain receive, and more
// of them by a select statement with a timer: the place in the row distinguishes both. It puts an
// OpChoose before each, in new memory, so that places in the list are no longer valid. Where the
// goroutine has a plain receive, too, that never had to wait, that is taken for a select statement;
// its outcome stays what it was unless another case is ready first.
func (p *Program) Unwaited(l *List, sends map[int32]bool) {
	type way struct {
		object int32
		nth    int
	}
	chosen, plain := map[way]bool{}, map[way]bool{}
	for k := range l.Ops {
		if o := &l.Ops[k]; o.Kind == OpReceive && o.Site != 0 {
			if x := (way{o.Arg, len(l.Past(k))}); l.Chooses(k) {
				chosen[x] = true
			} else {
				plain[x] = true
			}
		}
	}
	if len(chosen) == 0 {
		return
	}
	ops := make([]Op, 0, len(l.Ops)+len(l.Ops)/8)
	for k, o := range l.Ops {
		if o.Kind == OpReceive && o.Site == 0 && sends[o.Arg] && !l.Chooses(k) {
			if x := (way{o.Arg, len(l.Past(k))}); chosen[x] && !plain[x] {
				begins := o
				begins.Kind, begins.Arg, begins.D = OpChoose, trace.None, 0
				ops = append(ops, begins)
			}
		}
		ops = append(ops, o)
	}
	l.Ops = ops
}

// Past returns the receives that come in a row right before op k, and the waits for timers of
// select statements, the latest first, at most MostPast. Computing between them is passed over: a
// batch may be looked at as it grows.
func (l *List) Past(k int) (past []int32) {
	for k--; k >= 0 && len(past) < MostPast; k-- {
		switch o := &l.Ops[k]; {
		case o.Kind == OpRun || o.Kind == OpChoose:
		case o.Kind == OpReceive, o.Kind == OpOut && l.Chooses(k):
			past = append(past, int32(k))
		default: // what the goroutine did before does not matter to where it goes on
			return past
		}
	}
	return past
}

// Chooses reports whether op k ends a select statement: one begins before it, and nothing but a
// wait for something outside and the runtime's own computing is in between.
func (l *List) Chooses(k int) bool {
	for k--; k >= 0; k-- {
		switch o := &l.Ops[k]; {
		case o.Kind == OpChoose:
			return true
		case o.Kind == OpOut || o.Kind == OpRun && o.D < ShortSyscall:
		default:
			return false
		}
	}
	return false
}

// Ends returns the op that ends the select statement at op k, and from which object it receives,
// none for a timer; ok is false if it is not known, as where a case that sends was taken. Sends has
// the objects that goroutines send to. A receive behind a wait that something outside ended is not
// the end: the goroutine went on because of the timer, and took the element afterwards.
func (l *List) Ends(k int, sends map[int32]bool) (end int, object int32, ok bool) {
	out := -1
	var ran int64
	for j := k + 1; j < len(l.Ops); j++ {
		switch o := &l.Ops[j]; {
		case o.Kind == OpRun:
			if ran += o.D; ran < ShortSyscall {
				continue
			}
		case o.Kind == OpOut && out < 0 && (o.Reason == trace.WaitSelect || o.Reason == trace.WaitTimer):
			out, ran = j, 0
			continue
		case o.Kind == OpReceive && sends[o.Arg]:
			if out < 0 {
				return j, o.Arg, true
			}
		}
		break
	}
	return out, trace.None, out >= 0
}

// TakenAmongOthers returns the channels that a goroutine receives from in select statements, of
// which it takes other cases, too, more than once: it receives from another channel that others
// send to, or it sends. Such a loop is no server of any of them: as one it would wait for that
// alone. Marks have no channels that it may send to, so that these show where it has sent.
func (p *Program) TakenAmongOthers(l *List, sends map[int32]bool) (all []int32) {
	if !l.Has(OpChoose) {
		return nil
	}
	times, sent, seen := map[int32]int{}, map[int32]int{}, map[int32]bool{}
	for k := range l.Ops {
		if o := &l.Ops[k]; o.Kind == OpReceive && sends[o.Arg] {
			times[o.Arg]++
		}
	}
	for k := range l.Ops {
		if l.Ops[k].Kind != OpChoose || l.Ops[k].Nth == 0 {
			continue
		}
		cases := p.Told[l.Ops[k].Nth-1]
		sends := l.after(k) > 0 && l.Ops[l.after(k)].Kind == OpSend
		for _, c := range cases {
			if sends {
				sent[c]++
			}
			if times[c] > 0 && !seen[c] && (sent[c] > 1 || slices.ContainsFunc(cases, func(other int32) bool { return other != c && times[other] > 1 })) {
				seen[c] = true
				all = append(all, c)
			}
		}
	}
	return all
}
