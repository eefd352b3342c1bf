package spans

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowStore counts what it is given and waits for its gate first.
type slowStore struct {
	gate chan struct{}
	mu   sync.Mutex
	n    int
}

func (s *slowStore) Append(*SessionRecord) error {
	<-s.gate
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return nil
}

func (s *slowStore) stored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func (*slowStore) Session(SessionID) (*SessionRecord, bool) { return nil, false }
func (*slowStore) Sessions(Query) []*SessionRecord          { return nil }

// TestWorkerFindsASessionThatIsPushedBehindItsBack plays an offer that is interrupted between
// its two steps for so long that the worker has emptied the queue and gone to sleep.
func TestWorkerFindsASessionThatIsPushedBehindItsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{gate: make(chan struct{})}
		w := newWorker(store, 100, &drops{})
		ended := func() *Session {
			p := &TracerProvider{maxSpans: 1, worker: w}
			s := &Session{id: newSessionID(), given: &given{}}
			s.end.Store(1)
			s.given.provider.Store(p)
			return s
		}
		w.offer(ended())
		synctest.Wait()
		time.Sleep(batchDelay) // the worker takes it and hangs in the store
		w.length.Add(1)        // counted, so that the next offer does not wake the worker
		close(store.gate)
		time.Sleep(time.Second) // the worker has nothing to do any more
		late := ended()
		late.next = w.head.Load()
		w.head.Store(late) // pushed
		time.Sleep(time.Second)
		if got := store.stored(); got != 2 || w.queued() != 0 {
			t.Errorf("%d sessions stored, %d queued; want 2, 0", got, w.queued())
		}
		if err := w.shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
