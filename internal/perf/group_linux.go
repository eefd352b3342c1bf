package perf

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Group counts events on one OS thread: all of them or none, on the same instructions.
//
// It belongs to the thread that opened it, and only that thread may call Read: the caller
// must have locked its goroutine to the thread. No two methods may run at the same time.
type Group struct {
	files []int // the leader first

	// What follows is for reading in user space; see user_linux.go.
	pages   [MaxEvents]*userPage
	samples [MaxEvents]sample
	user    bool

	enabled, running uint64 // as of the last read()
	buffer           groupBuffer
}

// groupBuffer is what read() fills in with PERF_FORMAT_GROUP and both times.
type groupBuffer struct {
	n, enabled, running uint64
	counts              [MaxEvents]uint64
}

// Open begins to count events on the calling OS thread and on none of its children. It
// opens all of them, in [1, MaxEvents], or none. Each takes a file descriptor, which is
// closed on exec, and, where counters can be read in user space, a page of locked memory.
// The errors are of type [*Error], or [ErrNotScheduled].
//
// It takes about 100 µs, and the first call of the process twice that, to find out which way
// of reading is the faster one.
func Open(events []Event) (*Group, error) { return open(events, unix.PerfBitPinned) }

// open opens a group whose leader has the given bits of struct perf_event_attr. Open's is
// pinned: it has its counters whenever the thread runs, and is given up where it cannot.
func open(events []Event, bits uint64) (*Group, error) {
	if len(events) == 0 || len(events) > MaxEvents {
		return nil, &Error{Kind: ErrGroupTooLarge, Event: -1, Cause: fmt.Sprintf("%d events: must be in [1, %d]", len(events), MaxEvents)}
	}
	g := &Group{files: make([]int, 0, len(events))}
	leader, bits := -1, bits|unix.PerfBitDisabled
	for i, e := range events {
		file, errno := openEvent(e, bits, leader)
		if errno != 0 {
			_ = g.Close()
			return nil, explain(errno, i, e)
		}
		g.files = append(g.files, file)
		leader, bits = g.files[0], 0
	}
	g.mapPages()
	if err := g.begin(); err != nil {
		_ = g.Close()
		return nil, err
	}
	g.user = g.userPays()
	return g, nil
}

// begin makes all events count from the same moment on. Whether they could get counters
// shows when they are read.
func (g *Group) begin() error {
	if err := unix.IoctlSetInt(g.files[0], unix.PERF_EVENT_IOC_ENABLE, unix.PERF_IOC_FLAG_GROUP); err != nil {
		return err
	}
	return g.ReadKernel(new(Values))
}

// openEvent opens one event, on arm64 with the most of userAccess that the PMU grants.
func openEvent(e Event, bits uint64, leader int) (int, unix.Errno) {
	bits |= unix.PerfBitExcludeHv
	if !e.Kernel {
		bits |= unix.PerfBitExcludeKernel
	}
	attr := unix.PerfEventAttr{
		Type: e.Type, Config: e.Config, Ext1: e.Config1, Ext2: e.Config2,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits:        bits,
		Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	const thisThread, anyCPU = 0, ^uintptr(0)
	call := func() (int, unix.Errno) {
		file, _, errno := unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), thisThread, anyCPU,
			uintptr(leader), unix.PERF_FLAG_FD_CLOEXEC, 0)
		return int(file), errno
	}
	if (e.Type == TypeHardware || e.Type == TypeCache || e.Type == TypeRaw) && e.Config1 == 0 {
		for _, attr.Ext1 = range userAccess {
			if file, errno := call(); errno != unix.EINVAL && errno != unix.EOPNOTSUPP {
				return file, errno
			}
		}
		attr.Ext1 = 0
	}
	return call()
}

// Read fills v with what was counted since the group was opened, and allocates nothing.
// In user space it takes some ten nanoseconds an event; where [Group.UserSpace] is false, a
// system call, 0.5 to 1 µs.
func (g *Group) Read(v *Values) error {
	if g.user && g.ReadUser(v) {
		return nil
	}
	return g.ReadKernel(v)
}

// ReadKernel is Read by a system call, even if [Group.UserSpace] is true.
func (g *Group) ReadKernel(v *Values) error {
	if len(g.files) == 0 {
		return ErrClosed
	}
	size := unsafe.Offsetof(g.buffer.counts) + uintptr(len(g.files))*unsafe.Sizeof(g.buffer.counts[0])
	// Raw, because it does not wait: the counters are those of this CPU.
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(g.files[0]), uintptr(unsafe.Pointer(&g.buffer)), size)
	switch {
	case errno != 0:
		return errno
	case n == 0: // the end of file stands for the error state of a pinned group
		return ErrNotScheduled
	case n != size || g.buffer.n != uint64(len(g.files)):
		return fmt.Errorf("%w: read %d bytes, %d counters: must be %d, %d", ErrInvalid, n, g.buffer.n, size, len(g.files))
	case g.buffer.enabled == g.enabled: // the time stands still, but this thread runs
		return ErrExited
	}
	g.enabled, g.running = g.buffer.enabled, g.buffer.running
	*v = Values{Counts: g.buffer.counts, Enabled: g.enabled, Running: g.running, Exact: true}
	return nil
}

// Close stops counting. A closed group answers [ErrClosed].
func (g *Group) Close() (err error) {
	g.user = false
	g.unmapPages()
	for _, file := range g.files {
		if e := unix.Close(file); err == nil {
			err = e
		}
	}
	g.files = nil
	return err
}
