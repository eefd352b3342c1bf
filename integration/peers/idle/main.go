//go:build unix

// Command idle measures what the scheduler is called for, and what is done with locks and channels,
// with nothing but Go: it is built both by go build and by otelprof build, for figures of command
// peers. It prints one line, the nanoseconds of processor time that an operation takes, without an
// execution trace or with one.
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/trace"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// operations do something n times, on one processor.
var operations = map[string]func(n int){
	"pingpong": pingPong,
	"mutex":    contend,
	"gosched":  yield,
	"spawn":    spawn,
	"lock":     lock,
	"rlock":    readLock,
	"buffer":   buffer,
	"choose":   choose,
	"count":    count,
	"serve":    serve,
}

func main() {
	runtime.GOMAXPROCS(1)
	n, err := strconv.Atoi(os.Args[2])
	name, traced := strings.CutSuffix(os.Args[1], "-traced")
	operation := operations[name]
	if err != nil || operation == nil {
		fmt.Fprintf(os.Stderr, "idle: %q: must be an operation and a number\n", os.Args[1:])
		os.Exit(2)
	}
	operation(n / 10) // warm
	if traced {
		if err := trace.Start(io.Discard); err != nil {
			fmt.Fprintln(os.Stderr, "idle:", err)
			os.Exit(1)
		}
	}
	before := cpuTime()
	operation(n)
	fmt.Println(float64(cpuTime()-before) / float64(n))
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no way to fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pingPong hands a value over to another goroutine and back.
func pingPong(n int) {
	to, from := make(chan int), make(chan int)
	go func() {
		for range n {
			<-to
			from <- 1
		}
	}()
	for range n {
		to <- 1
		<-from
	}
}

// contend locks and unlocks on four goroutines, of which one in eight yields with the lock in hand.
func contend(n int) {
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	for range 4 {
		wg.Go(func() {
			for i := range n / 4 {
				mu.Lock()
				if i%8 == 0 {
					runtime.Gosched()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// yield yields on four goroutines.
func yield(n int) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range n / 4 {
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}

// spawn starts goroutines that end at once, ten at a time.
func spawn(n int) {
	for range n / 10 {
		var wg sync.WaitGroup
		wg.Add(10)
		for range 10 {
			go wg.Done()
		}
		wg.Wait()
	}
}

// lock locks and unlocks an uncontended mutex.
func lock(n int) {
	var mu sync.Mutex
	for range n {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // nothing is protected
	}
}

// readLock does so for reading.
func readLock(n int) {
	var mu sync.RWMutex
	for range n {
		mu.RLock()
		mu.RUnlock() //nolint:staticcheck // nothing is protected
	}
}

// buffer sends and receives what the channel has room for.
func buffer(n int) {
	c := make(chan int, 1)
	for range n {
		c <- 1
		<-c
	}
}

// choose selects one of two channels that has an element.
func choose(n int) {
	c, never := make(chan int, 1), make(chan int)
	for range n {
		c <- 1
		select {
		case <-c:
		case <-never:
		}
	}
}

// count adds to a WaitGroup and subtracts again.
func count(n int) {
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		wg.Done()
	}
	wg.Wait()
}

// serve makes and answers a request, with 100 µs of computing, for each hundred operations.
func serve(n int) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		end := cpuTime() + 100*time.Microsecond
		now := cpuTime()
		for now < end {
			now = cpuTime()
		}
	}))
	defer server.Close()
	server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 8
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range n / 800 {
				r, err := server.Client().Get(server.URL)
				if err != nil {
					panic(err)
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_ = r.Body.Close()
			}
		})
	}
	wg.Wait()
}
