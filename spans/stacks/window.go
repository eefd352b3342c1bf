package stacks

import (
	"runtime"
	"slices"
	"time"
	"unsafe"
)

// A window is what was sampled in some seconds.
type window struct {
	begin, end    time.Time
	trees         map[int]*Tree // by the region's number, 0 for no region
	samples, lost int64
	cpu           time.Duration // of the process in the window, 0 if it is not known
	atBegin       time.Duration // of the process before it
}

func newWindow() *window {
	w := &window{begin: time.Now(), trees: map[int]*Tree{}}
	w.atBegin, _ = processTime()
	return w
}

// until returns the window with the time up to now.
func (w *window) until(now time.Time) *window {
	out := *w
	out.end = now
	if cpu, ok := processTime(); ok {
		out.cpu = cpu - w.atBegin
	}
	return &out
}

// scale gives each sample the processor time for which it stands, of that which is the window's.
// Its period would do if none were lost: to timers that are late, to threads too short-lived to
// have one.
func (w *window) scale(hz int, cpu time.Duration) func(Weight) Weight {
	nanos := 1e9 / float64(hz)
	if cpu > 0 && w.samples > 0 {
		nanos = float64(cpu) / float64(w.samples)
	}
	return func(of Weight) Weight { return Weight{of.Samples, int64(float64(of.Samples) * nanos)} }
}

// shares returns the processor time that the samples of each window stand for: that of a window
// without any goes to the next one that has some, or else to the last.
func shares(windows []*window) []time.Duration {
	shares, last, idle := make([]time.Duration, len(windows)), -1, time.Duration(0)
	for i, w := range windows {
		idle += w.cpu
		if w.samples > 0 {
			shares[i], last, idle = idle, i, 0
		}
	}
	if last >= 0 {
		shares[last] += idle
	}
	return shares
}

// sampler turns what the runtime wrote into trees. The profiler's lock is held for all methods.
type sampler struct {
	hz      int
	labels  *labels
	find    func(session int64) *session
	table   *table
	frames  map[uintptr]FrameID
	stack   []FrameID
	callers [1]uintptr

	current   *window
	listeners []*collector
}

// maxPCs bounds the cache of program counters, at some 50 bytes each.
const maxPCs = 1 << 16

func newSampler(hz int, h *hook) *sampler {
	return &sampler{hz: hz, labels: &h.labels, find: h.sessions.numbered, table: &table{}, frames: map[uintptr]FrameID{}}
}

// take reads records of at least three words: their length, the time, a count, and a stack. The
// first record of a profile has the rate in place of the count, and no stack. A count of zero
// says how many samples were lost.
func (s *sampler) take(data []uint64, tags []unsafe.Pointer, first bool) {
	for len(data) >= 3 && len(tags) > 0 && data[0] >= 3 && data[0] <= uint64(len(data)) {
		record, tag := data[:data[0]], tags[0]
		data, tags = data[data[0]:], tags[1:]
		switch count, stack := record[2], record[3:]; {
		case first:
			first = false
		case count == 0 && len(stack) == 1:
			s.current.lost += int64(stack[0])
			for _, l := range s.listeners {
				l.lost += int64(stack[0])
			}
		default:
			s.add(stack, tag, int64(count))
		}
	}
}

func (s *sampler) add(stack []uint64, tag unsafe.Pointer, count int64) {
	w := Weight{count, count * int64(time.Second) / int64(s.hz)}
	ids := s.resolve(stack)
	region, inSession := s.labels.find(tag)
	s.current.samples += count
	tree := s.current.trees[region]
	if tree == nil {
		tree = newTree(s.table)
		s.current.trees[region] = tree
	}
	tree.AddInterned(ids, w)
	for _, l := range s.listeners {
		l.tree(tag, region, s).AddInterned(ids, w)
	}
	if inSession == 0 {
		return
	}
	if in := s.find(inSession); in != nil {
		if in.tree == nil {
			in.tree = newTree(s.table)
		}
		in.tree.AddInterned(ids, w)
	}
}

// resolve returns the frames of a stack. The counters in it are those of returns, also of calls
// that were inlined, and the first one is as if it were: see tracebackPCs of package runtime.
func (s *sampler) resolve(stack []uint64) []FrameID {
	if len(s.frames) > maxPCs {
		clear(s.frames)
	}
	s.stack = s.stack[:0]
	for _, pc := range stack {
		id, ok := s.frames[uintptr(pc)]
		if !ok {
			s.callers[0] = uintptr(pc)
			f, _ := runtime.CallersFrames(s.callers[:]).Next()
			if id = -1; f.Function != "runtime.goexit" { // where every goroutine begins means nothing
				id = s.table.id(NewFrame(f.Function, f.File, f.Line))
			}
			s.frames[uintptr(pc)] = id
		}
		if id >= 0 {
			s.stack = append(s.stack, id)
		}
	}
	return s.stack
}

// A collector gathers samples by the labels that they have, the application's included.
type collector struct {
	trees map[unsafe.Pointer]*Tree
	lost  int64 // samples
}

// maxTags bounds the trees of a collector, at some kilobytes each: with [WithSpanLabels] each span
// has labels of its own. Further ones are one for each region.
const maxTags = 1 << 14

func (c *collector) tree(tag unsafe.Pointer, region int, s *sampler) *Tree {
	tree := c.trees[tag]
	if tree == nil && len(c.trees) >= maxTags {
		tag = s.labels.alone(region)
		tree = c.trees[tag]
	}
	if tree == nil {
		tree = newTree(s.table)
		c.trees[tag] = tree
	}
	return tree
}

func (s *sampler) listen() *collector {
	c := &collector{trees: map[unsafe.Pointer]*Tree{}}
	s.listeners = append(s.listeners, c)
	return c
}

// unlisten ends the collection, and lets go of what others still change.
func (s *sampler) unlisten(c *collector) {
	frozen := &table{frames: slices.Clip(s.table.frames)}
	for _, t := range c.trees {
		t.table = frozen
	}
	s.listeners = slices.DeleteFunc(s.listeners, func(l *collector) bool { return l == c })
}
