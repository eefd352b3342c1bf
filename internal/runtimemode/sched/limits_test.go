//go:build otelprof_runtime

package sched_test

import (
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// likeAPlan are limits as a plan has by default, on two processors.
var likeAPlan = sched.Limits{
	PerSpan: 5 * time.Millisecond, Longest: 5 * time.Millisecond, PerTrace: 25 * time.Millisecond,
	Duty: 10 * time.Millisecond, Total: time.Minute,
}

// busy has another goroutine be in the region until the test is over, which goes on while it
// sleeps.
func busy(t testing.TB, speedup float64, limits sched.Limits) {
	t.Helper()
	sched.Start(speedup, limits)
	stop, over := make(chan struct{}), make(chan struct{})
	inside := make(chan struct{})
	go func() {
		defer close(over)
		region(func() {
			close(inside)
			for {
				select {
				case <-stop:
					return
				default:
					time.Sleep(time.Millisecond)
				}
			}
		})
	}()
	<-inside
	t.Cleanup(func() { close(stop); <-over; sched.Stop() })
}

// connected returns both ends of a connection.
func connected(t *testing.T) (client, server net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// A connection that was idle answers at once: its reader owes for a second, and pays nothing.
func TestIdleConnectionIsNotDelayed(t *testing.T) {
	client, server := connected(t)
	busy(t, 0.5, likeAPlan)
	type answer struct {
		at    int64
		spent time.Duration
	}
	got := make(chan answer, 1)
	go func() {
		var b [1]byte
		_, _ = server.Read(b[:])
		at := clock.Now()
		r := sched.Open(false)
		before := r.Join(false)
		sched.Point()
		before.Join(false)
		got <- answer{at, r.Close()}
	}()
	time.Sleep(time.Second)
	sent := clock.Now()
	_, _ = client.Write([]byte{1})
	a := <-got
	t.Logf("the first byte came %v late", time.Duration(a.at-sent))
	if refused := sched.Refused(); a.spent != 0 || refused.Idle != 1 || refused.Arrivals < 1 {
		t.Errorf("delayed by %v, %+v: want nothing, and one idle connection", a.spent, refused)
	}
}

// What a request waits for from the network is made longer, within its limits, which count all its
// goroutines.
func TestRequestIsDelayedWithinPerTrace(t *testing.T) {
	limits := likeAPlan
	limits.Duty = time.Hour
	late := sched.Late()
	busy(t, 0.5, limits)
	r := sched.Open(false)
	before := r.Join(false)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { // it works for the request that it was started in
			for range 20 {
				time.Sleep(3 * time.Millisecond)
				sched.Point()
			}
		})
	}
	wg.Wait()
	before.Join(false)
	spent, refused := r.Close(), sched.Refused()
	late = sched.Late() - late // by as much the machine made delays longer than was asked
	if spent < limits.PerTrace/2 || spent > limits.PerTrace+late+time.Millisecond || refused.PerTrace == 0 {
		t.Errorf("delayed by %v, refused %+v; want nearly %v, and the rest refused", spent, refused, limits.PerTrace)
	}
}

// A goroutine that works for an exempt request pays nothing, nor do its child goroutines, nor when
// it is over.
func TestExemptRequest(t *testing.T) {
	limits := likeAPlan
	limits.Duty = time.Hour
	busy(t, 0.8, limits)
	spent := make(chan time.Duration, 2)
	wait := func() {
		_, before := sched.Books()
		time.Sleep(10 * time.Millisecond)
		sched.Point()
		_, after := sched.Books()
		spent <- after - before
	}
	go func() {
		r := sched.Open(true)
		before := r.Join(false)
		var child sync.WaitGroup
		child.Go(wait)
		wait()
		child.Wait()
		before.Join(false)
		r.Close()
	}()
	if a, b := <-spent, <-spent; a != 0 || b != 0 {
		t.Errorf("delayed by %v and %v, want by nothing", a, b)
	}
}

// What an exempt request has started before an experiment pays nothing in it.
func TestExemptRequestIsOlderThanTheExperiment(t *testing.T) {
	r := sched.Open(true)
	defer r.Close()
	before := r.Join(false)
	begun, spent := make(chan bool), make(chan time.Duration)
	go func() {
		<-begun
		time.Sleep(10 * time.Millisecond)
		sched.Point()
		_, paid := sched.Books()
		spent <- paid
	}()
	before.Join(false)
	limits := likeAPlan
	limits.Duty = time.Hour
	busy(t, 0.8, limits)
	close(begun)
	if paid := <-spent; paid != 0 {
		t.Errorf("delayed by %v, want by nothing", paid)
	}
}

// No 100 ms have more delay in all goroutines than they may, also where an experiment ends and
// another begins.
func TestDutyHoldsInEachWindow(t *testing.T) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					time.Sleep(2 * time.Millisecond)
					sched.Point()
				}
			}
		})
	}
	limit := likeAPlan.Duty + time.Millisecond
	worst, sum := delayOfArms()
	for try := 1; try < 3 && worst > limit; try++ { // a machine that is short of processors makes a delay longer
		worst, sum = delayOfArms()
	}
	if worst > limit {
		t.Errorf("%v of delay in 100 ms, want at most %v", worst, likeAPlan.Duty)
	}
	if sum < likeAPlan.Duty {
		t.Errorf("%v of delay in all, want more", sum)
	}
}

// delayOfArms returns the most delay in 100 ms of arms one behind the other, and all of it.
func delayOfArms() (worst, sum time.Duration) {
	type reading struct {
		at    int64
		spent time.Duration
	}
	var all []reading
	past := time.Duration(0)
	for range 12 { // arms of 40 ms
		func() {
			sched.Start(0.5, likeAPlan)
			defer sched.Stop()
			region(func() {
				for range 8 {
					time.Sleep(5 * time.Millisecond)
					all = append(all, reading{clock.Now(), past + sched.Read().Spent})
				}
			})
			past += sched.Read().Spent
		}()
	}
	for i, first := range all {
		for _, last := range all[i:] {
			if time.Duration(last.at-first.at) <= sched.DutyWindow {
				worst = max(worst, last.spent-first.spent)
			}
		}
	}
	return worst, all[len(all)-1].spent
}

// Between two requests a connection pays nothing, also if an experiment begins there.
func TestBetweenRequestsOutlivesExperiments(t *testing.T) {
	limits := likeAPlan
	limits.Duty = time.Hour
	for _, within := range []bool{false, true} {
		if within {
			sched.Start(0.5, limits)
		}
		worked, begun, spent := make(chan bool), make(chan bool), make(chan time.Duration)
		go func() {
			r := sched.Open(false)
			before := r.Join(false)
			before.Join(false)
			r.Close()
			worked <- true
			<-begun
			for range 20 {
				burn(100 * time.Microsecond)
				runtime.Gosched()
			}
			_, paid := sched.Books()
			spent <- paid
		}()
		<-worked
		busy(t, 0.5, limits)
		begun <- true
		if paid := <-spent; paid != 0 {
			t.Errorf("between two requests, the first of which was in an experiment (%t), delayed by %v, want nothing", within, paid)
		}
	}
}

// What was refused is granted when there is room again.
func TestRefusedByDutyIsGrantedLater(t *testing.T) {
	limits := likeAPlan
	limits.Duty = 2 * time.Millisecond
	busy(t, 0.5, limits)
	for refusedAt := time.Duration(0); ; {
		sched.Point()
		spent, refused := sched.Read().Spent, sched.Refused().Duty
		if refusedAt == 0 && refused > 0 {
			refusedAt = spent
		}
		if refusedAt > 0 && spent > refusedAt+time.Millisecond {
			return
		}
		burn(100 * time.Microsecond)
	}
}

// What delays are too long by is booked for the request that is delayed, and for no other.
func TestLateHere(t *testing.T) {
	limits := likeAPlan
	limits.PerTrace, limits.Duty = time.Hour, time.Hour
	late := sched.Late()
	busy(t, 0.5, limits)
	r := sched.Open(false)
	before := r.Join(false)
	for range 100 {
		burn(100 * time.Microsecond)
		sched.Point()
	}
	own, all := sched.LateHere(), sched.Late()-late
	before.Join(false)
	// The runtime's own goroutines may be late by nanoseconds meanwhile.
	if r.Close(); own == 0 || own > all || all-own > 10*time.Microsecond {
		t.Errorf("too long by %v, want %v, which all delays were", own, all)
	}
	if own := sched.LateHere(); own != 0 {
		t.Errorf("too long by %v in no request", own)
	}
}

// BenchmarkRefused is what it costs to be refused by duty.
func BenchmarkRefused(b *testing.B) {
	limits := likeAPlan
	limits.Duty = 0
	busy(b, 0.5, limits)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			sched.Point()
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(sched.Refused().Duty)/float64(b.N), "refusals/op")
}

// A sleep is made longer by no more than one delay may take, and the rest stays owed and is
// counted.
func TestSleepIsBoundedByPerSpan(t *testing.T) {
	limits := likeAPlan
	limits.Duty = time.Hour
	busy(t, 0.5, limits)
	late := sched.Late()
	_, before := sched.Books()
	time.Sleep(100 * time.Millisecond)
	_, after := sched.Books()
	late = sched.Late() - late
	if spent := after - before; spent < limits.PerSpan/2 || spent > limits.PerSpan+late+time.Millisecond || sched.Refused().PerSpan == 0 {
		t.Errorf("a sleep was made longer by %v, refused %+v; want %v", spent, sched.Refused(), limits.PerSpan)
	}
}

// A call of the process of itself is delayed where it is answered, and not once more where it is
// waited for.
func TestServedCallIsPaidOnce(t *testing.T) {
	client, server := connected(t)
	go func() { // answers after 30 ms of its own
		var b [1]byte
		for {
			if _, err := server.Read(b[:]); err != nil {
				return
			}
			time.Sleep(30 * time.Millisecond)
			_, _ = server.Write(b[:])
		}
	}()
	limits := unlimited
	busy(t, 0.5, limits)
	call := func(served bool) time.Duration {
		r := sched.Open(false)
		before := r.Join(false)
		sched.Point()
		_, begins := sched.Books()
		sched.Here().Served(served)
		var b [1]byte
		_, _ = client.Write(b[:])
		_, _ = client.Read(b[:])
		sched.Point()
		_, ends := sched.Books()
		before.Join(false)
		r.Close()
		return ends - begins
	}
	call(false)
	if served, from := call(true), call(false); served > 5*time.Millisecond || from < 10*time.Millisecond {
		t.Errorf("a call that this process answers was delayed by %v, one that another does by %v", served, from)
	}
}

// Records of goroutines are used again. That the one before waited for this process is not known of
// the next.
func TestServedEndsWithItsGoroutine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the next has the record of the one before
	client, server := connected(t)
	begin(t, 0.5)
	const requests = 20
	for range requests {
		served, over := make(chan bool), make(chan bool)
		go func() {
			defer close(served)
			sched.Here().Served(true)
		}()
		<-served
		go func() {
			defer close(over)
			writeAfter(client, 2*time.Millisecond)
			read(server)
			r := sched.Open(false)
			r.Join(false).Join(false)
			r.Close()
		}()
		<-over
	}
	// On a busy machine some have not waited.
	if n := sched.Refused().Arrivals; n < requests/2 {
		t.Errorf("%d arrivals of %d requests", n, requests)
	}
}

// There is room for as many requests as it says, and a closed one is none.
func TestRequests(t *testing.T) {
	var all []sched.Request
	for range 5000 {
		if r := sched.Open(false); r != (sched.Request{}) {
			all = append(all, r)
		}
	}
	if len(all) < 3500 || len(all) > 4096 {
		t.Errorf("%d requests were open at once", len(all))
	}
	const old = 50 * time.Millisecond
	if r := sched.OpenInPlaceOf(time.Hour); r != (sched.Request{}) {
		t.Error("a young request has lost its place")
	}
	time.Sleep(old)
	for range 5000 { // that never end
		if r := sched.OpenInPlaceOf(old); r == (sched.Request{}) {
			t.Fatal("no room, though there are old requests")
		} else {
			all = append(all, r)
			r.Close()
		}
	}
	for _, r := range all {
		r.Close()
	}
	if r := sched.Open(false); r == (sched.Request{}) {
		t.Error("no room after all have been closed")
	} else {
		r.Close()
	}
}
