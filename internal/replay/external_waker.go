package replay

import (
	"slices"
	"strings"
)

// outsiders reports whether a goroutine only happened to be the one on which another goroutine's wait ended: for a timer, the
// network or the garbage collector, none of which waits for the program.
func (b *builder) outsiders(g int32, e *event) bool {
	f := &b.g[g]
	switch f.reason {
	case waitTimer:
		return true
	case waitNetwork: // the scheduler polls on any goroutine; only a deadline or a close is the program's doing
		return !b.has(e.site, pollWaker)
	}
	return b.has(f.site, ofRuntime) || b.has(e.site, ofRuntime)
}

// fromOutside deals with goroutines that nothing in the program has started: what timers call. A goroutine that is woken by one has
// waited for the timer, unless that does some work before. One that does more than to wake others comes when it came.
func (b *builder) fromOutside() {
	timers, found := make([]bool, b.p.tokens), false
	for i := range b.p.lists {
		l := &b.p.lists[i]
		if !l.born || l.spawned.list >= 0 {
			continue
		}
		l.called = l.works()
		more := l.called
		for k := range l.ops {
			switch o := &l.ops[k]; o.kind {
			case opWake:
				if !l.called {
					timers[o.arg], b.dead[o.arg], found = true, true, true
				}
			case opRun, opOut, opWait:
			default:
				more = true
			}
		}
		if more {
			l.born = false
			l.begins = beginning{state: waiting}
			l.ops = slices.Insert(l.ops, 0, op{kind: opOut, d: l.created - b.p.rec.Start, at: l.created, late: -1})
		}
	}
	if !found {
		return
	}
	for i := range b.p.lists {
		for k := range b.p.lists[i].ops {
			if o := &b.p.lists[i].ops[k]; o.kind == opWait && timers[o.arg] {
				o.kind, o.arg, o.reason, o.called = opOut, 0, waitTimer, true
			}
		}
	}
}

// works reports whether a goroutine does more than to let others go on, or note that.
func (l *list) works() bool {
	took := int64(0)
	return slices.ContainsFunc(l.ops, func(o op) bool {
		if o.kind == opRun {
			took += o.d
		}
		return took > atOnce || o.kind == opOut || o.kind == opOpen || o.kind == opVisit
	})
}

// The frames that b.has looks for.
const (
	pollWaker = iota // a wait for the network is cut short
	netWriter        // something is written to the network, or a connection is opened
	ofRuntime        // a goroutine of the runtime waits, or one that the garbage collector holds up
	trySender        // something is sent to a channel where there is room, or may be
	teller           // a channel is closed, or a condition is signalled
	admission        // a lock is waited for, or room in a channel
	frameClasses
)

// has reports whether a site has frames of a class.
func (b *builder) has(site int32, class int) bool {
	for len(b.classes) < len(b.p.rec.sites) {
		b.classes = append(b.classes, classify(b.p.rec.sites[len(b.classes)]))
	}
	return b.classes[site][class]
}

func classify(s Site) (is [frameClasses]bool) {
	for i, f := range s.Frames {
		switch {
		case i < 3 && f.Func == "runtime.selectnbsend", i == 0 && f.Func == "runtime.selectgo":
			is[trySender] = true
		case i < 3 && (f.Func == "runtime.closechan" || strings.HasPrefix(f.Func, "sync.(*Cond).")):
			is[teller] = true
		case i < 3 && (strings.HasPrefix(f.Func, "runtime.chansend") || strings.HasPrefix(f.Func, "sync.(*Mutex).") || strings.HasPrefix(f.Func, "sync.(*RWMutex).") || strings.HasPrefix(f.Func, "internal/sync.(*Mutex).")):
			is[admission] = true
		case strings.HasPrefix(f.Func, "internal/poll."):
			is[pollWaker] = true
		case strings.HasPrefix(f.Func, "net.(*netFD).Write"), strings.HasPrefix(f.Func, "net.(*netFD).writeBuffers"), f.Func == "net.sendFile", f.Func == "syscall.Connect":
			is[netWriter] = true
		case strings.HasPrefix(f.Func, "runtime.gc"), strings.HasPrefix(f.Func, "runtime.mallocgc"), strings.HasPrefix(f.Func, "runtime.stopTheWorld"),
			strings.HasPrefix(f.Func, "runtime.asyncPreempt"), strings.HasPrefix(f.Func, "runtime.traceAdvance"):
			is[ofRuntime] = true
		case i == len(s.Frames)-1 && strings.HasPrefix(f.Func, "runtime.") && f.Func != "runtime.main":
			is[ofRuntime] = true
		}
	}
	return is
}
