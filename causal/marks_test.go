package causal

import (
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/mark/marktest"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/internal/testutil"
)

// marksOf returns the letters of the operations, and the names of the progress points, that stand
// in an execution trace of f.
func marksOf(t *testing.T, f func()) string {
	t.Helper()
	var all []string
	for _, e := range marktest.Logs(t, f) {
		l := e.Log()
		switch m, ok := mark.Parse(l.Category, l.Message, uint64(l.Task)); {
		case ok && m.Kind == mark.Begin:
			all = append(all, strings.ToUpper(string(rune(m.Op))))
		case ok && m.Kind == mark.Done:
			all = append(all, string(rune(m.Op)))
		case ok && m.Kind == mark.Progress:
			all = append(all, m.Name)
		}
	}
	return strings.Join(all, " ")
}

// TestMarks has each type's operations in a trace, observed by ledgers and not.
func TestMarks(t *testing.T) {
	if sched.Present {
		testutil.Lacks(t, "GO_BUILD", "the runtime writes operations, also those of others, see internal/runtimemode/sched")
	}
	for _, c := range []struct {
		name, want string
		do         func()
	}{
		{"progress", "done", func() { Progress(t.Context(), "done") }},
		{"mutex", "l u l u", func() {
			var m Mutex
			m.Lock()
			m.Unlock() //nolint:staticcheck // the lock alone is what is written
			_ = m.TryLock()
			m.Unlock()
		}},
		{"rwmutex", "w x a b a b", func() {
			var m RWMutex
			m.Lock()
			m.Unlock() //nolint:staticcheck // the lock alone is what is written
			m.RLock()
			m.RUnlock() //nolint:staticcheck // the lock alone is what is written
			_ = m.TryRLock()
			m.RUnlock()
		}},
		{"waitgroup", "g g V v", func() {
			var wg WaitGroup
			wg.Add(1)
			wg.Done()
			wg.Wait()
		}},
		{"cond", "n m", func() {
			c := NewCond(&Mutex{})
			c.Signal()
			c.Broadcast()
		}},
		{"once", "l u", func() {
			var o Once
			o.Do(func() {})
			o.Do(func() {})
		}},
		{"select", "Y s Y r", func() {
			c := NewChan[int](1)
			it := c.Item(1)
			select {
			case c.Sending() <- it:
				c.Sent(it)
			case <-t.Context().Done():
			}
			select {
			case it := <-c.Receiving():
				_, _ = c.Received(it)
			case <-t.Context().Done():
			}
		}},
		{"close", "z e", func() {
			c := NewChan[int](1)
			c.Close()
			_, _ = c.TryReceive()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := marksOf(t, c.do); got != c.want {
				t.Errorf("marks %q, want %q", got, c.want)
			}
			watch(t)
			if got := marksOf(t, c.do); got != c.want {
				t.Errorf("marks while something is observed %q, want %q", got, c.want)
			}
		})
	}
}

// TestMarksOfElements sends and receives in all ways: what is sent is received, once.
func TestMarksOfElements(t *testing.T) {
	if sched.Present {
		testutil.Lacks(t, "GO_BUILD", "the runtime writes operations, see internal/runtimemode/sched")
	}
	for _, observed := range []bool{false, true} {
		if observed {
			watch(t)
		}
		got := marksOf(t, func() {
			c := NewChan[int](3)
			c.Send(1)
			_ = c.SendContext(t.Context(), 2)
			_ = c.TrySend(3)
			_, _ = c.Receive()
			_, _, _ = c.ReceiveContext(t.Context())
			_, _ = c.TryReceive()
		})
		if s, r := strings.Count(got, "s")+strings.Count(got, "q"), strings.Count(got, "r"); s != 3 || r != 3 {
			t.Errorf("observed %t: marks %q, want 3 s or q and 3 r", observed, got)
		}
	}
}
