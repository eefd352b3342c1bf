package perf

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Sampler takes samples of all threads of this process, later ones included. One goroutine at a
// time may call its methods.
type Sampler struct {
	kernel     bool
	unfollowed int
	files      []int
	mapped     []mappedRing
	parser     recordParser
}

// mappedRing is a ring and the memory that it is in.
type mappedRing struct {
	ring
	cpu    int
	file   int // whose events go into it
	memory []byte
}

const (
	// ringPages is what one CPU has for its records: 256 KiB, a second of samples with stacks of 20
	// frames. With the page before it, it is within half of what kernel.perf_event_mlock_kb grants
	// by default.
	ringPages = 64
	// minRingPages still holds 30 of the deepest stacks.
	minRingPages = 8
	// inheritThread is perf_event_attr.inherit_thread, of Linux 5.13: child processes are not
	// followed.
	inheritThread = 1 << 35
	openTries     = 4
)

// OpenSampler takes one sample for each period of CPU time that a thread has used, in [50 µs, 1 s].
// Time in the kernel counts where the kernel allows it, see [Sampler.Kernel]; user mode alone works
// for any user at perf_event_paranoid <= 2. The errors are of type [*Error].
//
// It takes a file for each thread and CPU, at most half of what the process may have open, and 260
// KiB of locked memory for each CPU that a thread may run on, less where that much is not to be
// had. All of it together takes about 10 µs a file.
func OpenSampler(period time.Duration) (*Sampler, error) {
	if period < 50*time.Microsecond || period > time.Second {
		return nil, &Error{Kind: ErrInvalid, Event: -1, Cause: fmt.Sprintf("period %v: must be in [50µs, 1s]", period)}
	}
	s, err := openSampler(period, true)
	if errors.Is(err, ErrPermission) {
		s, err = openSampler(period, false)
	}
	return s, err
}

// openSampler opens events of all threads, and begins anew if threads have started meanwhile:
// whether those have inherited their events, is not known. The last try keeps what it has.
func openSampler(period time.Duration, kernel bool) (*Sampler, error) {
	for try := 1; ; try++ {
		s := &Sampler{kernel: kernel, parser: recordParser{process: unix.Getpid()}}
		missed, err := s.open(period)
		switch {
		case err != nil:
			_ = s.Close() // err has more
			return nil, err
		case missed > 0 && try < openTries:
			_ = s.Close() // it was a try
		default:
			s.unfollowed = missed
			if err := s.enable(); err != nil {
				_ = s.Close() // err has more
				return nil, err
			}
			return s, nil
		}
	}
}

// open opens an event for each thread and CPU, and returns how many threads have started in the
// meantime.
//
// An inherited event can only be mapped if it is bound to a CPU: its children would write into one
// ring from several at the same time. So each thread has one for each CPU, and all of the same CPU
// share a ring.
func (s *Sampler) open(period time.Duration) (missed int, err error) {
	before, err := threads()
	if err != nil {
		return 0, err
	}
	cpus := cpusOf(before)
	if limit := FileLimit(); len(before)*len(cpus) > limit/2 {
		return 0, tooManyFiles(len(before), len(cpus), limit)
	}
	attr := samplerAttr(period, s.kernel)
	for _, cpu := range cpus {
		for _, thread := range before {
			if err := s.follow(attr, thread, cpu); err != nil {
				return 0, err
			}
		}
	}
	after, err := threads()
	if err != nil {
		return 0, err
	}
	for _, thread := range after {
		if !slices.Contains(before, thread) {
			missed++
		}
	}
	return missed, nil
}

func samplerAttr(period time.Duration, kernel bool) *unix.PerfEventAttr {
	attr := &unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample: uint64(period),
		Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN |
			unix.PERF_SAMPLE_STACK_USER,
		Sample_stack_user: stackBytes,
		Bits: unix.PerfBitDisabled | unix.PerfBitInherit | inheritThread | unix.PerfBitExcludeHv |
			unix.PerfBitExcludeCallchainKernel | unix.PerfBitUseClockID,
		Clockid: unix.CLOCK_MONOTONIC,
	}
	if !kernel {
		attr.Bits |= unix.PerfBitExcludeKernel
	}
	return attr
}

// follow opens the event of one thread on one CPU. A thread that has ended and a CPU that is
// offline have none.
func (s *Sampler) follow(attr *unix.PerfEventAttr, thread, cpu int) error {
	file, errno := openSamples(attr, thread, cpu)
	if errno == unix.EINVAL && attr.Bits&inheritThread != 0 {
		attr.Bits &^= inheritThread // older kernels; what children do is known from their process
		file, errno = openSamples(attr, thread, cpu)
	}
	switch errno {
	case 0:
	case unix.ESRCH, unix.ENODEV:
		return nil
	default:
		return explain(errno, 0, Event{Type: attr.Type, Config: attr.Config, Kernel: s.kernel})
	}
	s.files = append(s.files, file)
	if n := len(s.mapped); n > 0 && s.mapped[n-1].cpu == cpu {
		if err := unix.IoctlSetInt(file, unix.PERF_EVENT_IOC_SET_OUTPUT, s.mapped[n-1].file); err != nil {
			return fmt.Errorf("share the ring of CPU %d with thread %d: %w", cpu, thread, err)
		}
		return nil
	}
	return s.mapRing(file, cpu)
}

// openSamples is raw, so that the scheduler does not start a thread meanwhile.
func openSamples(attr *unix.PerfEventAttr, thread, cpu int) (int, unix.Errno) {
	file, _, errno := unix.RawSyscall6(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(attr)), uintptr(thread), uintptr(cpu),
		^uintptr(0), unix.PERF_FLAG_FD_CLOEXEC, 0)
	return int(file), errno
}

// mapRing makes the ring of a CPU, as large as the limits of locked memory allow.
func (s *Sampler) mapRing(file, cpu int) error {
	page := unix.Getpagesize()
	for pages := ringPages; ; pages /= 2 {
		// Written by us as well, or the kernel would not care what has been read.
		memory, err := unix.Mmap(file, 0, (1+pages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if errors.Is(err, unix.EPERM) && pages > minRingPages {
			continue
		}
		if err != nil {
			return lockedMemory(err, cpu, (1+pages)*page)
		}
		control := (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0]))
		s.mapped = append(s.mapped, mappedRing{
			cpu: cpu, file: file, memory: memory,
			ring: ring{head: &control.Data_head, tail: &control.Data_tail, data: memory[page:]},
		})
		return nil
	}
}

func lockedMemory(err error, cpu, size int) error {
	errno, ok := errors.AsType[unix.Errno](err)
	if !ok || errno != unix.EPERM {
		return fmt.Errorf("map the ring of CPU %d: %w", cpu, err)
	}
	return &Error{
		Kind: ErrPermission, Errno: errno, Code: unix.ErrnoName(errno), Event: -1,
		Cause:  fmt.Sprintf("the ring of CPU %d takes %d KiB of locked memory: must be within the limit", cpu, size>>10),
		Remedy: "raise sysctl kernel.perf_event_mlock_kb or ulimit -l, or grant the capability IPC_LOCK",
	}
}

// enable lets all events count, including events that threads have inherited since they were
// opened.
func (s *Sampler) enable() error {
	for _, file := range s.files {
		if err := unix.IoctlSetInt(file, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return fmt.Errorf("enable samples: %w", err)
		}
	}
	return nil
}

// Kernel reports whether samples are taken in the kernel too.
func (s *Sampler) Kernel() bool { return s.kernel }

// Unfollowed is the number of threads that started while the sampler was opened, each of which may
// have no samples.
func (s *Sampler) Unfollowed() int { return s.unfollowed }

// Counts are what was read so far.
func (s *Sampler) Counts() SampleCounts { return s.parser.counts }

// Read calls each for every sample since the last call, in the order of time for each CPU. It must
// be called often enough: at 1000 samples a second a ring is full after a second of the usual
// stacks, and after 0.2 s of the deepest.
func (s *Sampler) Read(each func(*Sample)) {
	take := func(record []byte) { s.parser.parse(record, each) }
	for i := range s.mapped {
		if !s.mapped[i].drain(take) {
			s.parser.counts.Malformed++
		}
	}
}

// Close ends the samples. What has not been read is gone.
func (s *Sampler) Close() error {
	var errs []error
	for _, r := range s.mapped {
		errs = append(errs, unix.Munmap(r.memory))
	}
	for _, file := range s.files {
		errs = append(errs, unix.Close(file))
	}
	s.mapped, s.files = nil, nil
	return errors.Join(errs...)
}
