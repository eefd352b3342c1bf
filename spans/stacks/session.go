package stacks

import (
	"context"
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

	mu     sync.Mutex
	labels map[*label]*label // by the region's label

	// tree is guarded by the profiler.
	tree *Tree
}

// sessions are the requested sessions of one hook.
type sessions struct {
	open    atomic.Int64
	active  sync.Map // *spans.Session → *session, while the root is open
	refused atomic.Uint64

	mu   sync.Mutex
	last int64
	kept []*session // the oldest first
}

// labelInSession returns l, or the label in its place in a session that was asked for.
func (h *hook) labelInSession(ctx context.Context, r *spans.Span, l *label) *label {
	s := &h.sessions
	if r.Parent() == nil && r.Session() != nil && ctx.Value(sessionKey{}) != nil {
		h.beginSession(r.Session())
	}
	if s.open.Load() == 0 {
		return l
	}
	in, ok := s.active.Load(r.Session())
	if !ok {
		return l
	}
	return in.(*session).label(h, l)
}

func (h *hook) beginSession(of *spans.Session) {
	s := &h.sessions
	if s.open.Add(1) > maxSessions {
		s.open.Add(-1)
		s.refused.Add(1)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	in := &session{number: s.last, id: of.ID(), labels: map[*label]*label{}}
	if len(s.kept) == maxSessions {
		s.kept[0].forget(h)
		s.kept = append(s.kept[:0], s.kept[1:]...)
	}
	s.kept = append(s.kept, in)
	s.active.Store(of, in)
}

// endSession is called for every span with a label of ours.
func (h *hook) endSession(r *spans.Span, l *label) {
	if l.session == nil || r.Parent() != nil {
		return
	}
	if _, was := h.sessions.active.LoadAndDelete(r.Session()); was {
		h.sessions.open.Add(-1)
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
		h.labels.known.Store(l.labels, l)
	}
	return l
}

// forget lets go of the session's labels. Goroutines may still have some, which are then as good
// as the application's.
func (s *session) forget(h *hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.labels {
		h.labels.known.Delete(l.labels)
	}
}

// numbered returns the session with a label's number, nil if it is not kept.
func (s *sessions) numbered(n int64) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.kept {
		if in.number == n {
			return in
		}
	}
	return nil
}

func (s *sessions) byID(id spans.SessionID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.kept {
		if in.id == id {
			return in
		}
	}
	return nil
}
