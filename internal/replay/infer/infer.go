package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// infer replaces tokens by objects.
func infer(p *model.Program) {
	all := handovers(p)
	places := model.NewUnion(len(p.Rec.Sites) + 1)
	of := cond.UsedAt(p)
	// Waits of one place, ended at one place, may be of one object, if the same goroutines meet
	// there.
	for i := range all {
		places.Join(of[p.SiteOf(all[i].Waiter)], of[p.SiteOf(all[i].Waker)])
	}
	goroutines := model.NewUnion(len(p.Lists))
	for _, group := range model.Grouped(len(all), func(i int32) int32 { return places.Find(of[p.SiteOf(all[i].Waiter)]) }) {
		goroutines.Reset()
		for _, i := range group {
			goroutines.Join(all[i].Waiter.List, all[i].Waker.List)
		}
		for _, part := range model.Grouped(len(group), func(k int32) int32 { return goroutines.Find(all[group[k]].Waiter.List) }) {
			for k := range part {
				part[k] = group[part[k]]
			}
			if !detach(p, all, part) && shared(p, all, part) {
				share(p, all, part, false)
			}
		}
	}
	inferServers(p, all)
}

// detach leaves waits for locks as long as they were, where they are so few and short that the
// lock's holder is an accident of the recording: an order that is kept here could contradict one
// that is decided anew elsewhere.
func detach(p *model.Program, all []model.Handover, part []int32) bool {
	var total int64
	for _, i := range part {
		o := p.Op(all[i].Waiter)
		if o.Reason != trace.WaitMutex {
			return false
		}
		total += o.D
	}
	if float64(total) > hidden.Incidental*float64(p.Rec.End-p.Rec.Start) {
		return false
	}
	p.Inferred = true
	for _, i := range part {
		wait, wake := p.Op(all[i].Waiter), p.Op(all[i].Waker)
		wait.Kind = model.OpOut
		wait.Set = 0 // nothing makes that shorter
		wake.Kind, wake.D = model.OpRun, 0
	}
	return true
}

// inferServers finds goroutines that serve any others, have no spans of their own, and wait each
// for itself: readers and writers of connections, say. Together they are a pool of servers.
func inferServers(p *model.Program, all []model.Handover) {
	spans := make([]bool, len(p.Lists))
	waits := make([]map[int32]int, len(p.Lists))
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			if p.Lists[l].Ops[k].Kind == model.OpOpen {
				spans[l] = true
			}
		}
	}
	var left []model.Handover
	for _, h := range all {
		if o := p.Op(h.Waiter); o.Kind != model.OpWait || spans[h.Waiter.List] || p.Lists[h.Waiter.List].Serves >= 0 || h.Taken {
			continue
		}
		left = append(left, h)
		if waits[h.Waiter.List] == nil {
			waits[h.Waiter.List] = map[int32]int{}
		}
		waits[h.Waiter.List][p.SiteOf(h.Waiter)]++
	}
	head := make([]int32, len(p.Lists)) // the site that each comes back to
	for l := range head {
		for site, n := range waits[l] {
			if n > 1 && (n > waits[l][head[l]] || n == waits[l][head[l]] && site < head[l]) {
				head[l] = site
			}
		}
	}
	left = slices.DeleteFunc(left, func(h model.Handover) bool {
		return head[h.Waiter.List] == 0 || head[h.Waiter.List] != p.SiteOf(h.Waiter)
	})
	for _, part := range model.Grouped(len(left), func(i int32) string { return p.Rec.Sites[p.SiteOf(left[i].Waiter)].Root() }) {
		wakers := map[int32]bool{}
		for _, i := range part {
			wakers[left[i].Waker.List] = true
		}
		if len(part) >= hidden.LeastHandovers && len(wakers) > 1 {
			share(p, left, part, true)
		}
	}
}

// handovers returns the waits for locks and channels, in the order in which they ended.
func handovers(p *model.Program) []model.Handover {
	all := make([]model.Handover, p.Tokens)
	for i := range all {
		all[i].Waiter.List, all[i].Waker.List = -1, -1
	}
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			switch o.Kind {
			case model.OpWait:
				h := &all[o.Arg]
				h.Waiter = model.Place{List: int32(l), Op: int32(k)}
				h.From, h.At = o.At-o.D, o.At
				h.Taken = o.Reason == trace.WaitSend
				if o.Reason != trace.WaitMutex && o.Reason != trace.WaitSend && o.Reason != trace.WaitReceive && o.Reason != trace.WaitSelect {
					h.Waiter.List = -1
				}
			case model.OpWake:
				all[o.Arg].Waker = model.Place{List: int32(l), Op: int32(k)}
			}
		}
	}
	all = slices.DeleteFunc(all, func(h model.Handover) bool { return h.Waiter.List < 0 || h.Waker.List < 0 || p.SiteOf(h.Waiter) == 0 })
	for i := range all {
		h := &all[i]
		if p.Lists[h.Waiter.List].Ops[h.Waiter.Op].Reason == trace.WaitSelect {
			switch model.Direction(p.Rec, p.SiteOf(h.Waker)) {
			case model.OpReceive:
				h.Taken = true
			case model.OpSend:
			default:
				h.Waiter.List = -1
			}
		}
	}
	all = slices.DeleteFunc(all, func(h model.Handover) bool { return h.Waiter.List < 0 })
	slices.SortStableFunc(all, func(a, b model.Handover) int { return cmp.Compare(a.At, b.At) })
	return all
}

// shared reports whether handovers are as those of one object: the one that waits longest is served
// first.
func shared(p *model.Program, all []model.Handover, part []int32) bool {
	if len(part) < hidden.LeastHandovers {
		return false
	}
	waiters := map[int32]bool{}
	for _, i := range part {
		if p.Lists[all[i].Waiter.List].Serves >= 0 && p.Op(all[i].Waiter).Reason != trace.WaitMutex {
			return false // it waits for its own request
		}
		waiters[all[i].Waiter.List] = true
	}
	fair, judged := hidden.InTurn(all, part)
	return len(waiters) == 1 || judged >= hidden.LeastHandovers/2 && float64(fair) >= hidden.Fairness*float64(judged)
}

// share makes one object of handovers. A goroutine that waits there serves, or goes on with its own
// work.
func share(p *model.Program, all []model.Handover, part []int32, serves bool) {
	p.Inferred = true
	object := int32(len(p.Objects))
	info := model.ObjectInfo{Kind: model.ObjectChan, Capacity: model.Unlimited, Inferred: true, Site: p.SiteOf(all[part[0]].Waiter)}
	for _, i := range part {
		h := &all[i]
		wait, wake := &p.Lists[h.Waiter.List].Ops[h.Waiter.Op], &p.Lists[h.Waker.List].Ops[h.Waker.Op]
		wait.Kind, wake.Kind = model.OpReceive, model.OpSend
		if h.Taken {
			wait.Kind, wake.Kind = model.OpSend, model.OpReceive
			info.Capacity = 1
		}
		wait.Arg, wake.Arg, wait.D, wake.D = object, object, 0, 0
		if h.Taken {
			p.Segments = append(p.Segments, h.Waker)
			wait.Segment = int32(len(p.Segments) - 1)
		} else {
			p.Segments = append(p.Segments, h.Waiter)
			wake.Segment = int32(len(p.Segments) - 1)
			if serves {
				wait.Head = true
				p.Lists[h.Waiter.List].Serves = object
			}
		}
	}
	if all[part[0]].Taken {
		info.Count = 1
	}
	p.Objects = append(p.Objects, info)
}
