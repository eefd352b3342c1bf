package perf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
)

func mustSample(t testing.TB, period time.Duration) *Sampler {
	t.Helper()
	s, err := OpenSampler(period)
	if errors.Is(err, ErrPermission) || errors.Is(err, ErrNotSupported) {
		testutil.Lacks(t, "SAMPLES", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// burn uses so much CPU time of the calling thread, which the caller has locked.
func burn(d time.Duration) {
	var u Usage
	_ = ThreadUsage(&u)
	for begin := u.CPU; u.CPU-begin < d; _ = ThreadUsage(&u) {
		perftest.Spin(100_000)
	}
}

func TestSamplesAreOfThisThread(t *testing.T) {
	s := mustSample(t, time.Millisecond)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := now(t)
	burn(100 * time.Millisecond)
	mine, elsewhere := 0, 0
	s.Read(func(sample *Sample) {
		if sample.Thread != Thread() {
			return
		}
		mine++
		if end := now(t); sample.Time < begin || sample.Time > end { // it goes on while it is read
			t.Errorf("sample at %d: must be in [%d, %d]", sample.Time, begin, end)
		}
		if len(sample.Stack) == 0 {
			t.Error("a sample without stack")
		} else if !slices.ContainsFunc(sample.Stack, ofFunction) {
			t.Logf("sample at %#x: is of no function", sample.Stack)
			elsewhere++
		}
	})
	// Signal handlers return by the vDSO on arm64, without a frame.
	if elsewhere > mine/20 {
		t.Errorf("%d of %d samples are of no function, want next to none", elsewhere, mine)
	}
	if mine < 90 || mine > 110 {
		t.Errorf("%d samples of 100 ms of CPU time, want 100", mine)
	}
	if c := s.Counts(); c.Lost != 0 || c.Malformed != 0 {
		t.Errorf("counts %+v, want none lost or malformed", c)
	}
}

func ofFunction(pc uint64) bool { return runtime.FuncForPC(uintptr(pc)) != nil }

func now(t *testing.T) uint64 {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		t.Fatal(err)
	}
	return uint64(at.Nano())
}

// TestFullRingIsCounted takes many more samples than a ring has room for, and reads none. A machine
// that is busy with others takes fewer samples than one for each period, so it may take some time.
func TestFullRingIsCounted(t *testing.T) {
	const period = 50 * time.Microsecond
	s := mustSample(t, period)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	read, burned := uint64(0), time.Duration(0)
	for c := s.Counts(); c.Lost == 0 && burned < 6*time.Second; c = s.Counts() {
		burn(600 * time.Millisecond)
		s.Read(func(*Sample) { read++ })
		// Lost samples are reported when the next sample finds room.
		burn(10 * time.Millisecond)
		s.Read(func(*Sample) { read++ })
		burned += 610 * time.Millisecond
	}
	c := s.Counts()
	t.Logf("%+v in %v", c, burned)
	if c.Samples != read || c.Lost == 0 || c.Malformed != 0 {
		t.Errorf("counts %+v: want %d samples, some lost, none malformed", c, read)
	}
	// The process has other threads too, and an emulated one takes long for an interrupt.
	if total, most := c.Samples+c.Lost, uint64(2*burned/period); total > most {
		t.Errorf("%d samples and %d lost, want %d at most, twice those of %v", c.Samples, c.Lost, most, burned)
	}
}

// TestChildProcessesAreNotSampled runs one that is busy.
func TestChildProcessesAreNotSampled(t *testing.T) {
	s := mustSample(t, time.Millisecond)
	inChild(t, "burn", nil)
	s.Read(func(sample *Sample) {
		if !Alive(sample.Thread) && sample.Thread <= 0 {
			t.Errorf("a sample of thread %d", sample.Thread)
		}
	})
	if c := s.Counts(); c.Samples > 250 {
		t.Errorf("counts %+v: the child's 300 ms must not be among them", c)
	}
}

func TestSamplerPeriod(t *testing.T) {
	for _, period := range []time.Duration{-1, 0, 49 * time.Microsecond, 2 * time.Second} {
		if s, err := OpenSampler(period); !errors.Is(err, ErrInvalid) {
			t.Errorf("OpenSampler(%v) = %v, %v: want ErrInvalid", period, s, err)
		}
	}
}

func init() {
	children["burn"] = func() error {
		runtime.LockOSThread()
		burn(300 * time.Millisecond)
		return nil
	}
	children["samples, locked memory"] = func() error {
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
			return err
		}
		var all []*Sampler
		for range 100 { // until perf_event_mlock_kb is used up
			s, err := OpenSampler(time.Millisecond)
			if err != nil {
				return refusal(err, ErrPermission, unix.EPERM, "locked memory")
			}
			all = append(all, s)
		}
		return fmt.Errorf("%d samplers are open: the limit of locked memory has not been met", len(all))
	}
}

func TestSamplerNeedsLockedMemory(t *testing.T) {
	if level := ReadFiles(os.DirFS("/")).Paranoid; level == nil || *level > 2 {
		testutil.Lacks(t, "PARANOID_2", "kernel.perf_event_paranoid is above 2")
	}
	mustSample(t, time.Millisecond)
	inChild(t, "samples, locked memory", func(child *exec.Cmd) { ordinary(t, child) })
}

func TestThreadsAreListed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ids, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, id := range ids {
		found = found || id == Thread()
	}
	if !found {
		t.Errorf("threads %v: must have this one, %d", ids, Thread())
	}
	if cpus := cpusOf(ids); len(cpus) < 1 || len(cpus) < min(runtime.NumCPU(), 1) {
		t.Errorf("CPUs %v: must be those that the process may run on", cpus)
	}
}
