package replay

import "strings"

// outsiders reports whether a goroutine only happened to be the one on which another goroutine's wait ended: for a timer, the
// network or the garbage collector, none of which waits for the program.
func (b *builder) outsiders(g int32, e *event) bool {
	f := &b.g[g]
	switch f.reason {
	case waitTimer:
		return true
	case waitNetwork: // the scheduler polls on any goroutine; only a deadline or a close is the program's doing
		return !b.has(e.site, pollWaker)
	}
	return b.has(f.site, ofRuntime) || b.has(e.site, ofRuntime)
}

// The frames that b.has looks for.
const (
	pollWaker = iota // a wait for the network is cut short
	ofRuntime        // a goroutine of the runtime waits, or one that the garbage collector holds up
	frameClasses
)

// has reports whether a site has frames of a class.
func (b *builder) has(site int32, class int) bool {
	for len(b.classes) < len(b.p.rec.sites) {
		b.classes = append(b.classes, classify(b.p.rec.sites[len(b.classes)]))
	}
	return b.classes[site][class]
}

func classify(s Site) (is [frameClasses]bool) {
	for i, f := range s.Frames {
		switch {
		case strings.HasPrefix(f.Func, "internal/poll."):
			is[pollWaker] = true
		case strings.HasPrefix(f.Func, "runtime.gc"), strings.HasPrefix(f.Func, "runtime.mallocgc"), strings.HasPrefix(f.Func, "runtime.stopTheWorld"),
			strings.HasPrefix(f.Func, "runtime.asyncPreempt"), strings.HasPrefix(f.Func, "runtime.traceAdvance"):
			is[ofRuntime] = true
		case i == len(s.Frames)-1 && strings.HasPrefix(f.Func, "runtime.") && f.Func != "runtime.main":
			is[ofRuntime] = true
		}
	}
	return is
}
