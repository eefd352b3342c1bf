package stacks

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/spans"
)

type sessionKey struct{}

// ContextWithSession asks for a call-stack tree of one session: the one whose local root span is
// started with the returned context. The samples of its spans are then counted for the session
// too, see [Profiler.Session]. It is for single requests under investigation: such a session
// costs some allocations for each name in it, and at 100 Hz it takes a second of processor time
// until its shares mean something. The trees of the last 64 are kept.
func ContextWithSession(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, true)
}

// maxSessions is how many sessions are kept, and how many may be open at a time.
const maxSessions = 64

// A session is one that was asked for.
type session struct {
	number int64 // its label
	id     spans.SessionID

	roots int // that are open; guarded by the lock of all sessions

	mu        sync.Mutex
	labels    map[*label]*label // by the region's label
	forgotten bool

	// tree is guarded by the profiler.
	tree *Tree
}

// sessions are the requested sessions of one hook.
type sessions struct {
	open    atomic.Int64
	active  sync.Map // *spans.Session → *session, while a root is open
	refused atomic.Uint64

	mu   sync.Mutex
	last int64
	kept []*session // the oldest first
}

// labelInSession returns l, or the label in its place in a session that was asked for.
func (h *hook) labelInSession(ctx context.Context, r *spans.Span, l *label) *label {
	s := &h.sessions
	asked := r.Parent() == nil && r.Session() != nil && ctx.Value(sessionKey{}) != nil
	if !asked && s.open.Load() == 0 {
		return l
	}
	in, _ := s.active.Load(r.Session())
	of, _ := in.(*session)
	if r.Parent() == nil && (asked || of != nil) {
		of = h.beginRoot(r.Session(), of, asked)
	}
	if of == nil {
		return l
	}
	return of.label(h, l)
}

// beginRoot counts a root of a session, of which one of [spans.StartSession] has any number. It
// returns nil for a session that is not asked for, or refused.
func (h *hook) beginRoot(of *spans.Session, in *session, asked bool) *session {
	s := &h.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	if in == nil || in.roots == 0 {
		if in = s.find(func(in *session) bool { return in.id == of.ID() }); in == nil || in.roots == 0 {
			if !asked {
				return nil
			}
			if s.open.Load() >= maxSessions {
				s.refused.Add(1)
				return nil
			}
			if in == nil {
				in = s.add(h, of.ID())
			}
			s.open.Add(1)
			s.active.Store(of, in)
		}
	}
	in.roots++
	return in
}

// add makes a session, in the place of the oldest if there are many.
func (s *sessions) add(h *hook, id spans.SessionID) *session {
	s.last++
	in := &session{number: s.last, id: id, labels: map[*label]*label{}}
	if len(s.kept) == maxSessions {
		s.kept[0].forget(h)
		s.kept = append(s.kept[:0], s.kept[1:]...)
	}
	s.kept = append(s.kept, in)
	return in
}

// endSession is called for every span with a label of ours.
func (h *hook) endSession(r *spans.Span, l *label) {
	if l.session == nil || r.Parent() != nil {
		return
	}
	s := &h.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.session.roots--; l.session.roots == 0 {
		s.active.Delete(r.Session())
		s.open.Add(-1)
	}
}

func (s *session) label(h *hook, of *label) *label {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.labels[of]
	if l == nil {
		l = &label{hook: h, id: of.id, number: of.number, region: of.region, session: s}
		l.labels = l.beside(nil)
		s.labels[of] = l
		if !s.forgotten {
			h.labels.known.Store(l.labels, l)
		}
	}
	return l
}

// forget lets go of the session's labels. Goroutines may still have some, which are then as good
// as the application's.
func (s *session) forget(h *hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	for _, l := range s.labels {
		h.labels.known.Delete(l.labels)
	}
}

// numbered returns the session with a label's number, nil if it is not kept.
func (s *sessions) numbered(n int64) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(func(in *session) bool { return in.number == n })
}

func (s *sessions) byID(id spans.SessionID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(func(in *session) bool { return in.id == id })
}

// find is called with the lock held.
func (s *sessions) find(is func(*session) bool) *session {
	if i := slices.IndexFunc(s.kept, is); i >= 0 {
		return s.kept[i]
	}
	return nil
}
