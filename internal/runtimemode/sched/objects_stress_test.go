//go:build otelprof_runtime

package sched_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"
)

// Many goroutines do what they do at the same time; the operations in the trace must be possible in
// its order.

const (
	stressGoroutines = 8
	stressRounds     = 2000
)

// together runs f on goroutines, each with a source of its own.
func together(f func(i int, r *rand.Rand)) {
	var wg sync.WaitGroup
	for i := range stressGoroutines {
		wg.Go(func() { f(i, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	wg.Wait()
}

func pauseSometimes(r *rand.Rand) {
	switch r.IntN(32) {
	case 0:
		runtime.Gosched()
	case 1:
		burn(time.Duration(r.IntN(2000)))
	}
}

// of returns one object's operations, in order.
func of(all []operation, object any) (some []operation) {
	for _, op := range all {
		if op.object == addressOf(object) {
			some = append(some, op)
		}
	}
	return some
}

// count says how many there are of each.
func count(all []operation) string {
	n := map[byte]int{}
	for _, op := range all {
		if op.letter >= 'a' {
			n[op.letter]++
		}
	}
	text := ""
	for letter := byte('a'); letter <= 'z'; letter++ {
		if n[letter] > 0 {
			text += fmt.Sprintf("%c%d", letter, n[letter])
		}
	}
	return text
}

// pairs checks that what has begun ends on the same goroutine, with no other operation of the
// object between.
func pairs(t *testing.T, all []operation) {
	t.Helper()
	open := map[xtrace.GoID]byte{}
	for i, op := range all {
		if begun := open[op.goroutine]; begun != 0 && op.letter != begun|0x20 {
			t.Fatalf("operation %d: %+v after %c", i, op, begun)
		}
		delete(open, op.goroutine)
		if op.letter < 'a' {
			open[op.goroutine] = op.letter
		}
	}
	if len(open) > 0 {
		t.Errorf("%d operations do not end", len(open))
	}
}

func TestObjectsMutexOrder(t *testing.T) {
	var mu sync.Mutex
	all := of(record(t, func() {
		together(func(_ int, r *rand.Rand) {
			for range stressRounds {
				mu.Lock()
				pauseSometimes(r)
				mu.Unlock()
				pauseSometimes(r)
			}
		})
	}), &mu)
	pairs(t, all)
	const each = stressGoroutines * stressRounds
	if got, want := count(all), fmt.Sprintf("l%du%d", each, each); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var holder xtrace.GoID
	for i, op := range all {
		switch {
		case op.letter == 'l' && holder == 0:
			holder = op.goroutine
		case op.letter == 'u' && holder == op.goroutine:
			holder = 0
		case op.letter != 'L':
			t.Fatalf("operation %d of %d: %+v while %d holds the lock", i, len(all), op, holder)
		}
	}
}

func TestObjectsRWMutexOrder(t *testing.T) {
	var rw sync.RWMutex
	all := of(record(t, func() {
		together(func(i int, r *rand.Rand) {
			for range stressRounds {
				if i < 2 {
					rw.Lock()
					pauseSometimes(r)
					rw.Unlock()
				} else {
					rw.RLock()
					pauseSometimes(r)
					rw.RUnlock()
				}
				pauseSometimes(r)
			}
		})
	}), &rw)
	pairs(t, all)
	const writes, reads = 2 * stressRounds, (stressGoroutines - 2) * stressRounds
	if got, want := count(all), fmt.Sprintf("a%db%dw%dx%d", reads, reads, writes, writes); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var writer xtrace.GoID
	readers := 0
	for i, op := range all {
		ok := true
		switch op.letter {
		case 'w':
			ok, writer = writer == 0 && readers == 0, op.goroutine
		case 'x':
			ok, writer = writer == op.goroutine, 0
		case 'a':
			ok = writer == 0
			readers++
		case 'b':
			ok = readers > 0
			readers--
		}
		if !ok {
			t.Fatalf("operation %d of %d: %+v with %d readers, writer %d", i, len(all), op, readers, writer)
		}
	}
}

func TestObjectsWaitGroupOrder(t *testing.T) {
	var wg sync.WaitGroup
	all := of(record(t, func() {
		for range stressRounds {
			wg.Add(3)
			for range 3 {
				go wg.Done()
			}
			wg.Wait()
		}
	}), &wg)
	pairs(t, all)
	if got, want := count(all), fmt.Sprintf("g%dv%d", 4*stressRounds, stressRounds); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	n := 0
	for i, op := range all {
		if n += op.n; n < 0 || op.letter == 'v' && n != 0 {
			t.Fatalf("operation %d of %d: %+v with count %d", i, len(all), op, n)
		}
	}
}

// Operations follow each other faster than the 64 ns that the tracer's clock counts as one. A
// thread must not be dated ahead by them, or its unlock stands behind the lock of another one.
func TestObjectsDates(t *testing.T) {
	var mu sync.Mutex
	all := of(record(t, func() {
		together(func(_ int, r *rand.Rand) {
			var own sync.Mutex
			for range stressRounds {
				for range r.IntN(30) {
					own.Lock()
					own.Unlock() //nolint:staticcheck // nothing is protected
				}
				mu.Lock()
				mu.Unlock() //nolint:staticcheck // nothing is protected
			}
		})
	}), &mu)
	held := false
	for i, op := range all {
		if acquires := op.letter == 'l'; op.letter != 'L' {
			if held == acquires {
				t.Fatalf("operation %d of %d: %+v while held is %t", i, len(all), op, held)
			}
			held = acquires
		}
	}
}

// A transfer is an element of a channel: its sender, and its number there.
type transfer struct{ sender, index int }

// The k-th send that begins on a channel is what the k-th receive that begins gets.
func TestObjectsChannelOrder(t *testing.T) {
	for _, capacity := range []int{0, 1, 3, 100} {
		for _, selects := range []bool{false, true} {
			t.Run(fmt.Sprintf("capacity=%d,select=%t", capacity, selects), func(t *testing.T) { channelOrder(t, capacity, selects) })
		}
	}
}

func channelOrder(t *testing.T, capacity int, selects bool) {
	const half = stressGoroutines / 2
	c, other := make(chan transfer, capacity), make(chan transfer)
	var received [stressGoroutines][]transfer
	var ids [stressGoroutines]string
	all := record(t, func() {
		together(func(i int, r *rand.Rand) {
			ids[i] = goroutineID()
			for index := range stressRounds {
				pauseSometimes(r)
				switch {
				case i < half && selects:
					select {
					case c <- transfer{i, index}:
					case <-other:
					}
				case i < half:
					c <- transfer{i, index}
				case selects:
					select {
					case v := <-c:
						received[i] = append(received[i], v)
					case <-other:
					}
				default:
					received[i] = append(received[i], <-c)
				}
			}
		})
	})
	number := map[xtrace.GoID]int{}
	for i, id := range ids {
		var goid xtrace.GoID
		if _, err := fmt.Sscan(id, &goid); err != nil {
			t.Fatal(err)
		}
		number[goid] = i
	}
	// Where each goroutine's operation that is done later has begun.
	type begun struct {
		op    operation
		index int
	}
	var sends, receives []begun
	open := map[xtrace.GoID]int{}
	done := map[xtrace.GoID]int{}
	starts := make([]int, len(all))
	for i, op := range all {
		starts[i] = i
		if at, ok := open[op.goroutine]; ok {
			starts[i] = at
			delete(open, op.goroutine)
		}
		if op.letter < 'a' && (op.object == addressOf(c) || op.letter == 'Y') { // which may be of another case
			open[op.goroutine] = i
		}
	}
	at := make([]*begun, len(all))
	for i, op := range all {
		if op.object != addressOf(c) || op.letter < 'a' {
			continue
		}
		if op.n != capacity {
			t.Fatalf("%+v, want capacity %d", op, capacity)
		}
		at[starts[i]] = &begun{op, done[op.goroutine]}
		done[op.goroutine]++
	}
	for _, b := range at {
		switch {
		case b == nil:
		case b.op.letter == 's':
			sends = append(sends, *b)
		case b.op.letter == 'r':
			receives = append(receives, *b)
		}
	}
	if len(sends) != half*stressRounds || len(receives) != half*stressRounds {
		t.Fatalf("%d sends, %d receives, want %d of each", len(sends), len(receives), half*stressRounds)
	}
	for k := range sends {
		s, r := sends[k], receives[k]
		want := transfer{number[s.op.goroutine], s.index}
		if got := received[number[r.op.goroutine]][r.index]; got != want {
			t.Fatalf("receive %d got %+v, want %+v", k, got, want)
		}
	}
}

// Traces are started and stopped while others do what they do, which must stay right.
func TestObjectsStartStop(t *testing.T) {
	var (
		mu   sync.Mutex
		rw   sync.RWMutex
		stop atomic.Bool
		a, b int
		wg   sync.WaitGroup
	)
	c := make(chan int, 2)
	for range stressGoroutines {
		wg.Go(func() {
			for !stop.Load() {
				mu.Lock()
				a++
				mu.Unlock()
				rw.RLock()
				_ = b
				rw.RUnlock()
				c <- <-c
				rw.Lock()
				b++
				rw.Unlock()
			}
		})
	}
	c <- 1
	var all []operation
	for range 10 {
		all = append(all, record(t, func() { time.Sleep(time.Millisecond) })...)
	}
	for _, object := range []any{&mu, &rw, c} {
		if len(of(all, object)) == 0 {
			t.Errorf("nothing of %T", object)
		}
	}
	stop.Store(true)
	wg.Wait()
	<-c
	if a != b || !mu.TryLock() || !rw.TryLock() {
		t.Errorf("%d and %d, want as much, and all locks free", a, b)
	}
}
