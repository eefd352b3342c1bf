package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A stock trace shows that a goroutine waited, where, and which goroutine ended that. It shows
// neither the address of a lock nor that of a channel. Two hand-overs are taken for hand-overs of
// one object if they are connected by places in the program and by goroutines, and if the queue of
// the object is first in, first out. That is what the runtime does: waitq in runtime/chan.go
// appends and takes the first (enqueue, dequeue), and waiters of a sync.Mutex "are queued in FIFO
// order" (internal/sync/mutex.go), with semaRoot.queue in runtime/sema.go. Objects that are not
// shared do not keep one order:
//
//	goroutine 1   waits 1 ....... 5           one queue: 1 comes and goes before 2, 2 before 3
//	goroutine 2     waits 2 ............ 7
//	goroutine 3             waits 6 ........ 9
//
//	goroutine 1   waits 1 .............. 7    two queues: 2 comes later and goes on earlier
//	goroutine 2     waits 2 .... 5
//
// The reason of a wait in a trace is coarse: "sync" is a Mutex, an RWMutex and a WaitGroup alike
// (traceBlockSync in semacquire1, runtime/sema.go), so that WaitMutex is any of these here. Waits
// of a WaitGroup for goroutines that the waiting one has started are gone by then, see cond.Gather.
//
// The result is a channel without a bound for all kinds of objects: the waker sends, the waiter
// receives, the first that waits gets the next. A lock of this kind is right about who waits for
// whom, and knows nothing of operations that did not wait: package hidden completes those where it
// can. Where several objects at one place are taken for one, goroutines wait for each other that
// need not; where one is taken for several, the recorded order stays in parts. Both ways the truth
// is bounded by the program without objects, and by one in which waits for locks are as long as
// they were (order_kept and unlocked in package replay; TestBounds).

// infer replaces tokens by objects: first by objects that goroutines share, then by pools of
// servers for the hand-overs that are left. It takes n log n for n hand-overs. A hand-over that
// fits neither keeps its token.
func infer(p *model.Program) {
	all := handovers(p)
	places := model.NewUnion(len(p.Rec.Sites) + 1)
	of := cond.UsedAt(p)
	// Waits of one place, ended at one place, may be of one object, if the same goroutines meet
	// there.
	for i := range all {
		// The waiter's place and the waker's are two sides of one object: Lock and Unlock, receive
		// and send. Of an object with several places on each side all come together, by pairs that
		// have met. A waker without a stack is of place 0, and joins what it wakes with what other
		// such wakers wake.
		places.Join(of[p.SiteOf(all[i].Waiter)], of[p.SiteOf(all[i].Waker)])
	}
	// Places alone are too coarse: a type's methods have one place for all values of the type.
	// Values with goroutines in common stay together, others are apart. Of 4 goroutines where 1 and
	// 2 wake each other, and 3 and 4, there are two objects.
	goroutines := model.NewUnion(len(p.Lists))
	for _, group := range model.Grouped(model.Numbers(len(all)), func(i int32) int32 { return places.Find(of[p.SiteOf(all[i].Waiter)]) }) {
		goroutines.Reset()
		for _, i := range group {
			goroutines.Join(all[i].Waiter.List, all[i].Waker.List)
		}
		for _, part := range model.Grouped(group, func(i int32) int32 { return goroutines.Find(all[i].Waiter.List) }) {
			// What matters little is left as it was, even if it looked like one object: it would be
			// one more order that is decided anew, for no gain.
			if !detach(p, all, part) && shared(p, all, part) && !leftOut(p, all, part) {
				share(p, all, part, false)
			}
		}
	}
	inferServers(p, all)
}

// detach leaves waits for locks as long as they were, where they are so few and short that the
// lock's holder is an accident of the recording: an order that is kept here could contradict one
// that is decided anew elsewhere, and the two would wait for each other for ever (a wait-for
// cycle). The bound is hidden.Incidental of the window, for all waits of the part together; the
// error of an answer is at most of that order. It reports false for a part that has any other wait
// than for a lock, and leaves it alone: who waits for a WaitGroup waits for the slowest, however
// short that is in the recording.
func detach(p *model.Program, all []model.Handover, part []int32) bool {
	var total int64
	for _, i := range part {
		o := p.Op(all[i].Waiter)
		if o.Reason != trace.WaitMutex || p.Rec.Sites[o.Site].Joins() {
			return false
		}
		total += o.D
	}
	if float64(total) > hidden.Incidental*float64(p.Rec.End-p.Rec.Start) {
		return false
	}
	p.Inferred = true
	for _, i := range part {
		// The wake-up stays as an op that takes no time, so that places of other ops stay valid.
		wait, wake := p.Op(all[i].Waiter), p.Op(all[i].Waker)
		wait.Kind = model.OpOut
		wait.Set = 0 // nothing makes that shorter
		wake.Kind, wake.D = model.OpRun, 0
	}
	return true
}

// leftOut notes how long goroutines waited for an object, and reports whether it is the one that is
// left out, see [trace.Recording.LeftOut]. Its waits keep the recorded order.
func leftOut(p *model.Program, all []model.Handover, part []int32) bool {
	var total int64
	for _, i := range part {
		total += all[i].At - all[i].From
	}
	p.Shared = append(p.Shared, total)
	return len(p.Shared) == p.Rec.LeftOut
}

// inferServers finds goroutines that serve any others, have no spans of their own, and wait each
// for itself, as readers and writers of connections do. Together they are a pool of servers.
//
// These have an object each, so that infer finds none that they share: the readLoop of each
// connection of net/http waits at a channel of its own. But which connection a request takes is an
// accident of the recording. In the replay an element is for any of them, and carries its work
// along. What is looked for is a goroutine that comes back to one wait more often than to any
// other, its head, and others with the same outermost function. With one waker alone there is
// nothing to be decided: such a wait stays a token.
//
// It is wrong where a goroutine does depend on which of the pool it meets, as with a shard for each
// worker. Then the pool is more flexible than the program, and answers are too high; the program
// without objects bounds them from the other side.
func inferServers(p *model.Program, all []model.Handover) {
	// A goroutine with spans is the request itself. Its list is an order of its own.
	spans, waits := p.Spanned(), make([]map[int32]int, len(p.Lists))
	// Left are hand-overs to goroutines without spans that nothing else explains. Of a wait to send
	// the work would be the waker's, so it makes no server; neither does a wait for a lock.
	var left []model.Handover
	for _, h := range all {
		if o := p.Op(h.Waiter); o.Kind != model.OpWait || o.Reason == trace.WaitMutex || spans[h.Waiter.List] || p.Lists[h.Waiter.List].Serves >= 0 || h.Taken {
			continue
		}
		left = append(left, h)
		if waits[h.Waiter.List] == nil {
			waits[h.Waiter.List] = map[int32]int{}
		}
		waits[h.Waiter.List][p.SiteOf(h.Waiter)]++
	}
	head := make([]int32, len(p.Lists)) // the site that each comes back to
	// Once is no loop. Of sites with as many waits the lower number is taken, for a result that
	// does not depend on the order of a map.
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
	// A pool is of one outermost function, as that is where its goroutines were started. The heads
	// of different goroutines of it may be at different sites.
	for _, part := range model.Grouped(model.Numbers(len(left)), func(i int32) pool { return poolOf(p.Rec.Sites[p.SiteOf(left[i].Waiter)]) }) {
		wakers := map[int32]bool{}
		for _, i := range part {
			wakers[left[i].Waker.List] = true
		}
		if len(part) >= hidden.LeastHandovers && len(wakers) > 1 && !leftOut(p, left, part) {
			share(p, left, part, true)
		}
	}
}

// handovers returns the waits for locks and channels, in the order in which they ended. All lists
// of a program are read once. Left out are waits without a waker in the recording, waits at an
// unknown place, waits for elements that are known to be the waiter's, and waits of a select
// statement whose waker neither sent nor received: a close lets all waiters go on (closechan in
// runtime/chan.go), as a cancelled context does, and hands nothing over. A plain receive that a
// close ends counts as one that got an element.
func handovers(p *model.Program) []model.Handover {
	// A token has one wait and one wake-up at most. Its number is the index here.
	nowhere := model.Place{List: -1, Op: -1}
	all := slices.Repeat([]model.Handover{{Waiter: nowhere, Waker: nowhere}}, int(p.Tokens))
	for at, o := range p.All() {
		switch o.Kind {
		case model.OpWait:
			if int(o.Arg) < len(p.Singles) && p.Singles[o.Arg] {
				continue
			}
			h := &all[o.Arg]
			h.Waiter, h.From, h.At = at, o.At-o.D, o.At
			h.Taken = o.Reason == trace.WaitSend
			if o.Reason != trace.WaitMutex && o.Reason != trace.WaitSend && o.Reason != trace.WaitReceive && o.Reason != trace.WaitSelect {
				h.Waiter.List = -1
			}
		case model.OpWake:
			all[o.Arg].Waker = at
		}
	}
	// A wait before the window has no waiter in a list, a wake-up after it no waker.
	all = slices.DeleteFunc(all, func(h model.Handover) bool { return h.Waiter.List < 0 || h.Waker.List < 0 || p.SiteOf(h.Waiter) == 0 })
	// A select statement waits with one reason for all of its cases. Which case it was shows in
	// what the waker did: it did the opposite.
	for i := range all {
		h := &all[i]
		if p.Op(h.Waiter).Reason == trace.WaitSelect {
			switch model.Direction(p.Rec.Sites[p.SiteOf(h.Waker)]) {
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
// first. Part holds numbers in all, in the order in which the waits ended, which hidden.InTurn
// needs. Of hidden.LeastHandovers there must be half in which several waited: only these can be out
// of turn. One waiting goroutine is always in turn, and needs no more than to come back often. A
// wait for a WaitGroup is for one group, whatever others are waited for at that place
// (TestGroupsAreNotShared).
func shared(p *model.Program, all []model.Handover, part []int32) bool {
	if len(part) < hidden.LeastHandovers {
		return false
	}
	waiters := map[int32]bool{}
	for _, i := range part {
		o := p.Op(all[i].Waiter)
		if p.Lists[all[i].Waiter.List].Serves >= 0 && o.Reason != trace.WaitMutex || p.Rec.Sites[o.Site].Joins() {
			return false // it waits for its own request, or for its own group
		}
		waiters[all[i].Waiter.List] = true
	}
	// A goroutine that is woken and loses the lock waits again at the front, as a new wait
	// (queueLifo in lockSlow, internal/sync/mutex.go). By its beginning it is out of turn. One in
	// 20 may be.
	fair, judged := hidden.InTurn(all, part)
	return len(waiters) == 1 || judged >= hidden.LeastHandovers/2 && float64(fair) >= hidden.Fairness*float64(judged)
}

// share makes one object of handovers. A goroutine that waits there serves, or goes on with its own
// work. Part must not be empty. The ops of both sides are changed in place: their kind, number and
// segment; D becomes 0, as the element takes no time on its way.
//
// A wait to receive makes the waiter a receiver of an object without a bound, which is empty at
// first. A wait to send (Taken) makes it a sender to a channel with one place that is taken at
// first: each receive then lets one sender go on, and a receive before that leaves room for one. A
// channel without room may have hand-overs of both kinds; then it has one place, and what it holds
// at first is of the kind of its first hand-over.
func share(p *model.Program, all []model.Handover, part []int32, serves bool) {
	p.Inferred = true
	object := int32(len(p.Objects))
	info := model.ObjectInfo{Kind: model.ObjectChan, Capacity: model.Unlimited, Inferred: true, Site: p.SiteOf(all[part[0]].Waiter)}
	for _, i := range part {
		h := &all[i]
		// The element's work is where it is received: at the waker's op for a sender that waited,
		// else at the waiter's. The send has the number of that segment.
		sent, received := h.Waker, h.Waiter
		if h.Taken {
			sent, received = h.Waiter, h.Waker
			info.Capacity = 1
		}
		send, receive := p.Op(sent), p.Op(received)
		send.Kind, receive.Kind = model.OpSend, model.OpReceive
		send.Arg, receive.Arg, send.D, receive.D = object, object, 0, 0
		send.Segment = p.AddSegment(received)
		if serves { // then no sender has waited
			receive.Head = true
			p.Lists[received.List].Serves = object
		}
	}
	if all[part[0]].Taken {
		info.Count = 1
	}
	p.Objects = append(p.Objects, info)
}
