package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A cachedService has clients of a value that is loaded now and then.
type cachedService struct {
	clients   int
	use, load float64 // how long these take on average, ns
	even      bool    // uses take all the same time
	// stale reports whether a client's n-th request has to load, at a time, when the value was
	// loaded last.
	stale func(s *cachedState, client, n int, at int64) bool
}

// A cachedState is what the service has in common.
type cachedState struct {
	loaded  int64 // when the last load was over
	loading bool  // one is under way
	uses    int   // since the last load
	random  *rand.Rand
}

// record runs the service, and returns the recording and the time between visits.
func (c cachedService) record(t *testing.T) (*trace.Recording, float64) {
	t.Helper()
	const end = 10_000 * ms
	b := trace.NewRecorder(0, c.clients+1)
	for _, f := range []string{"main.use", "main.load"} {
		b.R.Sites = append(b.R.Sites, trace.Site{Frames: []trace.Frame{{Func: "time.Sleep"}, {Func: f}}})
	}
	var events []trace.Event
	note := func(at int64, g int, e trace.Event) {
		e.At, e.G, e.By = at, b.Goroutine(int64(g)), trace.NoWaker
		events = append(events, e)
	}
	// sleeps adds a span that takes d.
	sleeps := func(at, d int64, g int, name string, site int32) {
		ref := int32(len(b.R.Spans))
		b.R.Spans = append(b.R.Spans, trace.Span{Region: b.RegionOf(trace.Region{Name: name}), Parent: -1})
		note(at, g, trace.Event{Kind: trace.EvOpen, Ref: ref})
		note(at+500, g, trace.Event{Kind: trace.EvWait, Site: site, Arg: trace.WaitTimer})
		note(at+500+d, g, trace.Event{Kind: trace.EvReady})
		note(at+1000+d, g, trace.Event{Kind: trace.EvStart, Arg: int32(g)})
		note(at+1500+d, g, trace.Event{Kind: trace.EvClose, Ref: ref})
	}
	s := cachedState{random: rand.New(rand.NewPCG(1, 2)), loaded: -1 << 40}
	type client struct {
		next, loads int64
		n           int
	}
	all := make([]client, c.clients)
	for g := range all {
		b.Running(0, int64(g))
		all[g].next = int64(1000 * (g + 1))
	}
	about := func(d float64) int64 { return int64(d * (0.5 + s.random.Float64())) }
	var visits []int64
	for {
		g := 0
		for k := range all {
			if all[k].next < all[g].next {
				g = k
			}
		}
		x := &all[g]
		at := x.next
		if at >= end {
			break
		}
		if x.loads > 0 { // it has loaded: others see that from now on
			x.loads = 0
			s.loaded, s.loading = at, false
		} else if x.n++; c.stale(&s, g, x.n, at) {
			d := about(c.load)
			sleeps(at, d, g, "load", 2)
			s.loading, s.uses, x.loads, x.next = true, 0, d, at+d+2000
			continue
		}
		s.uses++
		d := about(c.use)
		if c.even {
			d = int64(c.use)
		}
		sleeps(at, d, g, "use", 1)
		at += d + 2000
		note(at, g, trace.Event{Kind: trace.EvVisit, Ref: b.PointOf("done")})
		visits = append(visits, at)
		x.next = at + 500
	}
	return served(t, b, events, visits, end)
}

// served is the recording of what a service did until end, in any order, and how long its visits
// were apart.
func served(t testing.TB, b *trace.Recorder, events []trace.Event, visits []int64, end int64) (*trace.Recording, float64) {
	t.Helper()
	slices.SortStableFunc(events, func(a, b trace.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range events {
		if e.At < end {
			b.Add(e)
		}
	}
	slices.Sort(visits)
	n, _ := slices.BinarySearch(visits, end)
	return recorded(t, b, end), doubt.Period(visits[:n], end)
}

// cachedServices have values that are loaded by different rhythms.
var cachedServices = map[string]struct {
	cachedService
	want doubt.Rhythm
}{
	"time to live": {cachedService{clients: 6, use: 4 * ms, load: 6 * ms, stale: func(s *cachedState, _, _ int, at int64) bool {
		return !s.loading && at >= s.loaded+10*ms
	}}, doubt.PerTime},
	"long time to live": {cachedService{clients: 6, use: 4 * ms, load: 30 * ms, stale: func(s *cachedState, _, _ int, at int64) bool {
		return !s.loading && at >= s.loaded+60*ms
	}}, doubt.PerTime},
	"time to live, of whoever comes": {cachedService{clients: 6, use: 4 * ms, load: 6 * ms, stale: func(s *cachedState, _, _ int, at int64) bool {
		return at >= s.loaded+30*ms
	}}, doubt.PerTime},
	"rarely": {cachedService{clients: 2, use: 4 * ms, load: 40 * ms, stale: func(s *cachedState, _, _ int, at int64) bool {
		return !s.loading && at >= s.loaded+200*ms
	}}, doubt.Unclear},
	"by chance": {cachedService{clients: 6, use: 4 * ms, load: 6 * ms, stale: func(s *cachedState, _, _ int, _ int64) bool {
		return s.random.IntN(5) == 0
	}}, doubt.PerVisit},
	"each fifth": {cachedService{clients: 6, use: 4 * ms, load: 6 * ms, stale: func(_ *cachedState, client, n int, _ int64) bool {
		return n%5 == client%5
	}}, doubt.PerVisit},
	"one client, each fifth": {cachedService{clients: 1, use: 4 * ms, load: 6 * ms, stale: func(_ *cachedState, _, n int, _ int64) bool {
		return n%5 == 0
	}}, doubt.PerVisit},
	"one client, all the same": {cachedService{clients: 1, use: 4 * ms, load: 6 * ms, even: true, stale: func(_ *cachedState, _, n int, _ int64) bool {
		return n%5 == 0
	}}, doubt.Unclear},
	"one client, time to live": {cachedService{clients: 1, use: 4 * ms, load: 6 * ms, stale: func(s *cachedState, _, _ int, at int64) bool {
		return at >= s.loaded+30*ms
	}}, doubt.PerTime},
	"so many uses": {cachedService{clients: 6, use: 4 * ms, load: 6 * ms, stale: func(s *cachedState, _, _ int, _ int64) bool {
		return s.uses >= 20
	}}, doubt.PerVisit},
	"some clients": {cachedService{clients: 6, use: 4 * ms, load: 6 * ms, stale: func(s *cachedState, client, _ int, _ int64) bool {
		return client == 0 && s.random.IntN(3) == 0
	}}, doubt.PerVisit},
}

// TestRhythm distinguishes work per time from work per visit.
func TestRhythm(t *testing.T) {
	for name, tc := range cachedServices {
		t.Run(name, func(t *testing.T) {
			rec, _ := tc.record(t)
			p := infer.NewProgram(rec, true)
			all := doubt.FindOccasional(p)
			if len(all) != 1 || p.Rec.Regions[all[0].Region].Name != "load" {
				t.Fatalf("found %d kinds of occasional work, want the loads", len(all))
			}
			if got := all[0].Rhythm(p); got != tc.want {
				cross, own := all[0].Dependence()
				t.Errorf("rhythm %d, want %d; dependence %.1f of others, %.1f of the same", got, tc.want, cross, own)
			}
		})
	}
}

// TestPerTime holds what faster uses and loads bring against what they do.
func TestPerTime(t *testing.T) {
	for name, tc := range cachedServices {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec, before := tc.record(t)
			s, err := NewStudy(StudyConfig{Speedups: []float64{0.5, 0.75, -0.3}})
			if err != nil {
				t.Fatal(err)
			}
			for w := range rec.Windows(5) {
				if err := s.Add(t.Context(), w); err != nil {
					t.Fatal(err)
				}
			}
			answers := 0
			for _, a := range s.Result().Answers {
				if a.Metric != Throughput || a.Point != "done" {
					continue
				}
				faster := tc.cachedService
				switch a.Region.Name {
				case "use":
					faster.use *= 1 - a.Speedup
				case "load":
					faster.load *= 1 - a.Speedup
				}
				_, after := faster.record(t)
				want := 1 - after/before
				t.Logf("%s %.2f: %.1f (%.1f..%.1f), in truth %.1f, withheld %d", a.Region.Name, a.Speedup, 100*a.Reduction, 100*a.Lo, 100*a.Hi, 100*want, a.Withheld)
				if a.Withheld != WithheldNone {
					continue
				}
				answers++
				if want < a.Lo || want > a.Hi {
					t.Errorf("%s %.2f faster: %.1f points (%.1f..%.1f), but %.1f in truth", a.Region.Name, a.Speedup, 100*a.Reduction, 100*a.Lo, 100*a.Hi, 100*want)
				}
			}
			if answers == 0 {
				t.Error("no answers")
			}
		})
	}
}

// A root span of work that is spared is no visit of its own progress point.
func TestSparedWorkVisitsNothing(t *testing.T) {
	b := trace.NewRecorder(0, 2)
	b.Running(0, 1)
	n := uint64(0)
	span := func(at, d int64, name string) int64 {
		n++
		b.Open(at, 1, n, 0, trace.Region{Name: name})
		b.Close(at+d, 1, n)
		return at + d
	}
	at, loaded := int64(0), int64(0)
	for at < 19_000*ms {
		if at = span(at, 4*ms, "use"); at-loaded >= 30*ms {
			at = span(at, 6*ms, "load")
			loaded = at
		}
	}
	s, err := NewStudy(StudyConfig{Speedups: []float64{0.5}})
	if err != nil {
		t.Fatal(err)
	}
	for w := range recorded(t, b, at).Windows(5) {
		if err := s.Add(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	found := false
	for _, a := range s.Result().Answers {
		if a.Point == "load" && a.Region.Name == "use" && a.Metric == Throughput && a.Withheld == WithheldNone {
			if found = true; a.Lo > 2./38 { // 15 uses of 2 ms and a load of 6 in place of 8 of 4 and a load
				t.Errorf("%+v, want 5 %% in it", a)
			}
		}
	}
	if !found {
		t.Error("no answer")
	}
}

// Slow-downs that are simulated have the bounds of other programs, however few steps are left.
func TestHoldHasItsBounds(t *testing.T) {
	c := cachedService{
		clients: 1, use: 4 * ms, load: 40 * ms, even: true,
		stale: func(s *cachedState, _, _ int, at int64) bool { return at >= s.loaded+100*ms },
	}
	rec, before := c.record(t)
	c.use *= 1.3
	_, after := c.record(t)
	want := 1 - after/before
	for _, steps := range []int{1, 0} {
		s, err := NewStudy(StudyConfig{Steps: steps, Only: func(trace.Region) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		s.Hold([]float64{0.3}, []trace.Region{{Name: "use"}})
		for w := range rec.Windows(5) {
			if err := s.Add(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		found := false
		for _, a := range s.Result().Answers {
			if a.Held && a.Point == "done" && a.Metric == Throughput && a.Withheld == WithheldNone {
				if found = true; a.Lo > want || a.Hi < want {
					t.Errorf("%d steps: %+v, want %.3f in it", steps, a, want)
				}
			}
		}
		if !found && steps == 0 {
			t.Error("no answer")
		}
	}
}
