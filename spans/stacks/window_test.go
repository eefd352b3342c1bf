package stacks

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// With labels of spans there are as many sets of labels as spans: a recording keeps a bounded
// number of trees, and all samples.
func TestCollectorIsBounded(t *testing.T) {
	h := newHook(false, true)
	s := newSampler(100, h)
	s.current = newWindow()
	c := s.listen()
	l := h.add(spans.Region{Name: "op"})
	const n = maxTags + 1000
	for i := range uint64(n) {
		var id trace.SpanID
		binary.BigEndian.PutUint64(id[:], i+1)
		tag := l.inSpan(trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: id}), nil)
		s.add([]uint64{uint64(here())}, tag, 1)
	}
	s.add([]uint64{uint64(here())}, nil, 1)
	s.unlisten(c)
	if got, most := len(c.trees), maxTags+2; got > most {
		t.Errorf("%d trees, want at most %d", got, most)
	}
	var all, region int64
	for tag, tree := range c.trees {
		all += tree.Total().Samples
		if number, _ := h.labels.find(tag); number == l.id {
			region += tree.Total().Samples
		}
	}
	if all != n+1 || region != n {
		t.Errorf("%d samples, %d in the region, want %d and %d", all, region, n+1, n)
	}
}

// A tree of a few frames is merged at the cost of these, not of all that its table has.
func TestMergeOfASmallTree(t *testing.T) {
	table := &table{}
	for i := range 100_000 {
		table.id(NewFrame(fmt.Sprint("f", i), "", 0))
	}
	tree := newTree(table)
	tree.AddInterned([]FrameID{99_999}, weight(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		NewTree().Merge(tree)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 100*uint64(len(table.frames)) {
		t.Errorf("100 merges allocate %d bytes", got)
	}
}

// The processor time of a window without samples is in the others.
func TestWindowsWithoutSamples(t *testing.T) {
	p := &Profiler{config: config{hz: 100}, hook: newHook(false, false)}
	windows := func(cpuAndSamples ...int64) (all []*window) {
		for i := 0; i < len(cpuAndSamples); i += 2 {
			w := newWindow()
			w.cpu, w.samples = time.Duration(cpuAndSamples[i]), cpuAndSamples[i+1]
			if w.samples > 0 {
				tree := NewTree()
				tree.Add(nil, Weight{Samples: w.samples})
				w.trees[0] = tree
			}
			all = append(all, w)
		}
		return all
	}
	got := map[string]int64{}
	for name, all := range map[string][]*window{
		"before and after": windows(7, 0, 3, 0, 100, 1, 200, 2, 5, 0),
		"none":             windows(7, 0),
		"not known":        windows(0, 0, 0, 2),
	} {
		got[name] = p.record(all).Process().Total().Nanos
	}
	if diff := cmp.Diff(map[string]int64{"before and after": 315, "none": 0, "not known": 20_000_000}, got); diff != "" {
		t.Errorf("time of all samples (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]time.Duration{0, 0, 110, 205, 0}, shares(windows(7, 0, 3, 0, 100, 1, 200, 2, 5, 0))); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}
