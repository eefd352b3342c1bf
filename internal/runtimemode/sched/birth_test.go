//go:build otelprof_runtime

package sched_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// A newborn is what a goroutine finds when it begins.
type newborn struct{ late, spent, debt time.Duration }

// bear starts a goroutine, and returns by how much later it began, and its books.
func bear() newborn {
	c := make(chan newborn, 1)
	began := clock.Now()
	go func() {
		n := newborn{late: time.Duration(clock.Now() - began), debt: debt()}
		_, n.spent = sched.Books()
		c <- n
	}()
	return <-c
}

// A new goroutine has the debt of its parent, and pays it before it runs.
func TestBirthOfDebt(t *testing.T) {
	// With a P to spare the child is not held up by what the parent has left on its own.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for range 50 { // a goroutine that has to queue for a processor pays, and has nothing to leave
		begin(t, 0.5)
		var inside, over atomic.Bool
		go func() {
			region(func() { inside.Store(true); time.Sleep(3 * time.Millisecond) })
			over.Store(true)
		}()
		clock.Spin(clock.Now(), time.Second, func() bool { return !inside.Load() })
		clock.Spin(clock.Now(), time.Second, func() bool { return !over.Load() })
		owed := debt()
		child := bear()
		sched.Stop()
		// Time in a queue counts, so it begins late in any case.
		if child.late+child.debt < owed-small {
			t.Fatalf("began %v late and owes %v, want %v together, which the parent owed", child.late, child.debt, owed)
		}
		if owed > time.Millisecond {
			return
		}
	}
	t.Error("the parent owed nothing in 50 tries")
}

// A goroutine started by one that owes nothing owes nothing for the time before.
func TestBirthOfCredit(t *testing.T) {
	var child newborn
	for range 50 { // another goroutine's debt may be on the processor
		begin(t, 0.5)
		region(func() { burn(3 * time.Millisecond) })
		owed := max(0, debt())
		child = bear()
		sched.Stop()
		if child.spent <= owed+small && child.debt <= owed+small {
			return
		}
	}
	t.Errorf("delayed by %v, and owes %v, in the last of 50 tries", child.spent, child.debt)
}
