package spans_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// TestSelfTimeInFakeTime runs small programs in which sleeping is the work.
func TestSelfTimeInFakeTime(t *testing.T) {
	type work func(ctx context.Context, tr trace.Tracer)
	child := func(ctx context.Context, tr trace.Tracer, d time.Duration, below ...work) {
		ctx, s := tr.Start(ctx, "child")
		defer s.End()
		time.Sleep(d)
		for _, w := range below {
			w(ctx, tr)
		}
	}
	for _, c := range []struct {
		name        string
		work        work
		total, self time.Duration // of the parent
	}{
		{"no child", func(context.Context, trace.Tracer) { time.Sleep(5 * ms) }, 5 * ms, 5 * ms},
		{"sequential children", func(ctx context.Context, tr trace.Tracer) {
			child(ctx, tr, 10*ms)
			time.Sleep(3 * ms)
			child(ctx, tr, 20*ms)
			time.Sleep(4 * ms)
		}, 37 * ms, 7 * ms},
		{"a grandchild counts once", func(ctx context.Context, tr trace.Tracer) {
			child(ctx, tr, 10*ms, func(ctx context.Context, tr trace.Tracer) { child(ctx, tr, 10*ms) })
			time.Sleep(ms)
		}, 21 * ms, ms},
		{"parallel children overlap", func(ctx context.Context, tr trace.Tracer) {
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 5 * ms)
					child(ctx, tr, 10*ms) // 0-10, 5-15, 10-20, 15-25
				})
			}
			time.Sleep(30 * ms)
			wg.Wait()
		}, 30 * ms, 5 * ms},
		{"a child outlives its parent", func(ctx context.Context, tr trace.Tracer) {
			time.Sleep(2 * ms)
			go child(ctx, tr, 50*ms)
			time.Sleep(8 * ms)
		}, 10 * ms, 2 * ms},
		{"a child begins after its parent", func(ctx context.Context, tr trace.Tracer) {
			go func() {
				time.Sleep(20 * ms)
				child(ctx, tr, 50*ms)
			}()
			time.Sleep(8 * ms)
		}, 8 * ms, 8 * ms},
		{"waits", func(ctx context.Context, tr trace.Tracer) {
			r := spans.SpanFromContext(ctx)
			r.BeginWait()
			time.Sleep(10 * ms)
			r.BeginWait() // they nest
			time.Sleep(10 * ms)
			r.EndWait()
			r.EndWait()
			time.Sleep(3 * ms)
			r.BeginWait() // and overlap with children
			go func() { time.Sleep(5 * ms); r.EndWait() }()
			child(ctx, tr, 20*ms)
		}, 43 * ms, 3 * ms},
		{"a new root is no child", func(ctx context.Context, tr trace.Tracer) {
			_, s := tr.Start(ctx, "child", trace.WithNewRoot())
			time.Sleep(9 * ms)
			s.End()
		}, 9 * ms, 9 * ms},
	} {
		for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
			t.Run(c.name+"/"+sampler.Description(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sdk, _ := newRecorded(sdktrace.WithSampler(sampler))
					tp := wrap(t, sdk)
					ctx, s := tp.Tracer("").Start(context.Background(), "parent")
					region := spans.SpanFromContext(ctx)
					c.work(ctx, tp.Tracer(""))
					if got := region.SelfTime(); got != c.self {
						t.Errorf("SelfTime() before the end = %v, want %v", got, c.self)
					}
					s.End()
					time.Sleep(time.Hour) // late children end
					if r := regionOf(t, tp, "parent"); r.Total != c.total || r.Self != c.self {
						t.Errorf("total %v, self %v; want %v, %v", r.Total, r.Self, c.total, c.self)
					}
					stored(t, tp)
					for _, rec := range tp.Store().Sessions(spans.Query{Name: "parent"}) {
						if s := spanOf(t, rec, "parent"); s.Duration != c.total || s.SelfTime != c.self {
							t.Errorf("in the record %v and %v self, want %v, %v", s.Duration, s.SelfTime, c.total, c.self)
						}
					}
				})
			})
		}
	}
}

func TestSelfTimeWithTimestampsOutsideTheParent(t *testing.T) {
	for _, c := range []struct {
		from, to, self time.Duration // of the child; of the parent from 0 to 10 ms
	}{
		{2 * ms, 5 * ms, 7 * ms},
		{-5 * ms, 5 * ms, 0}, // what was covered before the start counts too, down to 0
		{-5 * ms, 20 * ms, 0},
		{5 * ms, 2 * ms, 10 * ms}, // ends before it starts
		{-100 * ms, -90 * ms, 0},
	} {
		tp := wrapSDK(t)
		ctx, parent := tp.Tracer("").Start(context.Background(), "parent", at(0))
		_, child := tp.Tracer("").Start(ctx, "child", at(c.from))
		child.End(at(c.to))
		parent.End(at(10 * ms))
		if r := regionOf(t, tp, "parent"); r.Total != 10*ms || r.Self != c.self {
			t.Errorf("child from %v to %v: total %v, self %v; want 10ms, %v", c.from, c.to, r.Total, r.Self, c.self)
		}
		if r := regionOf(t, tp, "child"); r.Total != max(0, c.to-c.from) {
			t.Errorf("child from %v to %v: total %v", c.from, c.to, r.Total)
		}
	}
}

// Children of whom one ends before the next is made are each taken off, though their timestamps
// overlap: to know better, a span would keep the times of all its children.
func TestSelfTimeWithTimestampsThatOverlap(t *testing.T) {
	tp := wrapSDK(t)
	ctx, parent := tp.Tracer("").Start(context.Background(), "parent", at(0))
	for _, from := range []time.Duration{2 * ms, 4 * ms} {
		_, child := tp.Tracer("").Start(ctx, "child", at(from))
		child.End(at(from + 4*ms))
	}
	parent.End(at(10 * ms))
	if r := regionOf(t, tp, "parent"); r.Total != 10*ms || r.Self != 2*ms {
		t.Errorf("total %v, self %v; want 10ms, 2ms", r.Total, r.Self)
	}
}

func TestTimestampsFarFromNow(t *testing.T) {
	for _, year := range []int{1970, 1990, 2024, 2090} {
		from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
			sdk, _ := newRecorded(sdktrace.WithSampler(sampler))
			tp := wrap(t, sdk)
			ctx, parent := tp.Tracer("").Start(context.Background(), "parent", trace.WithTimestamp(from))
			_, late := tp.Tracer("").Start(ctx, "late", trace.WithTimestamp(from.Add(6*ms)))
			parent.End(trace.WithTimestamp(from.Add(10 * ms)))
			late.End(trace.WithTimestamp(from.Add(time.Hour)))
			if r := regionOf(t, tp, "parent"); r.Total != 10*ms || r.Self != 6*ms {
				t.Errorf("%d, %s: total %v, self %v; want 10ms, 6ms", year, sampler.Description(), r.Total, r.Self)
			}
			rec := storedOne(t, tp)
			if s := spanOf(t, rec, "late"); !s.Late || s.Duration != time.Hour-6*ms || rec.Duration != 10*ms || !rec.Start.Equal(from) {
				t.Errorf("%d, %s: record from %v, %v long, late span %+v", year, sampler.Description(), rec.Start, rec.Duration, s)
			}
		}
	}
}

// TestSelfTimeIsTheUnionOfRandomChildren sleeps random children on many goroutines in fake
// time and compares with the union that is found by looking at each millisecond.
func TestSelfTimeIsTheUnionOfRandomChildren(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			tp := wrapSDK(t)
			tr := tp.Tracer("")
			length := rnd.IntN(200)
			covered := make([]bool, length)
			ctx, parent := tr.Start(context.Background(), "parent")
			var wg sync.WaitGroup
			for range rnd.IntN(30) {
				from := rnd.IntN(250)
				to := from + rnd.IntN(60)
				for i := from; i < min(to, length); i++ {
					covered[i] = true
				}
				wg.Go(func() {
					time.Sleep(time.Duration(from) * ms)
					_, s := tr.Start(ctx, "child")
					time.Sleep(time.Duration(to-from) * ms)
					s.End()
				})
			}
			time.Sleep(time.Duration(length) * ms)
			parent.End()
			self := length
			for _, c := range covered {
				if c {
					self--
				}
			}
			wg.Wait()
			if r := regionOf(t, tp, "parent"); r.Total != time.Duration(length)*ms || r.Self != time.Duration(self)*ms {
				t.Errorf("seed %d: total %v, self %v; want %d ms, %d ms", seed, r.Total, r.Self, length, self)
			}
		})
	}
}

// TestSelfTimeStaysInRange throws any timestamps in any order at it, from many goroutines.
func TestSelfTimeStaysInRange(t *testing.T) {
	for seed := range uint64(30) {
		tp := wrapSDK(t)
		tr := tp.Tracer("")
		ctx, parent := tr.Start(context.Background(), "parent", at(0))
		region := spans.SpanFromContext(ctx)
		var wg sync.WaitGroup
		for g := range uint64(6) {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, g))
				random := func() trace.SpanEventOption { return at(time.Duration(rnd.IntN(2000)-500) * ms) }
				for range 30 {
					_, s := tr.Start(ctx, "child", random())
					if got, most := region.SelfTime(), time.Since(begin); got < 0 || got > most {
						t.Errorf("SelfTime() = %v while open, want in [0, %v]", got, most)
					}
					s.End(random())
					if g == 0 && rnd.IntN(30) == 0 {
						parent.End(at(time.Second))
					}
				}
			})
		}
		wg.Wait()
		parent.End(at(time.Second))
		for _, s := range storedOne(t, tp).Spans {
			if s.SelfTime < 0 || s.SelfTime > s.Duration {
				t.Errorf("span %s: self time %v, want in [0, %v]", s.Name, s.SelfTime, s.Duration)
			}
		}
		for _, r := range tp.Regions() {
			if r.Self < 0 || r.Self > r.Total {
				t.Errorf("region %s: self time %v, want in [0, %v]", r.Name, r.Self, r.Total)
			}
		}
	}
}

func TestSelfTimesAddUpToTheRootOfASequentialTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(7, 7))
		tp := wrapSDK(t)
		tr := tp.Tracer("")
		var grow func(ctx context.Context, depth int)
		grow = func(ctx context.Context, depth int) {
			ctx, s := tr.Start(ctx, fmt.Sprint("depth ", depth))
			defer s.End()
			for range rnd.IntN(4) {
				time.Sleep(time.Duration(rnd.IntN(10)) * ms)
				if depth < 5 {
					grow(ctx, depth+1)
				}
			}
		}
		for range 20 {
			grow(context.Background(), 0)
		}
		var self time.Duration
		for _, r := range tp.Regions() {
			self += r.Self
		}
		if root := regionOf(t, tp, "depth 0"); root.Total != self || self == 0 {
			t.Errorf("self times add up to %v, want the roots' %v", self, root.Total)
		}
		if i := slices.IndexFunc(tp.Regions(), func(r spans.RegionStats) bool { return r.Self > r.Total }); i >= 0 {
			t.Errorf("region %v has more self time than time", tp.Regions()[i])
		}
	})
}
