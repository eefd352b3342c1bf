//go:build otelprof_runtime

package sched_test

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

func always() bool { return true }

// burn keeps the processor.
func burn(d time.Duration) { clock.Spin(clock.Now(), d, always) }

// unlimited are limits that bound single payments only.
var unlimited = sched.Limits{PerSpan: time.Hour, Longest: 10 * time.Millisecond, PerTrace: time.Hour, Duty: time.Hour, Total: time.Hour}

func begin(t testing.TB, speedup float64) {
	t.Helper()
	sched.Start(speedup, unlimited)
	t.Cleanup(sched.Stop)
}

// debt is what the calling goroutine owes. It is exact while no goroutine is in the region.
func debt() time.Duration {
	credit, _ := sched.Books()
	growth, _ := sched.Growth()
	return growth - credit
}

// region is in the region while f runs.
func region(f func()) {
	v := sched.Enter()
	defer v.Leave()
	f()
}

// small is a debt that is not worth paying.
const small = 2 * time.Microsecond

func TestGrowth(t *testing.T) {
	begin(t, 0.25)
	outer := clock.Now()
	var inner time.Duration
	region(func() {
		// Twice counts once. Another goroutine may have the processor meanwhile.
		inner = watch(t, func() { region(func() { burn(5 * time.Millisecond) }) }).Running
	})
	most := time.Duration(clock.Now() - outer)
	growth, inForce := sched.Growth()
	if growth < inner/4-small || growth > most/4+small || !inForce {
		t.Errorf("growth %v, %v, want %v to %v", growth, inForce, inner/4, most/4)
	}
	if d := debt(); d > small {
		t.Errorf("the goroutine in the region owes %v, want nothing", d)
	}
	sched.Stop()
	if _, inForce := sched.Growth(); inForce {
		t.Error("in force after Stop")
	}
}

// Side by side the region's time counts once, and all goroutines in it earn.
func TestGrowthOfMany(t *testing.T) {
	begin(t, 0.5)
	began := clock.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { region(func() { time.Sleep(5 * time.Millisecond) }) })
	}
	wg.Wait()
	took := time.Duration(clock.Now() - began)
	if growth, _ := sched.Growth(); growth > took/2+small || growth < 5*time.Millisecond/2-small {
		t.Errorf("growth %v in %v, want at least %v and at most half of the time", growth, took, 5*time.Millisecond/2)
	}
}

// A goroutine that waits for one in the region owes nothing when it is woken.
func TestHandover(t *testing.T) {
	work := func() { region(func() { burn(3 * time.Millisecond) }) }
	for name, wait := range map[string]func(done func()){
		"unbuffered channel": func(done func()) {
			c := make(chan int)
			go func() { work(); done(); c <- 1 }()
			<-c
		},
		"close": func(done func()) {
			c := make(chan int)
			go func() { work(); done(); close(c) }()
			<-c
		},
		"full channel": func(done func()) {
			c := make(chan int, 1)
			c <- 1
			go func() { work(); done(); <-c }()
			c <- 2
		},
		"select": func(done func()) {
			c, never := make(chan int), make(chan int)
			go func() { work(); done(); c <- 1 }()
			select {
			case <-c:
			case <-never:
			}
		},
		"Mutex": func(done func()) {
			var mu sync.Mutex
			mu.Lock()
			go func() { work(); done(); mu.Unlock() }()
			mu.Lock()
		},
		"RWMutex": func(done func()) {
			var mu sync.RWMutex
			mu.Lock()
			go func() { work(); done(); mu.Unlock() }()
			mu.RLock()
		},
		"WaitGroup": func(done func()) {
			var wg sync.WaitGroup
			wg.Go(func() { work(); done() })
			wg.Wait()
		},
		"Cond": func(done func()) {
			var mu sync.Mutex
			ready, cond := false, sync.NewCond(&mu)
			mu.Lock()
			go func() {
				work()
				mu.Lock()
				ready = true
				done()
				mu.Unlock()
				cond.Broadcast()
			}()
			for !ready {
				cond.Wait()
			}
			mu.Unlock()
		},
		"Once": func(done func()) {
			var once sync.Once
			inside := make(chan int)
			go once.Do(func() { close(inside); work(); done() })
			<-inside
			once.Do(func() {})
		},
		"context": func(done func()) {
			ctx, cancel := context.WithCancel(context.Background())
			go func() { work(); done(); cancel() }()
			<-ctx.Done()
		},
		"iter.Pull": func(done func()) {
			next, stop := iter.Pull(func(yield func(int) bool) { work(); done(); yield(1) })
			next()
			stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t, 0.5)
			var left atomic.Int64 // what the other one owed
			wait(func() { left.Store(int64(debt())) })
			if d := debt(); d > max(0, time.Duration(left.Load()))+small {
				t.Errorf("owes %v after waiting for one that owed %v", d, time.Duration(left.Load()))
			}
			if growth, _ := sched.Growth(); growth < time.Millisecond {
				t.Errorf("growth %v, want 1.5ms and more: nothing was handed over", growth)
			}
		})
	}
}

// A goroutine that waits for a timer or the network meanwhile, or for one that is not delayed, has
// waited longer, and owes next to nothing.
func TestTimersOwe(t *testing.T) {
	for name, wait := range map[string]func(){
		"Sleep":  func() { time.Sleep(10 * time.Millisecond) },
		"After":  func() { <-time.After(10 * time.Millisecond) },
		"Ticker": func() { k := time.NewTicker(10 * time.Millisecond); <-k.C; k.Stop() },
		"select": func() {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-make(chan int):
			}
		},
		"network": func() { clock.Sleep(clock.Now(), 4*time.Millisecond, always) },
		"exempt goroutine": func() {
			c := make(chan bool)
			go func() { defer sched.Exempt()(); time.Sleep(10 * time.Millisecond); close(c) }()
			<-c
		},
	} {
		t.Run(name, func(t *testing.T) {
			// On a busy machine the region may be over before the wait begins, and a goroutine that
			// queues for a processor pays by that.
			var owed, spent time.Duration
			for range 50 {
				if owed, spent = waitBeside(t, wait); owed > time.Millisecond && spent > owed/2 {
					return
				}
			}
			t.Errorf("was delayed by %v of %v, in the last of 50 tries", spent, owed)
		})
	}
}

// waitBeside waits while another goroutine is in the region, and returns what the waiter owed for
// that and by how much it was delayed.
func waitBeside(t *testing.T, wait func()) (owed, spent time.Duration) {
	t.Helper()
	begin(t, 0.5)
	done := make(chan bool)
	var inside sync.WaitGroup
	inside.Add(1)
	go func() { region(func() { inside.Done(); time.Sleep(3 * time.Millisecond) }); close(done) }()
	inside.Wait()
	before, _ := sched.Growth()
	wait()
	<-done
	for range 100 { // a payment ends if the thread is wanted elsewhere
		if sched.Point(); debt() <= small {
			break
		}
	}
	if d := debt(); d > small {
		t.Errorf("owes %v after a point", d)
	}
	after, _ := sched.Growth()
	_, spent = sched.Books()
	return after - before, spent
}

// A goroutine that the garbage collector stops to scan its stack has not waited: it is not ahead.
func TestCollectorGivesNoCredit(t *testing.T) {
	for range 20 {
		begin(t, 0.5)
		var collected atomic.Bool
		debt() // the scheduler knows of the goroutine, and has not seen it stop
		go func() { runtime.GC(); collected.Store(true) }()
		burnUntil(collected.Load)
		if d := debt(); d < -small {
			t.Fatalf("owes %v after a collection, want nothing", d)
		}
	}
}

func TestLeaveElsewhere(t *testing.T) {
	begin(t, 0.5)
	visits, next := make(chan sched.Visit), make(chan bool)
	go func() {
		visits <- sched.Enter()
		<-next
		region(func() {})
		close(visits)
	}()
	v := <-visits
	v.Leave()
	close(next)
	<-visits
	before, _ := sched.Growth()
	burn(time.Millisecond)
	if after, _ := sched.Growth(); after != before {
		t.Errorf("the region goes on: growth %v, then %v", before, after)
	}
	if n := sched.Read().Foreign; n != 1 {
		t.Errorf("Foreign = %d, want 1", n)
	}
}

// The end of a visit that began in an earlier experiment ends none of the present one.
func TestLeaveOfAnEarlierExperiment(t *testing.T) {
	begin(t, 0.5)
	earlier := sched.Enter()
	begin(t, 0.5)
	defer sched.Enter().Leave()
	earlier.Leave()
	before, _ := sched.Growth()
	burn(time.Millisecond)
	if after, _ := sched.Growth(); after == before {
		t.Errorf("the growth stays %v though the region goes on", before)
	}
}

func TestExempt(t *testing.T) {
	begin(t, 0.9)
	done := make(chan time.Duration)
	go func() {
		defer sched.Exempt()()
		for range 10 {
			time.Sleep(time.Millisecond)
			sched.Point()
		}
		_, spent := sched.Books()
		done <- spent
	}()
	var spent time.Duration
	region(func() { spent = <-done })
	if spent != 0 {
		t.Errorf("exempt, and delayed by %v", spent)
	}
}

// An exemption that ends on another goroutine has ended when the next experiment begins.
func TestExemptionEndsElsewhere(t *testing.T) {
	begin(t, 0.5)
	ends, begun, spent := make(chan func()), make(chan bool), make(chan time.Duration)
	go func() {
		ends <- sched.Exempt()
		<-begun
		time.Sleep(10 * time.Millisecond)
		sched.Point()
		_, paid := sched.Books()
		spent <- paid
	}()
	(<-ends)()
	busy(t, 0.5, unlimited)
	close(begun)
	if paid := <-spent; paid == 0 {
		t.Error("not delayed")
	}
}

// The budget ends an experiment.
func TestBudget(t *testing.T) {
	limits, late := unlimited, sched.Late()
	limits.Longest, limits.Total = time.Millisecond, 3*time.Millisecond
	sched.Start(0.9, limits)
	defer sched.Stop()
	stop := make(chan bool)
	var inside, wg sync.WaitGroup
	inside.Add(1)
	wg.Go(func() { region(func() { inside.Done(); <-stop }) })
	inside.Wait()
	wg.Go(func() {
		region(func() {
			for {
				if _, inForce := sched.Growth(); !inForce {
					return
				}
				burn(100 * time.Microsecond)
			}
		})
	})
	for {
		if _, inForce := sched.Growth(); !inForce {
			break
		}
		sched.Point()
	}
	close(stop)
	wg.Wait()
	// Where processors are idle a part is slept. A delay is 1 ms at most, so more than 2 ms were
	// spent when one was refused.
	c, refused := sched.Read(), sched.Refused().Total
	if c.Spent <= limits.Total-limits.Longest || c.Spent > limits.Total+sched.Late()-late || refused == 0 {
		t.Errorf("spent %v, %d refused, %+v; want nearly %v and no more", c.Spent, refused, c, limits.Total)
	}
}

// However little virtual time passes, a slice ends.
func TestNobodyStarves(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	begin(t, 0.98)
	var (
		stop   atomic.Bool
		wg     sync.WaitGroup
		served = make(chan bool)
	)
	defer wg.Wait()
	defer stop.Store(true)
	wg.Go(func() {
		for !stop.Load() {
			region(func() { burn(20 * time.Microsecond) })
			sched.Point()
		}
	})
	wg.Go(func() {
		for range 5 {
			runtime.Gosched()
		}
		close(served)
	})
	select {
	case <-served:
	case <-time.After(30 * time.Second):
		t.Fatal("a goroutine that is in the region all the time has kept the processor for itself")
	}
}

// Payments do not hold the garbage collector up, nor stops of the world, nor growing stacks; ends
// and starts of experiments in the middle of everything do no harm.
func TestHammer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var (
		wg sync.WaitGroup
		mu sync.Mutex
		c  = make(chan []byte, 3)
	)
	for i := range 24 {
		wg.Go(func() {
			for ctx.Err() == nil {
				switch i % 4 {
				case 0:
					region(func() { burn(20 * time.Microsecond) })
				case 1:
					mu.Lock()
					deep(30)
					mu.Unlock()
				case 2:
					select {
					case c <- make([]byte, 10_000):
					case <-c:
					}
				case 3:
					done := make(chan bool)
					go func() { time.Sleep(50 * time.Microsecond); close(done) }()
					<-done
				}
				sched.Point()
			}
		})
	}
	disturb(ctx, 10*time.Millisecond, 5)
	wg.Wait()
}

// Experiments may follow each other so fast that the place of one is used again before a thread
// that stood still has left the region in it: the later ones count no more goroutines in the region
// than there are.
func TestPlacesOfExperimentsAreUsedAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	defer sched.Stop()
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				region(func() { burn(time.Microsecond) })
				region(runtime.Gosched)
			}
		})
	}
	for ctx.Err() == nil {
		sched.Start(0.5, unlimited)
	}
	wg.Wait()
	before, inForce := sched.Growth()
	burn(2 * time.Millisecond)
	if after, _ := sched.Growth(); !inForce || after != before {
		t.Errorf("the growth rises from %v to %v (in force: %t) though the region is empty", before, after, inForce)
	}
}

// disturb begins experiments and ends each n-th one early, collects garbage and changes GOMAXPROCS
// until ctx ends.
func disturb(ctx context.Context, each time.Duration, n int) {
	defer runtime.GOMAXPROCS(runtime.NumCPU())
	defer sched.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		limits := unlimited
		limits.Longest = 5 * time.Millisecond
		sched.Start(float64(i%10)/10, limits)
		runtime.GC()
		runtime.GOMAXPROCS(1 + i%3)
		time.Sleep(each)
		if i%n == 0 {
			sched.Stop()
		}
	}
}

func deep(n int) byte {
	var frame [512]byte
	if n > 0 {
		frame[n] = deep(n - 1)
	}
	return frame[n%7]
}

func TestAllocs(t *testing.T) {
	begin(t, 0.5)
	if n := testing.AllocsPerRun(100, func() {
		v := sched.Enter()
		v.Leave()
		sched.Point()
		sched.Books()
		sched.Growth()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkRegion(b *testing.B) {
	begin(b, 0.5)
	b.ReportAllocs()
	for b.Loop() {
		v := sched.Enter()
		v.Leave()
	}
}

func BenchmarkPoint(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(map[bool]string{false: "idle", true: "experiment"}[on], func(b *testing.B) {
			if on {
				begin(b, 0.5)
			}
			b.ReportAllocs()
			for b.Loop() {
				sched.Point()
			}
		})
	}
}

// BenchmarkPingPong is a wake-up and a switch, there and back. Watched is one of the two
// goroutines, or a third one.
func BenchmarkPingPong(b *testing.B) {
	for _, on := range []string{"idle", "other", "watched", "experiment"} {
		b.Run(on, func(b *testing.B) {
			var w sched.Watch
			switch on {
			case "experiment":
				begin(b, 0.5)
			case "watched":
				w.Begin()
				defer w.End()
			case "other":
				begun, leave := make(chan bool), make(chan bool)
				go func() { w.Begin(); close(begun); <-leave; w.End() }()
				<-begun
				defer close(leave)
			}
			to, from := make(chan int), make(chan int)
			go func() {
				for range to {
					from <- 1
				}
				close(from)
			}()
			b.ReportAllocs()
			for b.Loop() {
				to <- 1
				<-from
			}
			close(to)
		})
	}
}
