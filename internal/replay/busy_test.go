package replay

import (
	"bytes"
	"runtime"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/traced"
)

// busyService returns the trace of a service that answers requests of about 100 µs of computing
// each: eight clients that ask again at once, a queue and four workers, a lock, a cache under an
// RWMutex, goroutines that a request starts and waits for, and one that writes a batch each
// millisecond. There are 16 regions. With known, operations on locks and channels are marked.
func busyService(tb testing.TB, known bool, requests int) []byte {
	tb.Helper()
	var text bytes.Buffer
	if err := trace.Start(&text); err != nil {
		tb.Skipf("this process is being traced: %v", err)
	}
	defer trace.Stop()
	const clients, workers = 8, 4
	s := newWorkload(known)
	var waiting, working, batching sync.WaitGroup
	for range workers {
		working.Go(s.work)
	}
	over := make(chan struct{})
	batching.Go(func() { s.batch(over) })
	for range clients {
		waiting.Go(func() { s.ask(requests / clients) })
	}
	waiting.Wait()
	traced.Close(s.marks, s.queue)
	working.Wait()
	close(over)
	batching.Wait()
	trace.Stop()
	return text.Bytes()
}

type busyRequest struct {
	n, span uint64
	marks   *traced.Chan
	answer  chan uint64
}

// A locker is a lock of which operations are marked, or not.
type locker interface {
	sync.Locker
	RLock()
	RUnlock()
}

type exclusive struct{ sync.Locker }

func (exclusive) RLock() {}

func (exclusive) RUnlock() {}

type workload struct {
	queue chan busyRequest
	marks *traced.Chan // of the queue; nil where operations are not marked
	stock locker
	cache locker
	log   locker
	lines int
	spans atomic.Uint64
}

func newWorkload(known bool) *workload {
	s := &workload{queue: make(chan busyRequest, 2), stock: exclusive{new(sync.Mutex)}, log: exclusive{new(sync.Mutex)}, cache: new(sync.RWMutex)}
	if known {
		s.marks = new(traced.Chan)
		s.stock, s.log, s.cache = exclusive{new(traced.Mutex)}, exclusive{new(traced.Mutex)}, new(traced.RWMutex)
	}
	return s
}

// span does f in a span, behind some computing.
func (s *workload) span(parent uint64, name string, d time.Duration, f func(id uint64)) {
	id := s.spans.Add(1)
	mark.LogStart("service", mark.Span{ID: id, Parent: parent, SpanID: id, Name: name})
	spin(d)
	if f != nil {
		f(id)
	}
	mark.LogEnd("service", id, "")
}

func spin(d time.Duration) {
	for until := time.Now().Add(d); time.Now().Before(until); {
		runtime.KeepAlive(until)
	}
}

func (s *workload) ask(n int) {
	r := busyRequest{answer: make(chan uint64)}
	if s.marks != nil {
		r.marks = new(traced.Chan)
	}
	for i := range uint64(n) {
		name := "GET /item"
		if i%4 == 0 {
			name = "POST /order"
		}
		s.span(0, name, 2*time.Microsecond, func(id uint64) {
			r.n, r.span = i, id
			traced.Send(s.marks, s.queue, r)
			traced.Receive(r.marks, r.answer)
		})
		mark.LogProgress("answered")
	}
}

func (s *workload) work() {
	for {
		r, ok := traced.Receive(s.marks, s.queue)
		if !ok {
			return
		}
		s.span(r.span, "handle", 3*time.Microsecond, func(id uint64) { s.handle(r, id) })
		traced.Send(r.marks, r.answer, r.n)
	}
}

func (s *workload) handle(r busyRequest, id uint64) {
	for _, name := range []string{"parse", "authorize", "validate", "route"} {
		s.span(id, name, 7*time.Microsecond, nil)
	}
	s.span(id, "look up", 2*time.Microsecond, func(uint64) {
		if r.n%8 == 0 {
			s.cache.Lock()
			defer s.cache.Unlock()
		} else {
			s.cache.RLock()
			defer s.cache.RUnlock()
		}
		spin(4 * time.Microsecond)
	})
	s.span(id, "price", 8*time.Microsecond, nil)
	if r.n%4 == 0 {
		s.span(id, "reserve", time.Microsecond, func(uint64) {
			s.stock.Lock()
			defer s.stock.Unlock()
			spin(10 * time.Microsecond)
		})
		s.span(id, "notify", time.Microsecond, func(id uint64) { s.notify(id) })
	}
	for _, name := range []string{"tax", "render", "encode"} {
		s.span(id, name, 8*time.Microsecond, nil)
	}
	s.log.Lock()
	s.lines++
	s.log.Unlock()
}

// notify has two goroutines send.
func (s *workload) notify(parent uint64) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { s.span(parent, "send", 6*time.Microsecond, nil) })
	}
	wg.Wait()
}

func (s *workload) batch(over <-chan struct{}) {
	for tick := time.Tick(time.Millisecond); ; {
		select {
		case <-over:
			return
		case <-tick:
			s.log.Lock()
			s.lines = 0
			s.log.Unlock()
			s.span(0, "flush", 20*time.Microsecond, nil)
		}
	}
}
