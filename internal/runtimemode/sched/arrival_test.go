//go:build otelprof_runtime

package sched_test

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// What a goroutine waits for between two requests, the next one sleeps for, in whole. If it held a
// processor for that, connections that do so would leave none to the region.
func TestRequestSleepsForTheWaitBefore(t *testing.T) {
	const wait = 1500 * time.Microsecond // its debt is too short to be slept for if it were for work
	client, server := connected(t)
	waits := map[string]func(){
		"network": func() { writeAfter(client, wait); read(server) },
		"timer":   func() { <-time.After(wait) },
	}
	pays := map[string]func(){
		"when it begins":     func() { sched.Arrive() },
		"at its first point": func() { sched.Point() },
	}
	for what, wait := range waits {
		for when, pay := range pays {
			t.Run(what+" "+when, func(t *testing.T) {
				busy(t, 0.5, unlimited)
				// On a busy machine others pay, too, or the wait is so long that the connection is
				// idle.
				for range 50 {
					if spent, held := request(wait, pay); spent > 500*time.Microsecond && held < spent/2 {
						return
					}
				}
				t.Error("a processor was held, or nothing paid, in 50 tries")
			})
		}
	}
}

// request waits between two requests, and returns by how much pay delays the second, and for how
// much of that processors were held.
func request(wait, pay func()) (spent, held time.Duration) {
	first, second := sched.Open(false), sched.Open(false)
	defer first.Close()
	defer second.Close()
	none := first.Join(false)
	sched.Point()
	none.Join(false)
	wait()
	second.Join(false)
	defer none.Join(false)
	_, before := sched.Books()
	earlier := sched.Read().Paid
	pay()
	_, after := sched.Books()
	return after - before, sched.Read().Paid - earlier
}

// writeAfter has the world send a byte after each of some waits.
func writeAfter(client net.Conn, waits ...time.Duration) {
	go func() {
		defer sched.Exempt()()
		for _, wait := range waits {
			time.Sleep(wait)
			_, _ = client.Write([]byte{1})
		}
	}()
}

func read(server net.Conn) {
	var b [1]byte
	_, _ = server.Read(b[:])
}

// holdAfter returns a lock that is held for some time once it is wanted.
func holdAfter(held time.Duration) (mu *sync.Mutex, wanted *atomic.Bool) {
	mu, wanted = new(sync.Mutex), new(atomic.Bool)
	mu.Lock()
	go func() {
		for !wanted.Load() {
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(held)
		mu.Unlock()
	}()
	return mu, wanted
}

// What waits for the network, and then once more before its request begins, has not paid in
// between. It is counted if that changes when it goes on, since the numbers are wrong then.
func TestWaitsBeforeARequestAreCounted(t *testing.T) {
	client, server := connected(t)
	lockAfter := func(wait, held time.Duration) func() {
		return func() {
			mu, wanted := holdAfter(held)
			writeAfter(client, wait)
			read(server)
			wanted.Store(true)
			mu.Lock()
		}
	}
	for name, tt := range map[string]struct {
		wait   func()
		unpaid int64
	}{
		"the network alone":        {func() { writeAfter(client, 4*time.Millisecond); read(server) }, 0},
		"the network twice":        {func() { writeAfter(client, 4*time.Millisecond, 4*time.Millisecond); read(server); read(server) }, 1},
		"a lock, for a short time": {lockAfter(8*time.Millisecond, 100*time.Microsecond), 1},
		"a lock, for a long time":  {lockAfter(time.Millisecond, 15*time.Millisecond), 0},
		"somebody else is served": {func() {
			writeAfter(client, 4*time.Millisecond, 4*time.Millisecond)
			read(server)
			done := make(chan bool)
			go func() { close(done) }() // may have taken over what was read
			<-done
			read(server)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			busy(t, 0.5, unlimited)
			for range 50 { // on a busy machine waits are longer
				before := sched.Refused()
				request(tt.wait, func() {})
				if after := sched.Refused(); after.Unpaid-before.Unpaid == tt.unpaid && after.Arrivals-before.Arrivals >= tt.unpaid {
					return
				}
			}
			t.Errorf("in none of 50 tries %d of one request had waited before it", tt.unpaid)
		})
	}
}

// What the network wakes is a guest, also where a goroutine that starts the world finds it.
func TestArrivalAtTheStartOfTheWorld(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	client, server := connected(t)
	begin(t, 0.5)
	const requests = 20
	var stats runtime.MemStats
	for range requests {
		var done atomic.Bool
		go func() {
			read(server)
			r := sched.Open(false)
			r.Join(false).Join(false)
			r.Close()
			done.Store(true)
		}()
		time.Sleep(time.Millisecond) // it waits
		if _, err := client.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		for ; !done.Load(); runtime.Gosched() {
			runtime.ReadMemStats(&stats)
		}
	}
	// On a busy machine some have not waited yet.
	if n := sched.Refused().Arrivals; n < requests/2 {
		t.Errorf("%d arrivals of %d requests", n, requests)
	}
}
