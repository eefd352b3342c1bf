package spans

import (
	"cmp"
	"container/heap"
	"container/list"
	"slices"
	"time"
)

// budget counts bytes against a limit.
type budget struct{ used, limit int }

func (b *budget) full() bool { return b.used > b.limit }

// pace is a token bucket: recentRate a second, in bursts of recentBurst.
type pace struct {
	left float64
	last time.Time
}

func (p *pace) take(now time.Time) bool {
	if !p.last.IsZero() {
		p.left = min(recentBurst, p.left+recentRate*now.Sub(p.last).Seconds())
	}
	p.last = now
	if p.left < 1 {
		return false
	}
	p.left--
	return true
}

// recentSessions are the newest, in the order in which they ended.
type recentSessions struct {
	budget
	order *list.List // of *SessionRecord, newest at the front
	byID  map[SessionID]*list.Element
}

func (k *recentSessions) replace(s *SessionRecord) {
	if e := k.byID[s.ID]; e != nil {
		k.used += s.SizeBytes() - e.Value.(*SessionRecord).SizeBytes()
		e.Value = s
		k.trim()
	}
}

func (k *recentSessions) add(s *SessionRecord) {
	k.byID[s.ID] = k.order.PushFront(s)
	k.used += s.SizeBytes()
	k.trim()
}

func (k *recentSessions) trim() {
	for k.full() {
		s := k.order.Remove(k.order.Back()).(*SessionRecord)
		delete(k.byID, s.ID)
		k.used -= s.SizeBytes()
	}
}

// mostUniform is how many sessions a Ring's sample has at most. Of n sessions a sample of k has had
// k(1+ln(n/k)) records made, most of which it lets go, so one of many more than are ever looked at
// costs the application for nothing.
const mostUniform = 2000

// uniformSessions are a uniform sample: each session draws a number, the smallest ones stay.
type uniformSessions struct {
	budget
	heap  drawnSessions
	below uint64 // numbers from this one on have had to go
}

type drawnSession struct {
	drawn  uint64
	record *SessionRecord
	bytes  int // of the record, which has been out of all caches for long when it goes
}

func (k *uniformSessions) replace(s *SessionRecord) {
	i := slices.IndexFunc(k.heap, func(old *drawnSession) bool { return old.record.ID == s.ID })
	if i < 0 {
		return
	}
	old := k.heap[i]
	k.used += s.SizeBytes() - old.bytes
	old.record, old.bytes = s, s.SizeBytes()
	if s.SizeBytes() > k.limit { // it has outgrown the sample and goes alone
		heap.Remove(&k.heap, i)
		k.used -= old.bytes
	}
	k.trim()
}

func (k *uniformSessions) full() bool { return k.budget.full() || len(k.heap) > mostUniform }

// wants reports whether a session with this number would stay, as far as is known without its
// size.
func (k *uniformSessions) wants(drawn uint64) bool { return drawn < k.below }

func (k *uniformSessions) add(s *SessionRecord, drawn uint64) {
	if !k.wants(drawn) || s.SizeBytes() > k.limit {
		return
	}
	heap.Push(&k.heap, &drawnSession{drawn: drawn, record: s, bytes: s.SizeBytes()})
	k.used += s.SizeBytes()
	k.trim()
}

func (k *uniformSessions) trim() {
	for k.full() {
		out := heap.Pop(&k.heap).(*drawnSession)
		k.used -= out.bytes
		k.below = out.drawn
	}
}

// drawnSessions is a heap with the largest number on top.
type drawnSessions []*drawnSession

func (h drawnSessions) Len() int           { return len(h) }
func (h drawnSessions) Less(i, j int) bool { return h[i].drawn > h[j].drawn }
func (h drawnSessions) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *drawnSessions) Push(x any)        { *h = append(*h, x.(*drawnSession)) }

func (h *drawnSessions) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	*h = slices.Delete(*h, last, last+1)
	return s
}

// worstSessions are the slowest of each name, slowest first.
type worstSessions struct {
	budget
	byName map[string]*worstName
	names  worstNames
	// crowded is set when sessions have had to go for want of bytes. From then on a name that
	// is here gets a place only for a slower session, or every session would be wanted.
	crowded bool
	gate    *ringGate
}

// A worstName has the slowest sessions of one name.
type worstName struct {
	name     string
	sessions []*SessionRecord
	at       int // in the heap
}

// worstNames is a heap. On top is the name with the most sessions, and of several that whose
// slowest session is the mildest.
type worstNames []*worstName

func (h worstNames) Len() int { return len(h) }

func (h worstNames) Less(i, j int) bool {
	a, b := h[i].sessions, h[j].sessions
	return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a[0].Duration, b[0].Duration)) < 0
}

func (h worstNames) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *worstNames) Push(x any) {
	n := x.(*worstName)
	n.at = len(*h)
	*h = append(*h, n)
}

func (h *worstNames) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	*h = slices.Delete(*h, last, last+1)
	return n
}

// of returns the sessions of a name, which must not be changed.
func (k *worstSessions) of(name string) []*SessionRecord {
	if n := k.byName[name]; n != nil {
		return n.sessions
	}
	return nil
}

func (k *worstSessions) replace(s *SessionRecord) {
	for i, old := range k.of(s.Name) {
		if old.ID == s.ID {
			n := k.byName[s.Name]
			k.used += s.SizeBytes() - old.SizeBytes()
			n.sessions[i] = s
			heap.Fix(&k.names, n.at)
			if s.SizeBytes() > k.limit { // it has outgrown this part and goes alone
				k.drop(n, i)
			}
			k.trim()
			k.publish(s.Name)
			return
		}
	}
}

func (k *worstSessions) wants(name string, d time.Duration) bool { return int64(d) > k.longest(name) }

// longest is the longest duration of that name that is not wanted, in ns.
func (k *worstSessions) longest(name string) int64 {
	kept := k.of(name)
	if len(kept) == 0 || len(kept) < worstPerName && !k.crowded {
		return wantsAll
	}
	return int64(kept[len(kept)-1].Duration)
}

func (k *worstSessions) publish(name string) { k.gate.setSlow(name, k.longest(name)) }

func (k *worstSessions) add(s *SessionRecord) {
	kept := k.of(s.Name)
	at := slices.IndexFunc(kept, func(k *SessionRecord) bool { return k.Duration < s.Duration })
	if at < 0 { // of two that are as slow, the first stays
		at = len(kept)
	}
	if at == worstPerName || s.SizeBytes() > k.limit {
		return
	}
	k.used += s.SizeBytes()
	n := k.byName[s.Name]
	if n == nil {
		n = &worstName{name: s.Name, sessions: []*SessionRecord{s}}
		k.byName[s.Name] = n
		heap.Push(&k.names, n)
	} else {
		n.sessions = slices.Insert(n.sessions, at, s)
		heap.Fix(&k.names, n.at)
	}
	if len(n.sessions) > worstPerName {
		k.drop(n, worstPerName)
	}
	k.trim()
	k.publish(s.Name)
}

// trim takes the mildest session of a name with the most, until all fit.
func (k *worstSessions) trim() {
	for k.full() {
		k.crowded = true
		n := k.names[0]
		k.drop(n, len(n.sessions)-1)
	}
}

func (k *worstSessions) drop(n *worstName, i int) {
	k.used -= n.sessions[i].SizeBytes()
	if len(n.sessions) == 1 {
		heap.Remove(&k.names, n.at)
		delete(k.byName, n.name)
	} else {
		n.sessions = slices.Delete(n.sessions, i, i+1)
		heap.Fix(&k.names, n.at)
	}
	k.publish(n.name)
}
