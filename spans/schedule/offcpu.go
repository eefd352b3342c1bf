package schedule

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/pprofbuild"
	"github.com/otelprof/otelprof/spans/stacks"
)

// maxWaits bounds the different waits of a profile: beyond it, those of one region and reason are
// one, without stack and link.
const maxWaits = 1 << 16

// OffCPU reads an execution trace as [Analyze] does, and returns where the goroutines of regions
// waited, as a profile of the type off_cpu in nanoseconds: each time that a goroutine was blocked,
// or ready without a processor, with its stack, and the label wait for what it waited. It counts
// for the region that was opened last on the goroutine, and has the link of its span, if that is
// sampled. So the sum over a region is the Runnable and Blocked time of its Self, less what it did
// for the garbage collector.
//
// The times are exact. Regions that are still open are in it, with their waits up to the end of the
// trace; regions that began before it are not.
func OffCPU(ctx context.Context, r io.Reader) (*profile.Profile, error) {
	a := newAnalysis()
	a.waits = &waitTimes{spent: map[wait]time.Duration{}, folded: map[regionKey]*region{}}
	if err := a.read(ctx, r); err != nil {
		return nil, err
	}
	return a.offCPU(), nil
}

// A wait is what is counted together. Its region is one span.
type wait struct {
	region *region
	stack  trace.Stack
	class  class
}

// waitTimes are the wait times of all goroutines.
type waitTimes struct {
	spent  map[wait]time.Duration
	folded map[regionKey]*region
}

// turn is called when a goroutine comes to be of another class, on which it has been since g.since.
func (w *waitTimes) turn(g *goroutine, at trace.Time, stack trace.Stack, next class) {
	w.count(g, at)
	switch {
	case next == running || next == unknown:
		g.waiting = wait{}
	case g.waiting.region == nil:
		g.waiting = wait{g.innermost(), stack, next}
	default: // it waits for something else at the same place, mostly for a processor
		g.waiting.class = next
	}
	g.counted = at
}

// count adds what a goroutine has waited up to now.
func (w *waitTimes) count(g *goroutine, at trace.Time) {
	d := time.Duration(at - g.counted)
	g.counted = at
	if g.waiting.region == nil || d <= 0 {
		return
	}
	k := g.waiting
	if _, known := w.spent[k]; !known && len(w.spent) >= maxWaits {
		k = wait{region: w.fold(k.region.key), class: k.class}
	}
	w.spent[k] += d
}

// fold returns a region that stands for all of one name.
func (w *waitTimes) fold(key regionKey) *region {
	r := w.folded[key]
	if r == nil {
		if len(w.folded) >= maxNames {
			key = regionKey{name: "other"}
			if r := w.folded[key]; r != nil {
				return r
			}
		}
		r = &region{key: key}
		w.folded[key] = r
	}
	return r
}

// closed is called when a region has been taken off its goroutine, which may wait: that is another
// region's from now on.
func (w *waitTimes) closed(r *region, at trace.Time) {
	if g := r.goroutine; g.waiting.region == r {
		w.count(g, at)
		g.waiting.region = g.innermost()
	}
}

// innermost is the region that was opened last, nil if none is open.
func (g *goroutine) innermost() *region {
	if len(g.open) == 0 {
		return nil
	}
	return g.open[len(g.open)-1]
}

// offCPU makes the profile.
func (a *analysis) offCPU() *profile.Profile {
	for _, g := range a.goroutines {
		a.waits.count(g, a.last)
	}
	b := pprofbuild.NewBuilder(&profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "off_cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "context_switch", Unit: "count"},
		Period:        1, // none is left out
		DurationNanos: int64(a.last - a.first),
	})
	if !a.wall.IsZero() {
		b.Profile.TimeNanos = a.wall.Add(time.Duration(a.first - a.atWall)).UnixNano()
	}
	for w, d := range a.waits.spent {
		if w.region.lost {
			continue
		}
		s := &profile.Sample{Value: []int64{int64(d)}, Label: w.labels()}
		for f := range w.stack.Frames() {
			frame := stacks.NewFrame(f.Func, f.File, int(f.Line))
			s.Location = append(s.Location, b.Location(pprofbuild.Frame(frame)))
		}
		b.Profile.Sample = append(b.Profile.Sample, s)
	}
	return b.Profile
}

func (w wait) labels() map[string][]string {
	out := map[string][]string{naming.WaitLabel: {"runnable"}}
	if w.class >= firstReason {
		out[naming.WaitLabel][0] = string(reasons[w.class-firstReason])
	}
	r := w.region
	for label, text := range map[string]string{naming.NameLabel: r.key.name, naming.ScopeLabel: r.key.scope} {
		if text != "" {
			out[label] = []string{text}
		}
	}
	if r.traceID != [16]byte{} {
		out[naming.TraceIDLabel] = []string{hex.EncodeToString(r.traceID[:])}
		out[naming.SpanIDLabel] = []string{fmt.Sprintf("%016x", r.spanID)}
	}
	return out
}
