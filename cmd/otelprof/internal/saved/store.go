package saved

import (
	"cmp"
	"errors"
	"slices"

	"github.com/otelprof/otelprof/spans"
)

// errSaved is why nothing can be appended to what was read.
var errSaved = errors.New("saved: session: must come from a file")

// A store keeps what was read, in both orders in which it may be asked for, so that a list of
// the first hundred costs no more with ten thousand sessions.
type store struct {
	newest, worst []*spans.SessionRecord
	byID          map[spans.SessionID]*spans.SessionRecord
}

func newStore(all []*spans.SessionRecord) *store {
	s := &store{newest: all, byID: make(map[spans.SessionID]*spans.SessionRecord, len(all))}
	newest := func(a, b *spans.SessionRecord) int {
		return cmp.Or(b.Start.Compare(a.Start), slices.Compare(a.ID[:], b.ID[:]))
	}
	slices.SortFunc(s.newest, newest)
	s.worst = slices.Clone(s.newest)
	slices.SortStableFunc(s.worst, func(a, b *spans.SessionRecord) int { return cmp.Compare(b.Duration, a.Duration) })
	for _, r := range all {
		s.byID[r.ID] = r
	}
	return s
}

// Append implements [spans.Store]. It refuses.
func (s *store) Append(*spans.SessionRecord) error { return errSaved }

// Session implements [spans.Store].
func (s *store) Session(id spans.SessionID) (*spans.SessionRecord, bool) {
	r, ok := s.byID[id]
	return r, ok
}

// Sessions implements [spans.Store].
func (s *store) Sessions(q spans.Query) []*spans.SessionRecord {
	from := s.newest
	if q.Worst {
		from = s.worst
	}
	var found []*spans.SessionRecord
	for _, r := range from {
		if (q.Name != "" && q.Name != r.Name) || r.Duration < q.MinDuration || (q.ErrorsOnly && r.Errors == 0) {
			continue
		}
		if found = append(found, r); q.Limit > 0 && len(found) == q.Limit {
			break
		}
	}
	return found
}
