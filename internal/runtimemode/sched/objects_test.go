//go:build otelprof_runtime

package sched_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"runtime/trace"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	xtrace "golang.org/x/exp/trace"
)

// An operation is one that the runtime has written into the execution trace.
type operation struct {
	letter    byte
	object    uintptr
	n         int // 0 if the message is empty
	goroutine xtrace.GoID
	waited    bool // it is the end of an operation that began before, and the goroutine has been blocked since
}

// record returns the operations of a trace of f, in the trace's order.
func record(t testing.TB, f func()) (all []operation) {
	t.Helper()
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	f()
	trace.Stop()
	r, err := xtrace.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	blocked, begun := map[xtrace.GoID]bool{}, map[xtrace.GoID]bool{}
	for {
		ev, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind() {
		case xtrace.EventStateTransition:
			st := ev.StateTransition()
			if st.Resource.Kind == xtrace.ResourceGoroutine {
				if from, to := st.Goroutine(); from == xtrace.GoRunning && to == xtrace.GoWaiting {
					blocked[st.Resource.Goroutine()] = true
				}
			}
		case xtrace.EventLog:
			l := ev.Log()
			letter, ok := strings.CutPrefix(l.Category, "otelprof.")
			if !ok {
				continue
			}
			op := operation{letter: letter[0], object: uintptr(l.Task), goroutine: ev.Goroutine()}
			op.waited = blocked[op.goroutine] && begun[op.goroutine]
			blocked[op.goroutine], begun[op.goroutine] = false, op.letter < 'a'
			if l.Message != "" {
				if op.n, err = strconv.Atoi(l.Message); err != nil || op.n == 0 {
					t.Errorf("%s has message %q, want a number other than 0, or none", l.Category, l.Message)
				}
			}
			if len(letter) != 1 || ev.Stack() != xtrace.NoStack || letter != "Y" && (op.object == 0) != (letter == "y") {
				t.Errorf("log %+v with stack %v, want a letter, an object, and no stack", l, ev.Stack())
			}
			all = append(all, op)
		}
	}
}

// addressOf is the number of an object.
func addressOf(object any) uintptr { return reflect.ValueOf(object).Pointer() }

// told returns the operations on some objects and of selects, as text: the goroutine, in the order
// in which they appear, the object's letter, the operation's, its number, and ~ if it ends a wait.
// That a channel is made is left out.
func told(all []operation, objects ...any) string {
	names := map[uintptr]string{}
	for i, o := range objects {
		names[addressOf(o)] = string(rune('A' + i))
	}
	mine, goroutines := map[xtrace.GoID]bool{}, map[xtrace.GoID]int{}
	for _, op := range all {
		mine[op.goroutine] = mine[op.goroutine] || names[op.object] != ""
	}
	var text []string
	for _, op := range all {
		name := names[op.object]
		if op.letter == 'c' || name == "" && (op.object != 0 || !mine[op.goroutine]) {
			continue
		}
		if goroutines[op.goroutine] == 0 {
			goroutines[op.goroutine] = len(goroutines) + 1
		}
		wait, n := "", ""
		if op.waited {
			wait = "~"
		}
		if op.n != 0 {
			n = strconv.Itoa(op.n)
		}
		text = append(text, fmt.Sprintf("%d%s%s%c%s", goroutines[op.goroutine], name, wait, op.letter, n))
	}
	return strings.Join(text, " ")
}

func goroutineID() string {
	var buf [64]byte
	return strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))[1]
}

// waiting runs f on a goroutine, and returns when that waits. The function that it returns does so
// when the goroutine has ended.
func waiting(t testing.TB, f func()) (end func()) {
	t.Helper()
	id, done := make(chan string), make(chan struct{})
	go func() {
		defer close(done)
		id <- goroutineID()
		f()
	}()
	mine := "goroutine " + <-id + " ["
	buf := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		_, after, _ := strings.Cut(string(buf[:runtime.Stack(buf, true)]), mine)
		if after != "" && !strings.HasPrefix(after, "run") { // running, runnable
			return func() { <-done }
		}
		if time.Now().After(deadline) {
			t.Fatal("does not wait")
		}
	}
}

// Without waiting, an operation is one log.
func TestObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		f    func() (object any)
		want string
	}{
		"Mutex":         {func() any { mu := new(sync.Mutex); mu.Lock(); mu.Unlock(); return mu }, "1Al 1Au"}, //nolint:staticcheck // nothing is protected
		"Mutex.TryLock": {func() any { mu := new(sync.Mutex); mu.TryLock(); mu.TryLock(); mu.Unlock(); return mu }, "1Al 1Au"},
		"RWMutex":       {func() any { rw := new(sync.RWMutex); rw.Lock(); rw.Unlock(); return rw }, "1Aw 1Ax"}, //nolint:staticcheck // nothing is protected
		"RWMutex.RLock": {func() any {
			rw := new(sync.RWMutex)
			rw.RLock()
			rw.RLock()
			rw.RUnlock()
			rw.RUnlock()
			return rw
		}, "1Aa 1Aa 1Ab 1Ab"},
		"RWMutex.TryLock": {func() any {
			rw := new(sync.RWMutex)
			rw.TryLock()
			rw.TryLock()
			rw.TryRLock()
			rw.Unlock()
			return rw
		}, "1Aw 1Ax"},
		"RWMutex.TryRLock": {func() any { rw := new(sync.RWMutex); rw.TryRLock(); rw.TryLock(); rw.RUnlock(); return rw }, "1Aa 1Ab"},
		"RWMutex.RLocker":  {func() any { rw := new(sync.RWMutex); rw.RLocker().Lock(); rw.RLocker().Unlock(); return rw }, "1Aa 1Ab"}, //nolint:staticcheck // nothing is protected
		"WaitGroup": {func() any {
			wg := new(sync.WaitGroup)
			wg.Add(3)
			wg.Add(-2)
			wg.Done()
			wg.Wait()
			return wg
		}, "1Ag3 1Ag-2 1Ag-1 1Av"},
		"WaitGroup, many": {func() any { wg := new(sync.WaitGroup); wg.Add(1000); wg.Add(-1000); return wg }, "1Ag1000 1Ag-1000"},
		"Cond":            {func() any { c := sync.NewCond(nil); c.Signal(); c.Broadcast(); return c }, "1An 1Am"},
		"Once":            {func() any { o := new(struct{ sync.Once }); o.Do(func() {}); o.Do(func() {}); return onceMutex(&o.Once) }, "1Al 1Au"},
		"channel": {func() any {
			c := make(chan int, 3)
			c <- 1
			c <- 2
			<-c
			<-c
			return c
		}, "1As3 1As3 1Ar3 1Ar3"},
		"channel, large": {func() any { c := make(chan int, 12345); c <- 1; <-c; return c }, "1As12345 1Ar12345"},
		"close": {func() any {
			c := make(chan int, 1)
			c <- 1
			close(c)
			<-c
			<-c
			tryReceive(c)
			return c
		}, "1As1 1Az1 1Ar1 1Ae1 1Ae1"},
		"range": {func() any {
			c := make(chan int, 2)
			c <- 1
			c <- 2
			close(c)
			drain(c)
			return c
		}, "1As2 1As2 1Az2 1Ar2 1Ar2 1Ae2"},
		"select of one": {func() any {
			c := make(chan int, 1)
			trySend(c)
			trySend(c)
			tryReceive(c)
			tryReceive(c)
			return c
		}, "1Aq1 1y 1Ap1"},
		"select of two":                      {func() any { c := make(chan int, 1); either(c, nil); either(nil, c); either(c, c); return c }, "1Aq1 1Ap1 1Aq1"},
		"select, closed":                     {func() any { c := make(chan int); close(c); either(nil, c); return c }, "1Az 1Ae"},
		"select, default":                    {func() any { c := make(chan int); either(c, c); either(nil, nil); close(c); return c }, "1y 1y 1Az"},
		"select that only receives, default": {func() any { c := make(chan int); receiveEither(c, c); close(c); return c }, "1Az"},
		"large select":                       {func() any { c := make(chan int, 100); either(c, nil); either(nil, c); return c }, "1Aq100 1Ap100"},
		"reflect": {func() any {
			c := make(chan int, 1)
			v, one := reflect.ValueOf(c), reflect.ValueOf(1)
			v.Send(one)
			v.TrySend(one)
			v.Recv()
			reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectSend, Chan: v, Send: one}, {Dir: reflect.SelectSend, Chan: v, Send: one}})
			reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: v}, {Dir: reflect.SelectDefault}})
			v.Close()
			return c
		}, "1As1 1y 1Ar1 1As1 1Ap1 1Az1"},
		"timer": {func() any { c := time.After(time.Nanosecond); time.Sleep(time.Millisecond); <-c; return c }, "1Ar"},
		"panic": {func() any {
			c := make(chan int)
			close(c)
			func() {
				defer func() { _ = recover() }()
				c <- 1
			}()
			return c
		}, "1Az"},
	} {
		t.Run(name, func(t *testing.T) {
			var object any
			all := record(t, func() { object = tc.f() })
			if diff := cmp.Diff(tc.want, told(all, object)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMake(t *testing.T) {
	var small, large chan int
	all := record(t, func() { small, large = make(chan int), make(chan int, 12345) })
	var got []string
	for _, op := range all {
		if op.letter == 'c' && (op.object == addressOf(small) || op.object == addressOf(large)) {
			got = append(got, fmt.Sprint(op.n))
		}
	}
	if diff := cmp.Diff([]string{"0", "12345"}, got); diff != "" {
		t.Errorf("capacities of the channels made, -want +got:\n%s", diff)
	}
}

// onceMutex is the one inside.
func onceMutex(o *sync.Once) *sync.Mutex {
	m, _ := reflect.TypeFor[sync.Once]().FieldByName("m")
	return (*sync.Mutex)(unsafe.Add(unsafe.Pointer(o), m.Offset))
}

func trySend(c chan int) {
	select {
	case c <- 1:
	default:
	}
}

func tryReceive(c chan int) {
	select {
	case <-c:
	default:
	}
}

func either(send, receive chan int) {
	select {
	case send <- 1:
	case <-receive:
	default:
	}
}

func receiveEither(a, b chan int) {
	select {
	case <-a:
	case <-b:
	default:
	}
}

func drain(c chan int) {
	for range c {
	}
}

// An operation that waits is two, and what ends it stands between.
func TestObjectsWaiting(t *testing.T) {
	testWaiting(t, map[string]waitingCase{
		"Mutex": {func(t *testing.T) any {
			var mu sync.Mutex
			mu.Lock()
			end := waiting(t, func() { mu.Lock(); mu.Unlock() }) //nolint:staticcheck // nothing is protected
			mu.Unlock()
			end()
			return &mu
		}, "1Al 2AL 1Au 2A~l 2Au"},
		"RWMutex, reader": {func(t *testing.T) any {
			var rw sync.RWMutex
			rw.Lock()
			end := waiting(t, func() { rw.RLock(); rw.RUnlock() }) //nolint:staticcheck // nothing is protected
			rw.Unlock()
			end()
			return &rw
		}, "1Aw 2AA 1Ax 2A~a 2Ab"},
		"RWMutex, writer after a reader": {func(t *testing.T) any {
			var rw sync.RWMutex
			rw.RLock()
			end := waiting(t, func() { rw.Lock(); rw.Unlock() }) //nolint:staticcheck // nothing is protected
			rw.RUnlock()
			end()
			return &rw
		}, "1Aa 2AW 1Ab 2A~w 2Ax"},
		"RWMutex, writer after a writer": {func(t *testing.T) any {
			var rw sync.RWMutex
			rw.Lock()
			end := waiting(t, func() { rw.Lock(); rw.Unlock() }) //nolint:staticcheck // nothing is protected
			rw.Unlock()
			end()
			return &rw
		}, "1Aw 2AW 1Ax 2A~w 2Ax"},
		"WaitGroup": {func(t *testing.T) any {
			var wg sync.WaitGroup
			wg.Add(1)
			end := waiting(t, wg.Wait)
			wg.Done()
			end()
			return &wg
		}, "1Ag1 2AV 1Ag-1 2A~v"},
		"Cond.Signal": {func(t *testing.T) any {
			c := sync.NewCond(new(sync.Mutex))
			end := waiting(t, func() { c.L.Lock(); c.Wait(); c.L.Unlock() })
			c.Signal()
			end()
			return c
		}, "1AK 2An 1A~k"},
		"Cond.Broadcast": {func(t *testing.T) any {
			c := sync.NewCond(new(sync.Mutex))
			end := waiting(t, func() { c.L.Lock(); c.Wait(); c.L.Unlock() })
			c.Broadcast()
			end()
			return c
		}, "1AK 2Am 1A~k"},
		"receive": {func(t *testing.T) any {
			c := make(chan int)
			end := waiting(t, func() { <-c })
			c <- 1
			end()
			return c
		}, "1AR 2As 1A~r"},
		"receive, closed": {func(t *testing.T) any {
			c := make(chan int)
			end := waiting(t, func() { <-c })
			close(c)
			end()
			return c
		}, "1AR 2Az 1A~e"},
		"send": {func(t *testing.T) any {
			c := make(chan int, 1)
			c <- 1
			end := waiting(t, func() { c <- 2 })
			<-c
			end()
			return c
		}, "1As1 2AS1 1Ar1 2A~s1"},
		"select that receives": {func(t *testing.T) any {
			c, d := make(chan int), make(chan int)
			end := waiting(t, func() { wait(d, c) })
			c <- 1
			end()
			return c
		}, "1AY 2As 1A~r"},
		"select that sends": {func(t *testing.T) any {
			c, d := make(chan int), make(chan int)
			end := waiting(t, func() { wait(c, d) })
			<-c
			end()
			return c
		}, "1Ar 2A~s"},
		"select, closed": {func(t *testing.T) any {
			c, d := make(chan int), make(chan int)
			end := waiting(t, func() { wait(d, c) })
			close(c)
			end()
			return c
		}, "1AY 2Az 1A~e"},
		"select of a timer": {func(t *testing.T) any {
			timer, c := time.NewTimer(time.Hour), make(chan int)
			end := waiting(t, func() {
				select {
				case <-timer.C:
				case <-c:
				}
			})
			c <- 1
			end()
			return c
		}, "1AY 2As 1A~r"},
		"timer": {func(t *testing.T) any {
			timer := time.NewTimer(time.Hour)
			end := waiting(t, func() { <-timer.C })
			timer.Reset(0)
			end()
			return timer.C
		}, "1AR 1A~r"},
	})
}

type waitingCase struct {
	f    func(t *testing.T) (object any)
	want string
}

func testWaiting(t *testing.T, cases map[string]waitingCase) {
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var object any
			all := record(t, func() { object = tc.f(t) })
			if diff := cmp.Diff(tc.want, told(all, object)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func wait(send, receive chan int) {
	select {
	case send <- 1:
	case <-receive:
	}
}

// uncontended are operations that find what they want.
func uncontended() map[string]func() {
	var (
		mu sync.Mutex
		rw sync.RWMutex
		wg sync.WaitGroup
	)
	c, large := make(chan int, 1), make(chan int, 1000)
	return map[string]func(){
		"mutex":         func() { mu.Lock(); mu.Unlock() },   //nolint:staticcheck // nothing is protected
		"read lock":     func() { rw.RLock(); rw.RUnlock() }, //nolint:staticcheck // nothing is protected
		"write lock":    func() { rw.Lock(); rw.Unlock() },   //nolint:staticcheck // nothing is protected
		"waitgroup":     func() { wg.Add(1); wg.Done() },
		"channel":       func() { c <- 1; <-c },
		"large channel": func() { large <- 1; <-large },
		"select":        func() { either(c, nil); either(nil, c) },
	}
}

// Operations allocate nothing while a trace is on, and take 16 bytes of it at most.
func TestObjectsSize(t *testing.T) {
	for name, pair := range uncontended() {
		t.Run(name, func(t *testing.T) {
			const n = 100_000 // so that what else is in a trace, 100 kB now and then, hardly counts
			var out bytes.Buffer
			out.Grow(8 << 20)
			if err := trace.Start(&out); err != nil {
				t.Fatal(err)
			}
			allocs := testing.AllocsPerRun(n, pair)
			trace.Stop()
			if size := float64(out.Len()) / (2 * n); allocs != 0 || size < 4 || size > 16 {
				t.Errorf("%v allocations, %.1f bytes for an operation, want 0, and 4 to 16", allocs, size)
			} else {
				t.Logf("%.1f bytes for an operation", size)
			}
		})
	}
}

// BenchmarkObjects is the cost of two operations while a trace is on, and without.
func BenchmarkObjects(b *testing.B) {
	for name, pair := range uncontended() {
		b.Run(name+"/untraced", func(b *testing.B) {
			for b.Loop() {
				pair()
			}
		})
		b.Run(name+"/traced", func(b *testing.B) {
			if err := trace.Start(io.Discard); err != nil {
				b.Fatal(err)
			}
			defer trace.Stop()
			b.ReportAllocs()
			for b.Loop() {
				pair()
			}
		})
	}
}
