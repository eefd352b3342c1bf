package perf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
)

// These tests need a PMU. Tests of reading in user space are skipped where the
// kernel or the calibration is against it.

var (
	instructions = Event{Type: TypeHardware, Config: unix.PERF_COUNT_HW_INSTRUCTIONS}
	cycles       = Event{Type: TypeHardware, Config: unix.PERF_COUNT_HW_CPU_CYCLES}
)

func needsPMU(t testing.TB) {
	t.Helper()
	g, err := open([]Event{instructions}, 0)
	if err != nil {
		testutil.Lacks(t, "PMU", fmt.Sprintf("instructions cannot be counted: %v", err))
	}
	g.Close()
}

func needsUserSpace(t testing.TB, events ...Event) *Group {
	t.Helper()
	needsPMU(t)
	g := mustOpen(t, events...)
	if !g.UserSpace() {
		testutil.Lacks(t, "PMU", "counters are not read in user space here")
	}
	return g
}

// spinsCounted is how many instructions it counts for n more rounds of Spin. A signal makes
// that too many, so the least of many attempts counts.
func spinsCounted(t *testing.T, read func(*Values) error, n uint64) uint64 {
	t.Helper()
	count := func(n uint64) uint64 {
		least := uint64(math.MaxUint64)
		for range 25 {
			var before, after Values
			err1 := read(&before)
			perftest.Spin(n)
			err2 := read(&after)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			least = min(least, after.Counts[0]-before.Counts[0])
		}
		return least
	}
	return count(n+1) - count(1)
}

// userOnly reads in user space, if need be again and again.
func (g *Group) userOnly(v *Values) error {
	for range 1000 {
		if g.ReadUser(v) {
			return nil
		}
		if err := g.ReadKernel(v); err != nil {
			return err
		}
	}
	return errors.New("never read in user space")
}

func TestInstructionsOfLoop(t *testing.T) {
	if perftest.SpinInstructions == 0 {
		t.Skip("no loop of known length for this architecture")
	}
	g := needsUserSpace(t, instructions)
	const rounds = 1_000_000
	const want = rounds * perftest.SpinInstructions
	for name, read := range map[string]func(*Values) error{"read()": g.ReadKernel, "the register": g.userOnly} {
		got := spinsCounted(t, read, rounds)
		if off := math.Abs(float64(got)/want - 1); off > 0.001 {
			t.Errorf("%d instructions counted by %s, want %d to 0.1 %%", got, name, want)
		}
		t.Logf("%d instructions of %d by %s", got, want, name)
	}
}

// TestUserAgreesWithKernel brackets readings in user space by system calls.
func TestUserAgreesWithKernel(t *testing.T) {
	g := needsUserSpace(t, instructions, cycles)
	agreed := 0
	for range 1000 {
		var before, user, after Values
		if err := g.ReadKernel(&before); err != nil {
			t.Fatal(err)
		}
		if !g.ReadUser(&user) {
			continue
		}
		if err := g.ReadKernel(&after); err != nil {
			t.Fatal(err)
		}
		agreed++
		for i := range 2 {
			if user.Counts[i] < before.Counts[i] || user.Counts[i] > after.Counts[i] {
				t.Fatalf("count %d is %d between read()s of %d and %d", i, user.Counts[i], before.Counts[i], after.Counts[i])
			}
		}
	}
	if agreed < 500 {
		t.Errorf("%d of 1000 readings in user space", agreed)
	}
}

// TestMixedGroupUsesRead has an event in the group that is in no register: its index is 0.
func TestMixedGroupUsesRead(t *testing.T) {
	needsPMU(t)
	g := mustOpen(t, instructions, pageFaults)
	if g.UserSpace() {
		t.Error("UserSpace() = true with an event that the kernel counts")
	}
	before := mustRead(t, g)
	perftest.Spin(1000)
	if after := mustRead(t, g); !after.Exact || after.Counts[0] < before.Counts[0]+1000*perftest.SpinInstructions {
		t.Errorf("instructions from %d to %d in a loop of %d", before.Counts[0], after.Counts[0], 1000*perftest.SpinInstructions)
	}
}

// TestOverflow has the counter overflow every 500,000 instructions, as it else does
// once in 2^31 to 2^63.
func TestOverflow(t *testing.T) {
	needsPMU(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, access := range append([]uint64{0}, userAccess...) {
		attr := unix.PerfEventAttr{
			Type: instructions.Type, Config: instructions.Config, Ext1: access,
			Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 500_009,
			Bits:        unix.PerfBitPinned | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
			Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		}
		file, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			t.Logf("config1 = %d: %v", access, err)
			continue
		}
		g := &Group{files: []int{file}}
		defer g.Close()
		g.mapPages()
		g.user = g.userPays()
		first := mustRead(t, g)
		last, user := first, 0
		const reads, rounds = 1000, 50_000
		for range reads {
			perftest.Spin(rounds)
			v := mustRead(t, g)
			if d := v.Counts[0] - last.Counts[0]; d < rounds*perftest.SpinInstructions || d > 100*rounds*perftest.SpinInstructions {
				t.Fatalf("config1 = %d: %d instructions counted, want %d and a few, from %+v to %+v",
					access, d, rounds*perftest.SpinInstructions, last, v)
			}
			if last = v; !v.Exact {
				user++
			}
		}
		t.Logf("config1 = %d: %d of %d reads in user space, %d instructions, %d overflows",
			access, user, reads, last.Counts[0]-first.Counts[0], (last.Counts[0]-first.Counts[0])/attr.Sample)
	}
}

// TestLongCount passes 2^31 and 2^32, where counters of 32 bits overflow.
func TestLongCount(t *testing.T) {
	g := needsUserSpace(t, instructions)
	if testing.Short() || perftest.SpinInstructions == 0 || g.pages[0].width > 32 {
		t.Skip("takes seconds, a loop of known length, and a counter of 32 bits")
	}
	const rounds = 1<<31 + 1<<19
	const want = rounds * perftest.SpinInstructions
	var before, between, after Values
	err := g.ReadKernel(&before)
	perftest.Spin(rounds)
	if err := errors.Join(err, g.userOnly(&between), g.ReadKernel(&after)); err != nil {
		t.Fatal(err)
	}
	user, kernel := between.Counts[0]-before.Counts[0], after.Counts[0]-before.Counts[0]
	t.Logf("%d instructions of %d by the register, %d by read()", user, want, kernel)
	if user < want || kernel < user || kernel > want+want/100 { // signals come all the time
		t.Errorf("%d instructions counted by the register, then %d by read(), want %d to 1 %%", user, kernel, want)
	}
}

// TestNotScheduled opens pinned groups until the PMU has no counter left.
func TestNotScheduled(t *testing.T) {
	needsPMU(t)
	mustOpen(t, instructions)
	for n := 1; n < 40; n++ {
		g, err := Open([]Event{instructions, instructions})
		if errors.Is(err, ErrNotScheduled) {
			t.Logf("group %d of two has found no counters", n)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
	}
	t.Error("40 groups of two were opened, and none was refused")
}

// TestCountersAreLost has others take the counters of a group that is read in user space.
func TestCountersAreLost(t *testing.T) {
	needsPMU(t)
	if os.Getuid() != 0 {
		t.Skip("only root may count all that a CPU does")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err := onFirstCPU(); err != nil {
			t.Error(err)
			return
		}
		g, err := Open([]Event{instructions, cycles})
		if err != nil {
			t.Error(err)
			return
		}
		defer g.Close()
		for range 20 { // more than there are; what is pinned to a CPU goes before what is to a thread
			attr := unix.PerfEventAttr{
				Type: instructions.Type, Config: instructions.Config,
				Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitPinned,
			}
			file, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if err != nil {
				t.Error(err)
				return
			}
			defer unix.Close(file)
		}
		var last Values
		for range 1000 {
			var v Values
			if err := g.Read(&v); errors.Is(err, ErrNotScheduled) {
				return
			}
			if v.Counts[0] < last.Counts[0] || v.Counts[1] < last.Counts[1] || v.Counts[0]-last.Counts[0] > 1_000_000 {
				t.Errorf("%+v follows %+v", v, last)
				return
			}
			last = v
			time.Sleep(100 * time.Microsecond)
		}
		t.Error("the group has kept its counters")
	}()
	<-done
}

// onFirstCPU keeps the calling thread there; it must end with its goroutine.
func onFirstCPU() error {
	var first unix.CPUSet
	first.Set(0)
	return unix.SchedSetaffinity(0, &first)
}

// TestMultiplexing has groups that are not pinned take turns, which shows in their times.
func TestMultiplexing(t *testing.T) {
	needsPMU(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var groups []*Group
	for range 20 {
		g, err := open([]Event{instructions, instructions}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		groups = append(groups, g)
	}
	for start := time.Now(); time.Since(start) < 10*time.Second; perftest.Spin(1_000_000) {
		lagging := 0
		for _, g := range groups {
			if v := mustRead(t, g); v.Running < v.Enabled {
				lagging++
			}
		}
		if lagging > 0 {
			t.Logf("%d of %d groups have had to share", lagging, len(groups))
			return
		}
	}
	t.Error("20 groups of two, and all had their counters all the time")
}

// TestContendedReads has two threads on one CPU read while they throw each other off it.
func TestContendedReads(t *testing.T) {
	needsPMU(t)
	const each = 150_000
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			runtime.LockOSThread()
			if err := onFirstCPU(); err != nil {
				t.Error(err)
				return
			}
			g, err := Open([]Event{instructions, cycles})
			if err != nil {
				t.Error(err)
				return
			}
			defer g.Close()
			var last Values
			user := 0
			for i := range each {
				if i%10 == 0 {
					yield()
				}
				var v Values
				if err := g.Read(&v); err != nil {
					t.Errorf("Read: %v", err)
					return
				}
				if v.Counts[0] <= last.Counts[0] || v.Counts[1] < last.Counts[1] || v.Enabled < last.Enabled || v.Running != v.Enabled {
					t.Errorf("%+v follows %+v", v, last)
					return
				}
				if last = v; !v.Exact {
					user++
				}
			}
			t.Logf("%d of %d reads in user space", user, each)
		})
	}
	both.Wait()
}

// yield lets the other thread run.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

func TestEndedThreadWithPMU(t *testing.T) {
	needsPMU(t)
	g, last := endedGroup(t, instructions, cycles)
	for i := range 3 {
		var v Values
		if err := g.Read(&v); err == nil && (i > 0 || v.Enabled <= last.Enabled) {
			t.Errorf("Read %d = %+v, want an error", i, v)
		}
	}
}

// TestInstructionsOfRead counts what reading itself takes, the kernel's part included.
func TestInstructionsOfRead(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("events=%d", n), func(t *testing.T) {
			counted := instructions
			counted.Kernel = true
			events := []Event{counted}
			for len(events) < n {
				events = append(events, counted)
			}
			g := needsUserSpace(t, events...)
			cost := func(read func(*Values) error) uint64 {
				least := uint64(math.MaxUint64)
				for range 100 {
					var v Values
					before, after := Values{}, Values{}
					err := errors.Join(g.userOnly(&before), read(&v), read(&v), read(&v), read(&v), g.ReadKernel(&after))
					if err != nil {
						t.Fatal(err)
					}
					least = min(least, after.Counts[0]-before.Counts[0])
				}
				return least
			}
			nothing := cost(func(*Values) error { return nil })
			user := (cost(func(v *Values) error { g.ReadUser(v); return nil }) - nothing) / 4
			kernel := (cost(g.ReadKernel) - nothing) / 4
			t.Logf("%d events: %d instructions in user space, %d by read(): %.0f times", n, user, kernel, float64(kernel)/float64(user))
			if user*8 > kernel { // in time it is more: a system call also stops the pipeline
				t.Errorf("%d instructions in user space, %d by read(): want at most an eighth", user, kernel)
			}
		})
	}
}

func TestUserReadAllocs(t *testing.T) {
	g := needsUserSpace(t, instructions, cycles)
	var v Values
	if n := testing.AllocsPerRun(1000, func() { g.ReadUser(&v) }); n != 0 {
		t.Errorf("ReadUser allocates %v times, want 0", n)
	}
}

func BenchmarkUserRead(b *testing.B) {
	g := needsUserSpace(b, instructions, cycles)
	var v Values
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Read(&v); err != nil {
			b.Fatal(err)
		}
	}
}
