//go:build amd64 || arm64

package perf

// hasAssembly reports whether readPages does anything.
const hasAssembly = true

// readPages reads a consistent sample from each of n pages, with the counter if it is
// readable. It returns how many it has read: it stops before a page that changes again and
// again while it is read, and at one without a counter, of which it fills in the rest.
//
// It must run on the thread to which the events belong: the counters of another thread are
// not in the registers of this one. The writer of a page is then the kernel on the same
// CPU, in an interrupt or a context switch, and never runs at the same time.
//
//go:noescape
func readPages(pages *[MaxEvents]*userPage, n int, samples *[MaxEvents]sample) int
