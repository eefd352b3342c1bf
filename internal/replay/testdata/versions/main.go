// Program versions writes the execution traces of internal/replay/testdata: one for each version of
// Go.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/trace"
	"sync"
	"time"
)

func main() {
	if err := trace.Start(os.Stdout); err != nil {
		panic(err)
	}
	defer trace.Stop()
	for range 120 {
		request()
	}
	everything()
}

// request takes 1 ms in "read rows", of a coroutine where there are any, and 2 ms in "render".
func request() {
	ctx, task := trace.NewTask(context.Background(), "request")
	defer task.End()
	trace.WithRegion(ctx, "request", func() {
		trace.WithRegion(ctx, "read rows", func() { rows(func() { time.Sleep(time.Millisecond) }) })
		trace.WithRegion(ctx, "render", func() { time.Sleep(2 * time.Millisecond) })
	})
}

// everything does what a goroutine can be seen to do.
func everything() {
	ctx := context.Background()
	trace.Log(ctx, "key", "value")
	var mu sync.Mutex
	var all sync.WaitGroup
	c, done := make(chan int), make(chan bool)
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	for i := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 5 {
				mu.Lock()
				time.Sleep(100 * time.Microsecond)
				mu.Unlock()
				select {
				case c <- i:
				case <-done:
				}
				runtime.Gosched()
				busy()
				_, _ = os.Stat("/")
			}
		}()
	}
	all.Add(2)
	go func() {
		defer all.Done()
		for range 20 {
			<-c
		}
		fmt.Fprint(w, "x")
	}()
	go func() { // waits in the poller
		defer all.Done()
		var b [1]byte
		_, _ = r.Read(b[:])
	}()
	runtime.GC()
	all.Wait()
}

var sink []byte

func busy() {
	for begun := time.Now(); time.Since(begun) < 200*time.Microsecond; {
		sink = make([]byte, 1<<12)
	}
}
