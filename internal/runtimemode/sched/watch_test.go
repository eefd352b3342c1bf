//go:build otelprof_runtime

package sched_test

import (
	"context"
	"iter"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// watch returns what the calling goroutine has been doing while f ran. The times must add up, on a
// machine that is as busy as it may be.
func watch(t testing.TB, f func()) sched.Times {
	t.Helper()
	var w sched.Watch
	before := clock.Now()
	w.Begin()
	begun := clock.Now()
	f()
	ending := clock.Now()
	times, ok := w.End()
	after := clock.Now()
	if !ok {
		t.Error("no times")
	}
	checkTimes(t, times, time.Duration(ending-begun), time.Duration(after-before))
	return times
}

func checkTimes(t testing.TB, times sched.Times, least, most time.Duration) {
	t.Helper()
	if sum := times.Running + times.Runnable + times.Blocked; sum < least || sum > most {
		t.Errorf("%+v add up to %v, want %v to %v", times, sum, least, most)
	}
	if times.Running < 0 || times.Runnable < 0 || times.Blocked < 0 {
		t.Errorf("%+v: negative", times)
	}
	if times.Stops == 0 && times.Runnable+times.Blocked != 0 {
		t.Errorf("%+v: never stopped, and did not run", times)
	}
}

const pause = 5 * time.Millisecond

// later does something when the caller has been blocked for a while.
func later(f func()) { time.AfterFunc(pause, f) }

func TestWatchBlocked(t *testing.T) {
	for name, wait := range map[string]func(){
		"Sleep":   func() { time.Sleep(pause) },
		"receive": func() { c := make(chan int); later(func() { c <- 1 }); <-c },
		"send":    func() { c := make(chan int); later(func() { <-c }); c <- 1 },
		"select": func() {
			c := make(chan int)
			later(func() { close(c) })
			select {
			case <-c:
			case <-make(chan int):
			}
		},
		"Mutex": func() { var mu sync.Mutex; mu.Lock(); later(mu.Unlock); mu.Lock() },
		"WaitGroup": func() {
			var wg sync.WaitGroup
			wg.Go(func() { time.Sleep(pause) })
			wg.Wait()
		},
		"network": func() { clock.Sleep(clock.Now(), pause, always) },
		"coroutine": func() {
			next, stop := iter.Pull(func(yield func(int) bool) { burn(pause); yield(1) })
			next()
			stop()
		},
		"locked to its thread": func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			time.Sleep(pause)
		},
	} {
		t.Run(name, func(t *testing.T) {
			// It may have begun to wait late, for it was another goroutine's turn.
			var times sched.Times
			for range 50 {
				if times = watch(t, wait); times.Blocked > pause/2 && times.Stops > 0 {
					return
				}
			}
			t.Errorf("%+v, want more than %v blocked, in the last of 50 tries", times, pause/2)
		})
	}
}

func TestWatchRunning(t *testing.T) {
	if times := watch(t, func() { burn(pause) }); times.Blocked != 0 || times.Running == 0 {
		t.Errorf("%+v, want to have been running, and never blocked", times)
	}
}

// System calls count as running.
func TestWatchSystemCall(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	r.Fd() // reads are system calls that block from now on
	var buffer [1]byte
	var times sched.Times
	for range 50 {
		later(func() { _, _ = w.Write([]byte{1}) })
		times = watch(t, func() {
			if _, err := r.Read(buffer[:]); err != nil {
				t.Error(err)
			}
		})
		if times.Blocked != 0 {
			t.Fatalf("%+v, want nothing blocked", times)
		}
		if times.Running > pause/2 {
			return
		}
	}
	t.Errorf("%+v, want more than %v running, in the last of 50 tries", times, pause/2)
}

// On one processor the others wait for the one that runs.
func TestWatchRunnable(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const goroutines, turns = 4, 100
	for try := 1; ; try++ {
		var (
			all   [goroutines]sched.Times
			wg    sync.WaitGroup
			began = clock.Now()
		)
		for i := range goroutines {
			wg.Go(func() {
				all[i] = watch(t, func() {
					for range turns {
						burn(50 * time.Microsecond)
						runtime.Gosched()
					}
				})
			})
		}
		wg.Wait()
		took := time.Duration(clock.Now() - began)
		var running time.Duration
		for _, times := range all {
			running += times.Running
			if times.Stops < turns || times.Blocked != 0 {
				t.Errorf("%+v, want %d stops or more, and nothing blocked", times, turns)
			}
		}
		if running > took {
			t.Fatalf("%v running in %v on one processor", running, took)
		}
		good := running > took/2
		for _, times := range all {
			good = good && times.Runnable > (running-times.Running)/2
		}
		if good {
			return
		}
		if try == 20 {
			t.Fatalf("%+v in %v, want each runnable while others run, in the last of 20 tries", all, took)
		}
	}
}

// A loop is preempted without its doing: for the garbage collector, which scans its stack, and for
// others.
func TestWatchPreempted(t *testing.T) {
	for name, disturb := range map[string]func(){
		"collector": runtime.GC,
		"others":    func() { runtime.Gosched(); burn(time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "others" {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			}
			var rounds atomic.Int32
			go func() {
				for range 3 {
					disturb()
					rounds.Add(1)
				}
			}()
			times := watch(t, func() {
				burnUntil(func() bool { return rounds.Load() == 3 })
			})
			if times.Stops == 0 || times.Blocked != 0 {
				t.Errorf("%+v, want stops, and nothing blocked", times)
			}
		})
	}
}

func TestWatchNests(t *testing.T) {
	var inner sched.Times
	outer := watch(t, func() {
		time.Sleep(time.Millisecond)
		inner = watch(t, func() { time.Sleep(time.Millisecond); runtime.Gosched() })
	})
	if outer.Running < inner.Running || outer.Runnable < inner.Runnable || outer.Blocked < inner.Blocked || outer.Stops <= inner.Stops {
		t.Errorf("outer %+v, inner %+v: must be more", outer, inner)
	}
}

// burnUntil never calls into the runtime, so that only signals preempt it.
func burnUntil(done func() bool) {
	for !done() {
		burned++
	}
}

var burned int

// nobodyWatched waits until goroutines that are through have ended.
func nobodyWatched(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); sched.Watching() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are still watched", sched.Watching())
		}
	}
}

// A watch that another goroutine ends has no times, and the others of its goroutine go on.
func TestWatchEndElsewhere(t *testing.T) {
	watches, ended, done := make(chan *sched.Watch), make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		times := watch(t, func() {
			var w sched.Watch
			w.Begin()
			watches <- &w
			<-ended
			time.Sleep(time.Millisecond)
		})
		if times.Stops == 0 || times.Blocked == 0 {
			t.Errorf("%+v, want the sleep", times)
		}
	}()
	w := <-watches
	if times, ok := w.End(); ok || times != (sched.Times{}) {
		t.Errorf("End() = %+v, %t, want nothing", times, ok)
	}
	close(ended)
	<-done
	nobodyWatched(t)
}

// Records of goroutines are used again. A goroutine has no watches of the one before, and late ends
// of those are not taken for ends of its own.
func TestWatchReuse(t *testing.T) {
	for range 200 {
		var abandoned sched.Watch
		ended := make(chan bool)
		go func() {
			defer close(ended)
			abandoned.Begin()
			runtime.Gosched()
		}()
		<-ended
		nobodyWatched(t)
		done := make(chan bool)
		go func() {
			defer close(done)
			times := watch(t, func() {
				if _, ok := abandoned.End(); ok {
					t.Error("times of another goroutine")
				}
				time.Sleep(10 * time.Microsecond)
			})
			if times.Blocked == 0 || times.Stops == 0 {
				t.Errorf("%+v, want the sleep", times)
			}
		}()
		<-done
	}
	nobodyWatched(t)
}

func TestWatchTooOften(t *testing.T) {
	const most = 1<<16 - 1
	watches := make([]sched.Watch, most+1)
	for i := range watches {
		watches[i].Begin()
	}
	for i := range watches {
		if _, ok := watches[i].End(); ok != (i < most) {
			t.Fatalf("watch %d: ok = %t", i, ok)
		}
	}
	nobodyWatched(t)
}

func TestWatchManyGoroutines(t *testing.T) {
	const goroutines = 10_000
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range goroutines {
		wg.Go(func() {
			times := watch(t, func() {
				watch(t, func() { time.Sleep(time.Duration(i%10) * time.Millisecond) })
				watch(t, func() { mu.Lock(); defer mu.Unlock() })
				runtime.Gosched()
			})
			if times.Stops == 0 {
				t.Errorf("%+v, want stops", times)
			}
		})
	}
	wg.Wait()
	nobodyWatched(t)
}

// Watches and experiments do not disturb each other, nor the garbage collector, nor stops of the
// world.
func TestWatchHammer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	handed := make(chan *sched.Watch, 10)
	for i := range 12 {
		wg.Go(func() {
			for ctx.Err() == nil {
				watch(t, func() {
					switch i % 3 {
					case 0:
						region(func() { burn(20 * time.Microsecond) })
					case 1:
						w := new(sched.Watch)
						w.Begin()
						select {
						case handed <- w:
						default:
							w.End()
						}
						deep(20)
					case 2:
						select {
						case w := <-handed:
							w.End()
						case <-time.After(100 * time.Microsecond):
						}
					}
					sched.Point()
				})
			}
		})
	}
	disturb(ctx, 5*time.Millisecond, 3)
	wg.Wait()
	nobodyWatched(t) // watches that were handed over have ended with their goroutines
}

func TestWatchAllocs(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		var w sched.Watch
		w.Begin()
		w.End()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkWatch(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var w sched.Watch
		w.Begin()
		w.End()
	}
}
