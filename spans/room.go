package spans

import (
	"runtime"
	"sync/atomic"
)

// A session keeps the spans that have ended until it ends itself, so sessions that are open for
// long, or for ever, would together keep any number. There is room for mostRoom, in parts of
// roomPart, but for the first part of each session, which is always there.
const (
	mostRoom = 1 << 16
	roomPart = 16
)

// A room is what one session has taken, and then another: a session that has ended hands it on. A
// session that is collected without having ended gives its room back by a cleanup, and to make one
// for each session would take three allocations each.
type room struct {
	of    *TracerProvider
	taken *taken
}

// taken is apart from the room, since a cleanup must not keep alive what it waits for.
type taken struct {
	of *atomic.Int64 // of the provider
	n  atomic.Int64
}

// newRoom returns a room of which nothing is taken, or what spans took that came late.
func (p *TracerProvider) newRoom() *room {
	if r, ok := p.rooms.Get().(*room); ok {
		return r
	}
	r := &room{p, &taken{of: &p.room}}
	runtime.AddCleanup(r, (*taken).release, r.taken)
	return r
}

// hold takes room for the n-th span of a session, and reports whether there is any. A session that
// has found none gets no more; one that is lost keeps no spans.
func (s *Session) hold(p *TracerProvider, n int64) bool {
	if n <= roomPart || s.lost.Load() {
		return true
	}
	if s.crowded.Load() > 0 {
		return false
	}
	r := s.room.Load()
	if r == nil {
		if r = p.newRoom(); !s.room.CompareAndSwap(nil, r) {
			p.rooms.Put(r)
			if r = s.room.Load(); r == nil {
				return false
			}
		}
	}
	for t := r.taken; ; {
		has := t.n.Load()
		switch {
		case n <= roomPart+has:
			return true
		case p.room.Load() >= mostRoom:
			return false
		}
		if more := (n - has - 1) / roomPart * roomPart; t.n.CompareAndSwap(has, has+more) {
			p.room.Add(more)
		}
	}
}

// leave gives back the room that the session has, for the next one. What a span takes at the same
// moment goes to that one.
func (s *Session) leave() {
	if s.room.Load() == nil {
		return
	}
	if r := s.room.Swap(nil); r != nil {
		r.taken.release()
		r.of.rooms.Put(r)
	}
}

func (t *taken) release() { t.of.Add(-t.n.Swap(0)) }
