package perf

import (
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel sets the index in an event's page to 0 whenever it takes the event off its
// counter: when the thread is descheduled, when others get the counters, and when the thread
// ends. So a page with an index is valid for the thread that it belongs to, and where
// there is none read() finds out why.

// UserSpace reports whether Read takes no system call.
func (g *Group) UserSpace() bool { return g.user }

// mapPages maps the page of each event, or none. This must come before the group's first
// read(): the kernel's memory of a counter is negative when it has just been programmed, but
// the bare bits when it has been read, and when pages are mapped only then their offsets are
// off by 2^width, until the kernel programs the counter again.
func (g *Group) mapPages() {
	for i, file := range g.files {
		address, err := unix.MmapPtr(file, 0, nil, uintptr(unix.Getpagesize()), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil { // for one, EPERM above perf_event_mlock_kb and RLIMIT_MEMLOCK
			g.unmapPages()
			return
		}
		g.pages[i] = (*userPage)(address)
	}
}

func (g *Group) unmapPages() {
	for i, page := range g.pages {
		if page != nil {
			_ = unix.MunmapPtr(unsafe.Pointer(page), uintptr(unix.Getpagesize())) // it was mapped, so it cannot fail
			g.pages[i] = nil
		}
	}
}

// ReadUser reads all counters without a system call. It returns false if read() is needed, and
// always where [Group.UserSpace] is false.
func (g *Group) ReadUser(v *Values) bool {
	n := len(g.files)
	if n == 0 || g.pages[0] == nil {
		return false
	}
	if readPages(&g.pages, n, &g.samples) < n {
		return false
	}
	for i, s := range g.samples[:n] {
		v.Counts[i] = s.value()
	}
	v.Enabled, v.Running, v.Exact = g.enabled, g.running, false
	return true
}

// userPays reports whether the group can be read in user space, with the same results as by
// read(), and whether that is the faster way on this machine. If not, the pages go.
func (g *Group) userPays() bool {
	kernel, user, ok := g.compare(1)
	if ok {
		calibration.Do(func() {
			kernel, user, ok = g.compare(64)
			calibration.pays = ok && user < kernel
		})
	}
	if !ok || !calibration.pays {
		g.unmapPages()
		return false
	}
	return true
}

// calibration is done once per process. Some hypervisors stop the CPU at each RDPMC, for
// about a microsecond.
var calibration struct {
	sync.Once
	pays bool
}

// compare reads both ways in turn and returns the best times, for interrupts only add to
// them. It returns false if user space has not read, or has read something else.
func (g *Group) compare(rounds int) (kernel, user time.Duration, ok bool) {
	if g.pages[0] == nil {
		return 0, 0, false
	}
	kernel, user = time.Hour, time.Hour
	var before, between, after Values
	for range rounds {
		start := time.Now()
		err := g.ReadKernel(&before)
		kernel = min(kernel, time.Since(start))
		start = time.Now()
		read := g.ReadUser(&between)
		user = min(user, time.Since(start))
		if err != nil || !read || g.ReadKernel(&after) != nil {
			return 0, 0, false
		}
		for i := range g.files {
			if between.Counts[i] < before.Counts[i] || between.Counts[i] > after.Counts[i] {
				return 0, 0, false
			}
		}
	}
	return kernel, user, true
}
