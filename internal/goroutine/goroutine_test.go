package goroutine_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/testutil"
)

func TestCurrentTellsLiveGoroutinesApart(t *testing.T) {
	if !goroutine.Known {
		testutil.Lacks(t, "GOROUTINE_ID", runtime.GOARCH+" has no assembly for it")
	}
	const goroutines = 1000
	var (
		mu    sync.Mutex
		seen  = map[goroutine.ID]bool{goroutine.Current(): true}
		wg    sync.WaitGroup
		leave = make(chan struct{})
		ready sync.WaitGroup
	)
	ready.Add(goroutines)
	for range goroutines {
		wg.Go(func() {
			id := goroutine.Current()
			mu.Lock()
			if id == 0 || seen[id] {
				t.Errorf("ID %#x: must be neither zero nor another's", id)
			}
			seen[id] = true
			mu.Unlock()
			ready.Done()
			<-leave
			deep(50) // the stack moves
			if again := goroutine.Current(); again != id {
				t.Errorf("ID %#x became %#x", id, again)
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
	if n := testing.AllocsPerRun(100, func() { sink = goroutine.Current() }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

var sink goroutine.ID

func BenchmarkCurrent(b *testing.B) {
	for b.Loop() {
		sink = goroutine.Current()
	}
}
