package traced

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	xtrace "golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/internal/testutil"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// operations returns the letters and arguments of what is written while f runs, in the order of
// the events, and fails if they are not of one object.
func operations(t *testing.T, f func(t *testing.T)) string {
	t.Helper()
	if sched.Present {
		testutil.Lacks(t, "GO_BUILD", "the runtime writes operations, see internal/runtimemode/sched")
	}
	var recorded bytes.Buffer
	if err := trace.Start(&recorded); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	release := mark.Want()
	f(t)
	release()
	trace.Stop()
	events, err := xtrace.NewReader(&recorded)
	if err != nil {
		t.Fatal(err)
	}
	var (
		letters []string
		object  uint64
	)
	for {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			return strings.Join(letters, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() != xtrace.EventLog {
			continue
		}
		l := e.Log()
		m, ok := mark.Parse(l.Category, l.Message, uint64(l.Task))
		if !ok {
			t.Fatalf("not a mark: %+v", l)
		}
		if m.Object != object && object != 0 && m.Object != 0 {
			t.Fatalf("operations on the objects %d and %d, want one", object, m.Object)
		}
		object = max(object, m.Object)
		letter := string(rune(m.Op))
		if m.Kind == mark.Begin {
			letter = strings.ToUpper(letter)
		}
		if m.Arg != 0 {
			letter += fmt.Sprint(m.Arg)
		}
		letters = append(letters, letter)
	}
}

// whileWaiting runs wait on another goroutine, and then, when that waits as the runtime calls it,
// release.
func whileWaiting(t *testing.T, state string, wait, release func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); wait() }()
	for deadline := time.Now().Add(10 * time.Second); !waits(state); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("no goroutine waits in %s", state)
			break
		}
	}
	release()
	<-ended
}

// waits reports whether a goroutine in a function of whileWaiting waits.
func waits(state string) bool {
	stacks := make([]byte, 1<<16)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for g := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if bytes.Contains(g, []byte("["+state)) && bytes.Contains(g, []byte("whileWaiting.func")) {
			return true
		}
	}
	return false
}

func TestOperations(t *testing.T) {
	done := make(chan struct{})
	over := make(chan struct{})
	close(over)
	for _, c := range []struct {
		name, want string
		do         func(t *testing.T)
	}{
		{"mutex", "l u l u", func(*testing.T) {
			var m Mutex
			m.Lock()
			_ = m.TryLock()
			m.Unlock()
			_ = m.TryLock()
			m.Unlock()
		}},
		{"mutex waits", "l L u l u", func(t *testing.T) {
			var m Mutex
			m.Lock()
			whileWaiting(t, "sync.Mutex.Lock", func() { m.Lock(); m.Unlock() }, m.Unlock) //nolint:staticcheck // the lock alone is what is written
		}},
		{"rwmutex", "w x w x a a b b", func(*testing.T) {
			var m RWMutex
			m.Lock()
			_, _ = m.TryLock(), m.TryRLock()
			m.Unlock()
			_ = m.TryLock()
			m.Unlock()
			m.RLock()
			_ = m.TryRLock()
			m.RUnlock()
			m.RUnlock()
		}},
		{"writer waits", "a W b w x", func(t *testing.T) {
			var m RWMutex
			m.RLock()
			whileWaiting(t, "sync.RWMutex.Lock", func() { m.Lock(); m.Unlock() }, m.RUnlock) //nolint:staticcheck // the lock alone is what is written
		}},
		{"reader waits", "w A x a b", func(t *testing.T) {
			var m RWMutex
			m.Lock()
			whileWaiting(t, "sync.RWMutex.RLock", func() { m.RLock(); m.RUnlock() }, m.Unlock) //nolint:staticcheck // the lock alone is what is written
		}},
		{"wait group", "g2 g-1 V g-1 v V v", func(t *testing.T) {
			var wg WaitGroup
			wg.Add(2)
			wg.Done()
			whileWaiting(t, "sync.WaitGroup.Wait", wg.Wait, wg.Done)
			wg.Wait()
		}},
		{"once", "l L u l u", func(t *testing.T) {
			var o Once
			waiting, ended := make(chan struct{}), make(chan struct{})
			second := func() { o.Do(func() { t.Error("called twice") }) }
			o.Do(func() {
				go func() {
					defer close(ended)
					whileWaiting(t, "sync.Mutex.Lock", second, func() { close(waiting) })
				}()
				<-waiting
			})
			<-ended
			second()
		}},
		{"signal", "n K n k m", func(t *testing.T) {
			var c Cond
			var mu sync.Mutex
			c.Init(&mu)
			c.Signal()
			mu.Lock()
			whileWaiting(t, "sync.Cond.Wait", c.Wait, c.Signal)
			c.Broadcast()
		}},
		{"broadcast", "K m k", func(t *testing.T) {
			var c Cond
			var mu sync.Mutex
			c.Init(&mu)
			mu.Lock()
			whileWaiting(t, "sync.Cond.Wait", c.Wait, c.Broadcast)
		}},
		{"channel", "S2 s2 Y q2 Y y Y y r2 r2 Y q2 r2 Y y z e e e", func(*testing.T) {
			var c Chan
			ch := make(chan int, 2)
			Send(&c, ch, 1)
			TrySend(&c, ch, 2)
			TrySend(&c, ch, 3)
			SendOr(&c, ch, 3, over)
			Receive(&c, ch)
			TryReceive(&c, ch)
			TryReceive(&c, ch)
			SendOr(&c, ch, 4, done)
			ReceiveOr(&c, ch, done)
			ReceiveOr(&c, ch, over)
			Close(&c, ch)
			Receive(&c, ch)
			TryReceive(&c, ch)
			ReceiveOr(&c, ch, over)
		}},
		{"send waits", "S1 s1 S1 s1", func(t *testing.T) {
			var c Chan
			ch := make(chan int, 1)
			Send(&c, ch, 1)
			whileWaiting(t, "chan send", func() { SendOr(&c, ch, 2, nil) }, func() { <-ch })
		}},
		{"close ends a wait", "R z e", func(t *testing.T) {
			var c Chan
			ch := make(chan int)
			whileWaiting(t, "chan receive", func() { ReceiveOr(&c, ch, nil) }, func() { Close(&c, ch) })
		}},
		{"select waits", "Y S1 r1 s1", func(t *testing.T) {
			var c Chan
			ch := make(chan int, 1)
			received := make(chan struct{})
			whileWaiting(t, "select", func() { ReceiveOr(&c, ch, done); close(received) }, func() {
				c.object.Begin(mark.Send, 1)
				ch <- 1
				<-received
				c.object.Done(mark.Send, 1)
			})
		}},
		{"select statement", "Y s1 Y r1 Y e", func(*testing.T) {
			var c Chan
			c.Select()
			c.Sent(1)
			c.Select()
			c.Received(true, 1)
			c.Select()
			c.Received(false, 1)
		}},
		{"no channel", "", func(*testing.T) {
			ch := make(chan int, 1)
			Send(nil, ch, 1)
			Receive(nil, ch)
			TrySend(nil, ch, 1)
			TryReceive(nil, ch)
			var c *Chan
			c.Select()
			c.Sent(1)
			c.Received(true, 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := operations(t, c.do); got != c.want {
				t.Errorf("operations %q, want %q", got, c.want)
			}
		})
	}
}

func TestOncePanics(t *testing.T) {
	var o Once
	func() {
		defer func() { _ = recover() }()
		o.Do(func() { panic("once") })
	}()
	o.Do(func() { t.Error("called again after a panic") })
}
