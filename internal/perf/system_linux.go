package perf

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a trial ends with when no call has failed.
var (
	errKnown        = errors.New("the kernel knows flags that do not exist")
	errNotCounted   = errors.New("the counter stayed at zero")
	errNotPublished = errors.New("the kernel does not publish the counter")
	errNotFaster    = errors.New("RDPMC is no faster than read() here")
	errNoSample     = errors.New("no sample came")
)

// readKernel fills in all that is not the Go runtime's.
func (s *System) readKernel() {
	s.Files = ReadFiles(os.DirFS("/"))
	if s.OpenFiles != nil {
		*s.OpenFiles = max(0, *s.OpenFiles-1) // the folder itself was open while it was listed
	}
	s.MaxFiles, s.MaxLockedBytes = limit(unix.RLIMIT_NOFILE), limit(unix.RLIMIT_MEMLOCK)
	// Counters are a thread's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.try()
}

func limit(resource int) uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(resource, &l) != nil {
		return 0
	}
	return l.Cur
}

func (t *Trials) try() {
	t.Usage = ThreadUsage(new(Usage))
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if t.Timer = err; err == nil {
		_ = unix.Close(timer)
	}
	t.Call = tryCall()
	t.Clock = tryClock()
	if t.Counter, t.Page = tryCounter(); t.Counter == nil {
		t.General, t.Fixed = countCounters()
	}
	t.Samples = trySamples()
}

// tryCall passes flags that do not exist. The kernel checks them before all else and answers
// EINVAL; any other error is a filter's, or means that there is no such call.
func tryCall() error {
	_, _, errno := unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, 0, 0, ^uintptr(0), ^uintptr(0), ^uintptr(0), 0)
	switch errno {
	case 0:
		return errKnown
	case unix.EINVAL:
		return nil
	}
	return errno
}

func tryClock() error {
	e := Event{Type: TypeSoftware, Config: unix.PERF_COUNT_SW_TASK_CLOCK}
	file, errno := openEvent(e, unix.PerfBitDisabled, -1)
	if errno != 0 {
		return explain(errno, 0, e)
	}
	return unix.Close(file)
}

// tryCounter counts instructions for a moment.
func tryCounter() (counter, page error) {
	g, err := Open([]Event{{Type: TypeHardware, Config: unix.PERF_COUNT_HW_INSTRUCTIONS}})
	if err != nil {
		return err, err
	}
	defer g.Close() //nolint:errcheck // It was a trial.
	var v Values
	if err := g.Read(&v); err != nil {
		return err, err
	}
	if v.Counts[0] == 0 {
		return errNotCounted, errNotCounted
	}
	return nil, tryPage(g)
}

// tryPage returns why a group is not read in user space, if it is not.
func tryPage(g *Group) error {
	if g.UserSpace() {
		return nil
	}
	size := uintptr(unix.Getpagesize())
	m, err := unix.MmapPtr(g.files[0], 0, nil, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	defer unix.MunmapPtr(m, size) //nolint:errcheck // It was mapped.
	const canRead = 1 << 2        // cap_user_rdpmc
	page := (*unix.PerfEventMmapPage)(m)
	if atomic.LoadUint64(&page.Capabilities)&canRead == 0 || atomic.LoadUint32(&page.Index) == 0 {
		return errNotPublished
	}
	return errNotFaster
}

// trySamples takes 1000 samples of CPU time a second, as they are taken of a program, until one has
// come.
func trySamples() error {
	s, err := OpenSampler(time.Millisecond)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // It was a trial.
	// Samples are of time on a CPU, so this spins. A busy machine may give the CPU to others in the
	// meantime.
	came := false
	for start := time.Now(); !came && time.Since(start) < 100*time.Millisecond; {
		s.Read(func(*Sample) { came = true })
	}
	if !came {
		return errNoSample
	}
	return nil
}

// countCounters counts how many counters fit into one group that the kernel also schedules: those
// for any event, then how many instructions, cycles and reference cycles fit on top, which have
// counters of their own on some CPUs.
func countCounters() (general, fixed int) {
	common := []uint64{
		unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS, unix.PERF_COUNT_HW_BRANCH_MISSES, unix.PERF_COUNT_HW_CACHE_MISSES,
	}
	if runtime.GOARCH == "arm64" {
		// Branches and caches are optional there, and instructions have no counter of their own
		// before Armv9.4.
		common = append(common, unix.PERF_COUNT_HW_INSTRUCTIONS)
	}
	for _, event := range common {
		group := grow(nil, event, maxTried)
		if general = len(group); general == 0 {
			continue // unknown here
		}
		for _, event := range []uint64{
			unix.PERF_COUNT_HW_INSTRUCTIONS, unix.PERF_COUNT_HW_CPU_CYCLES, unix.PERF_COUNT_HW_REF_CPU_CYCLES,
		} {
			group = grow(group, event, 1)
		}
		return general, len(group) - general
	}
	return 0, 0
}

// maxTried is more general counters than any CPU has.
const maxTried = 64

// grow adds the event up to n times, as long as the group fits.
func grow(group []uint64, event uint64, n int) []uint64 {
	for range n {
		more := append(slices.Clip(group), event)
		if !fits(more) {
			break
		}
		group = more
	}
	return group
}

// fits reports whether the hardware events count at the same time.
func fits(group []uint64) bool {
	leader, bits := -1, unix.PerfBitDisabled|unix.PerfBitPinned
	for _, event := range group {
		file, errno := openEvent(Event{Type: TypeHardware, Config: event}, bits, leader)
		if errno != 0 {
			return false
		}
		defer unix.Close(file) //nolint:errcheck // It was a trial.
		if leader < 0 {
			leader, bits = file, 0
		}
	}
	if unix.IoctlSetInt(leader, unix.PERF_EVENT_IOC_ENABLE, 0) != nil {
		return false
	}
	// The number of counters, two times, the counters; or the end of file from a group that the PMU
	// has no room for.
	var values [3 + maxTried + 3]uint64
	n, err := unix.Read(leader, unsafe.Slice((*byte)(unsafe.Pointer(&values)), unsafe.Sizeof(values)))
	return err == nil && n > 0
}
