package spans

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace/noop"
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

// flushed is a provider that is flushed and shut down, and with which time left.
type flushed struct {
	noop.TracerProvider
	left []time.Duration
}

func (f *flushed) ForceFlush(ctx context.Context) error {
	at, _ := ctx.Deadline()
	f.left = append(f.left, time.Until(at))
	return nil
}

func (f *flushed) Shutdown(ctx context.Context) error { return f.ForceFlush(ctx) }

// A store that hangs does not keep the wrapped provider from its last exports.
func TestHungStoreKeepsNoExporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, store := &flushed{}, &slowStore{gate: make(chan struct{})}
		tp := WrapTracerProvider(base, WithStore(store))
		_, s := tp.Tracer("scope").Start(t.Context(), "session")
		s.End()
		for _, end := range []func(context.Context) error{tp.ForceFlush, tp.Shutdown} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := end(ctx); err == nil {
				t.Error("no error, though the store hangs")
			}
			cancel()
		}
		if diff := cmp.Diff([]time.Duration{time.Second, time.Second}, base.left); diff != "" {
			t.Errorf("time left for the exporters (-want +got):\n%s", diff)
		}
		close(store.gate)
	})
}

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
