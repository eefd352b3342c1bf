package traced

import (
	"io"
	"runtime/trace"
	"sync"
	"testing"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/testutil"
)

// pairs are operations that belong together, on uncontended objects.
func pairs() map[string]func() {
	var (
		m  Mutex
		rw RWMutex
		wg WaitGroup
		o  Once
		c  Chan
		ch = make(chan int, 1)
	)
	return map[string]func(){
		"mutex":     func() { m.Lock(); m.Unlock() },     //nolint:staticcheck // the price of the pair
		"read lock": func() { rw.RLock(); rw.RUnlock() }, //nolint:staticcheck // the lock alone is what is written
		"waitgroup": func() { wg.Add(1); wg.Done(); wg.Wait() },
		"once":      func() { o.Do(func() {}) },
		"channel":   func() { Send(&c, ch, 1); Receive(&c, ch) },
		"select":    func() { TrySend(&c, ch, 1); ReceiveOr(&c, ch, nil) },
	}
}

func TestAllocs(t *testing.T) {
	if err := trace.Start(io.Discard); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	defer trace.Stop()
	defer mark.Want()()
	for name, do := range pairs() {
		if n := testing.AllocsPerRun(1000, do); n >= 1 {
			t.Errorf("%s allocates %v times while a trace is on, want 0", name, n)
		}
	}
}

// BenchmarkPair is the cost of operations that do not wait, beside package sync's own.
func BenchmarkPair(b *testing.B) {
	var (
		m  sync.Mutex
		rw sync.RWMutex
		wg sync.WaitGroup
		o  sync.Once
		ch = make(chan int, 1)
	)
	plain := map[string]func(){
		"mutex":     func() { m.Lock(); m.Unlock() },     //nolint:staticcheck // the price of the pair
		"read lock": func() { rw.RLock(); rw.RUnlock() }, //nolint:staticcheck // the lock alone is what is written
		"waitgroup": func() { wg.Add(1); wg.Done(); wg.Wait() },
		"once":      func() { o.Do(func() {}) },
		"channel":   func() { ch <- 1; <-ch },
	}
	run := func(what string, all map[string]func()) {
		for name, do := range all {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					do()
				}
			})
		}
	}
	run("sync", plain)
	run("trace=off", pairs())
	if err := trace.Start(io.Discard); err != nil {
		b.Skipf("this process is being traced: %v", err)
	}
	defer trace.Stop()
	defer mark.Want()()
	run("trace=on", pairs())
}
