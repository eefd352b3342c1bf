package perf

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, other := Thread(), make(chan int)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		other <- Thread()
	}()
	if got := <-other; got == own || own != Thread() {
		t.Errorf("threads %d, %d, %d: want the first two different, the last as the first", own, got, Thread())
	}
	if !Alive(own) || !Alive(os.Getpid()) || Alive(1<<30) {
		t.Errorf("Alive(%d), Alive(%d), Alive(%d) = %t, %t, %t, want true, true, false",
			own, os.Getpid(), 1<<30, Alive(own), Alive(os.Getpid()), Alive(1<<30))
	}
}

func TestThreadUsage(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after Usage
	if err := ThreadUsage(&before); err != nil {
		t.Fatal(err)
	}
	touchPages(t, 100)
	for range 3 {
		time.Sleep(time.Millisecond)
	}
	if err := ThreadUsage(&after); err != nil {
		t.Fatal(err)
	}
	if n := after.MinorFaults - before.MinorFaults; n < 100 {
		t.Errorf("%d minor faults, want at least 100", n)
	}
	if n := after.VoluntarySwitches - before.VoluntarySwitches; n < 1 {
		t.Errorf("%d voluntary switches in three sleeps, want some", n)
	}
	if d := after.CPU - before.CPU; d <= 0 || d > 10*time.Second {
		t.Errorf("CPU time %v", d)
	}
	if after.User < before.User || after.System < before.System || after.MajorFaults < before.MajorFaults ||
		after.InvoluntarySwitches < before.InvoluntarySwitches {
		t.Errorf("usage has gone down from %+v to %+v", before, after)
	}
}

func TestThreadUsageAllocs(t *testing.T) {
	var u Usage
	if n := testing.AllocsPerRun(100, func() { _ = ThreadUsage(&u) }); n != 0 {
		t.Errorf("ThreadUsage allocates %v times, want 0", n)
	}
}

func TestFileLimit(t *testing.T) {
	if n := FileLimit(); n < 16 {
		t.Errorf("FileLimit() = %d", n)
	}
}

func BenchmarkThread(b *testing.B) {
	for b.Loop() {
		Thread()
	}
}

func BenchmarkThreadUsage(b *testing.B) {
	var u Usage
	b.ReportAllocs()
	for b.Loop() {
		if err := ThreadUsage(&u); err != nil {
			b.Fatal(err)
		}
	}
}
