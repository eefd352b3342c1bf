package goroutine

import (
	"runtime"
	"sync"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

func TestCurrentTellsLiveGoroutinesApart(t *testing.T) {
	if !Known() {
		testutil.Lacks(t, "GOROUTINE_ID", "the runtime's record is not read on "+runtime.GOARCH)
	}
	const goroutines = 1000
	var (
		mu    sync.Mutex
		seen  = map[ID]bool{Current(): true}
		wg    sync.WaitGroup
		leave = make(chan struct{})
		ready sync.WaitGroup
	)
	ready.Add(goroutines)
	for range goroutines {
		wg.Go(func() {
			id := Current()
			if shown, ok := fromStack(); !ok || ID(shown) != id {
				t.Errorf("ID %d: stack traces call it %d", id, shown)
			}
			mu.Lock()
			if id == 0 || seen[id] {
				t.Errorf("ID %d: must be neither zero nor another's", id)
			}
			seen[id] = true
			mu.Unlock()
			ready.Done()
			<-leave
			deep(50) // the stack moves
			if again := Current(); again != id {
				t.Errorf("ID %d became %d", id, again)
			}
		})
	}
	ready.Wait()
	close(leave)
	wg.Wait()
}

func deep(n int) byte {
	var frame [1024]byte
	if n > 0 {
		frame[n] = deep(n - 1)
	}
	return frame[n%7]
}

func TestCurrentAllocs(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { sink = Current() }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

var sink ID

func BenchmarkCurrent(b *testing.B) {
	for b.Loop() {
		sink = Current()
	}
}

// A program that imports this package and asks for nothing pays nothing: the place is learned by
// the first call, by however many goroutines at once.
func TestPlaceIsLearnedByTheFirstCall(t *testing.T) {
	place.Store(0)
	learned = sync.Once{}
	defer Known()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if shown, ok := fromStack(); hasRecord && (!ok || Current() != ID(shown)) {
				t.Errorf("Current() = %d, stack traces say %d", Current(), shown)
			}
		})
	}
	wg.Wait()
}
