package spans

import (
	"time"
	"weak"
)

// Spans of a complete session, one whose spans had all ended when its record was made, are kept for
// the records of children that begin late, as those of a goroutine that goes on with
// context.WithoutCancel do. Such a goroutine may never end. After completeFor the spans are let go,
// and a child that begins later is counted in [Dropped.Revisions].
const (
	completeFor  = time.Minute
	mostComplete = 1 << 14 // sessions at a time; any other keeps its spans as long as something refers to it
)

// completed is a session in the worker's queue of complete ones, which does not keep it alive, as
// it was when it came in, and when its turn is.
type completed struct {
	session  weak.Pointer[Session]
	revision int
	turn     int64
}

// complete notes that all spans of s have ended.
func (w *worker) complete(s *Session) {
	if s.kept.watched || len(w.completed) >= mostComplete {
		return
	}
	s.kept.watched = true
	if len(w.completed) == 0 {
		w.fading.Reset(completeFor)
	}
	w.watch(s)
}

func (w *worker) watch(s *Session) {
	w.completed = append(w.completed, completed{weak.Make(s), s.kept.revision, now() + int64(completeFor)})
}

// letGo forgets the sessions whose turn it is, and gives those another one that have got a record
// or an open span since, unless no further record is made of them.
func (w *worker) letGo() {
	for len(w.completed) > 0 {
		c := w.completed[0]
		if left := c.turn - now(); left > 0 {
			w.fading.Reset(time.Duration(left))
			return
		}
		w.completed = w.completed[1:]
		s := c.session.Value()
		switch {
		case s == nil || s.unwanted:
		case s.lost.Load():
			s.forget()
		case s.kept.revision != c.revision || s.queued.Load() || s.open() > 0:
			w.watch(s)
		default:
			s.faded.Store(true)
			s.forget()
		}
	}
}
