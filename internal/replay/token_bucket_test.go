package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A limitedService has workers that take a token each time, of a bucket that a goroutine fills at
// even intervals. The trace is one of stock Go.
type limitedService struct {
	workers, room      int
	tick, work, beside float64
	burst              int    // tokens at a tick, 0 for 1
	blocking           bool   // the goroutine waits for room, it says
	sleeps             bool   // workers wait for their tokens by themselves
	pulse              bool   // the goroutine signals another one, outside of requests, each third time
	lock               bool   // it lets the workers go on by a lock
	sender             string // what lets them go on
}

// The places.
const (
	placeWork = iota + 1
	placeTick
	placeToken
	placeSend
	placePulse
)

// record runs the service until a time, and returns the recording and the time between visits.
func (c limitedService) record(t *testing.T) (*trace.Recording, float64) {
	t.Helper()
	const end = 5_000 * ms
	ticker, listener := c.workers, c.workers+1
	b := trace.NewRecorder(0, c.workers+2)
	b.Place(placePulse)
	sender, waiter := "runtime.selectnbsend", "runtime.chanrecv1"
	if c.blocking {
		sender = "runtime.chansend1"
	}
	if c.sender != "" {
		sender = c.sender
	}
	if c.lock {
		sender, waiter = "sync.(*Mutex).Unlock", "sync.(*Mutex).Lock"
	}
	for place, frames := range map[int][]string{
		placeWork: {"time.Sleep", "main.work"}, placeTick: {"runtime.chanrecv1", "main.fill"}, placeToken: {waiter, "main.take"},
		placeSend: {sender, "main.fill"}, placePulse: {"runtime.chanrecv1", "main.listen"},
	} {
		for _, f := range frames {
			b.R.Sites[place].Frames = append(b.R.Sites[place].Frames, trace.Frame{Func: f})
		}
	}
	var events []trace.Event
	note := func(at int64, g int, e trace.Event) {
		e.At, e.G = at, b.Goroutine(int64(g))
		if e.Kind != trace.EvReady {
			e.By = trace.NoWaker
		}
		events = append(events, e)
	}
	random := rand.New(rand.NewPCG(1, 2))
	come := make([]int64, c.workers) // when each comes for a token
	for g := range come {
		b.Running(0, int64(g))
		come[g] = int64(1000 * (g + 1))
	}
	b.Running(0, int64(ticker))
	note(10, ticker, trace.Event{Kind: trace.EvWait, Site: placeTick, Arg: trace.WaitReceive})
	if c.pulse {
		b.Waiting(0, int64(listener))
		b.R.Events[len(b.R.Events)-1].Site, b.R.Events[len(b.R.Events)-1].Ref = placePulse, trace.WaitReceive
	}
	var visits []int64
	// span adds one that sleeps for d, and returns when it is over.
	span := func(at int64, g int, name string, d float64) int64 {
		ref := int32(len(b.R.Spans))
		b.R.Spans = append(b.R.Spans, trace.Span{Region: b.RegionOf(trace.Region{Name: name}), Parent: -1})
		took := int64(d * (0.5 + random.Float64()))
		note(at, g, trace.Event{Kind: trace.EvOpen, Ref: ref})
		note(at+500, g, trace.Event{Kind: trace.EvWait, Site: placeWork, Arg: trace.WaitTimer})
		note(at+500+took, g, trace.Event{Kind: trace.EvReady, By: trace.NoWaker})
		note(at+1000+took, g, trace.Event{Kind: trace.EvStart, Arg: int32(g)})
		note(at+1500+took, g, trace.Event{Kind: trace.EvClose, Ref: ref})
		return at + 2000 + took
	}
	works := func(at int64, g int) {
		at = span(at, g, "work", c.work)
		if c.beside > 0 {
			at = span(at, g, "beside", c.beside)
		}
		note(at, g, trace.Event{Kind: trace.EvVisit, Ref: b.PointOf("done")})
		visits = append(visits, at)
		come[g] = at + 1000
	}
	tokens := c.room
	var waiting []int
	for n, at := 1, int64(c.tick); at < end; n, at = n+1, int64(float64(n+1)*c.tick) {
		for { // goroutines that come before
			g := -1
			for k := range come {
				if come[k] > 0 && come[k] < at && (g < 0 || come[k] < come[g]) {
					g = k
				}
			}
			if g < 0 {
				break
			}
			since := come[g]
			come[g] = 0
			if tokens > 0 {
				tokens--
				works(since+500, g)
				continue
			}
			reason := int32(trace.WaitReceive)
			site := int32(placeToken)
			switch {
			case c.sleeps:
				reason, site = trace.WaitTimer, placeWork
			case c.lock:
				reason = trace.WaitMutex
			}
			note(since+500, g, trace.Event{Kind: trace.EvWait, Site: site, Arg: reason})
			waiting = append(waiting, g)
		}
		note(at, ticker, trace.Event{Kind: trace.EvReady, By: trace.NoWaker})
		note(at+100, ticker, trace.Event{Kind: trace.EvStart, Arg: int32(c.workers)})
		for i := range max(1, c.burst) {
			if len(waiting) == 0 {
				tokens = min(tokens+1, c.room)
				continue
			}
			g, now := waiting[0], at+200+10*int64(i)
			waiting = waiting[1:]
			by := b.Goroutine(int64(ticker))
			if c.sleeps {
				by = trace.NoWaker
			}
			note(now, g, trace.Event{Kind: trace.EvReady, By: by, Site: placeSend})
			note(now+300, g, trace.Event{Kind: trace.EvStart, Arg: int32(g)})
			works(now+500, g)
		}
		if c.pulse && n%3 == 0 {
			note(at+600, listener, trace.Event{Kind: trace.EvReady, By: b.Goroutine(int64(ticker)), Site: placeSend})
			note(at+700, listener, trace.Event{Kind: trace.EvStart, Arg: int32(listener)})
			note(at+900, listener, trace.Event{Kind: trace.EvWait, Site: placePulse, Arg: trace.WaitReceive})
		}
		note(at+1000, ticker, trace.Event{Kind: trace.EvWait, Site: placeTick, Arg: trace.WaitReceive})
	}
	return served(t, b, events, visits, end)
}

// answers are those about throughput of five windows of the service.
func (c limitedService) answers(t *testing.T, rec *trace.Recording) []Answer {
	t.Helper()
	s, err := NewStudy(StudyConfig{Speedups: []float64{-0.5, 0.25, 0.5, 0.75}})
	if err != nil {
		t.Fatal(err)
	}
	for w := range rec.Windows(doubt.LeastWindows) {
		if err := s.Add(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	return slices.DeleteFunc(s.Result().Answers, func(a Answer) bool { return a.Metric != Throughput || a.Point != "done" })
}

func (c limitedService) faster(a Answer) limitedService {
	switch a.Region.Name {
	case "work":
		c.work *= 1 - a.Speedup
	case "beside":
		c.beside *= 1 - a.Speedup
	}
	return c
}

// TestBucket compares the predicted effect of faster work behind a token bucket with the real one.
// Of a bucket that was never empty the trace shows nothing, and where each tick lets a worker go on
// it shows everything.
func TestBucket(t *testing.T) {
	for _, room := range []int{0, 1, 5, 100} {
		for _, work := range []float64{4, 7, 9} { // 8 at most go on with each tick
			for _, beside := range []float64{0, 3} {
				c := limitedService{workers: 4, room: room, tick: 2 * ms, work: work * ms, beside: beside * ms}
				t.Run(fmt.Sprintf("room %d, work %g, beside %g", room, work, beside), func(t *testing.T) { c.holds(t) })
			}
		}
	}
	burst := limitedService{workers: 4, room: 8, tick: 8 * ms, work: 7 * ms, burst: 4}
	t.Run("several at a tick", func(t *testing.T) { burst.holds(t) })
}

// TestNextTick has workers that wait for the next tick, which lets all of them go on that are
// there.
func TestNextTick(t *testing.T) {
	for _, sender := range []string{"main.broadcast", "sync.(*Cond).Broadcast"} {
		for _, workers := range []int{1, 2, 4} {
			for _, work := range []float64{3, 7, 12} {
				c := limitedService{workers: workers, burst: workers, tick: 5 * ms, work: work * ms, sender: sender}
				t.Run(fmt.Sprintf("%s, %d workers, work %g", sender, workers, work), func(t *testing.T) { c.holds(t) })
			}
		}
	}
}

func (c limitedService) holds(t *testing.T) {
	t.Parallel()
	rec, before := c.record(t)
	waits := 0
	for i := range rec.Events {
		if e := &rec.Events[i]; e.Kind == trace.EvReady && e.By >= 0 {
			waits++
		}
	}
	for _, a := range c.answers(t, rec) {
		_, after := c.faster(a).record(t)
		want := 1 - after/before
		t.Logf("%s %.2f: %.1f (%.1f..%.1f), in truth %.1f, withheld %d, %d waits", a.Region.Name, a.Speedup, 100*a.Reduction, 100*a.Lo, 100*a.Hi, 100*want, a.Withheld, waits)
		if a.Withheld == WithheldNone && waits >= 100 && (want < a.Lo || want > a.Hi) {
			t.Errorf("%s %.2f faster: %.1f points (%.1f..%.1f), but %.1f in truth", a.Region.Name, a.Speedup, 100*a.Reduction, 100*a.Lo, 100*a.Hi, 100*want)
		}
	}
}

// TestNoBucket has programs that are alike, and keep their numbers.
func TestNoBucket(t *testing.T) {
	for name, c := range map[string]limitedService{
		"each tick lets one go on":        {workers: 6, room: 5, tick: 2 * ms, work: 4 * ms},
		"each tick lets all go on":        {workers: 6, burst: 6, tick: 5 * ms, work: 3 * ms, sender: "main.broadcast"},
		"it waits for room":               {workers: 4, room: 5, tick: 2 * ms, work: 7 * ms, blocking: true},
		"each waits by itself":            {workers: 4, room: 5, tick: 2 * ms, work: 7 * ms, sleeps: true},
		"a lock that something else has":  {workers: 4, room: 5, tick: 2 * ms, work: 7 * ms, lock: true},
		"a pulse outside of all requests": {workers: 4, room: 1 << 20, tick: 2 * ms, work: 7 * ms, pulse: true},
	} {
		t.Run(name, func(t *testing.T) {
			rec, _ := c.record(t)
			if b := doubt.FindBuckets(infer.NewProgram(rec, true), rec); b != nil && !b.Slower {
				t.Errorf("taken for a bucket: %+v", b)
			}
		})
	}
}

// Questions about several regions and slow-downs that are simulated have the bounds of a bucket, as
// those about one region.
func TestBucketOfQuestions(t *testing.T) {
	c := limitedService{workers: 1, tick: 5 * ms, work: 3 * ms}
	rec, before := c.record(t)
	_, after := c.faster(Answer{Region: trace.Region{Name: "work"}, Speedup: -0.5}).record(t)
	want := 1 - after/before
	s, err := NewStudy(StudyConfig{Questions: []Question{{Faster: []Speedup{{trace.Region{Name: "work"}, -0.5}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Hold([]float64{0.5}, []trace.Region{{Name: "work"}})
	for w := range rec.Windows(doubt.LeastWindows) {
		if err := s.Add(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for _, a := range s.Result().Answers {
		if a.Point != "done" || a.Metric != Throughput || a.Withheld != WithheldNone || !a.Held && a.Region.Scope != QuestionScope {
			continue
		}
		if found++; want < a.Lo || want > a.Hi {
			t.Errorf("%s, held %t: %.2f (%.2f .. %.2f), want %.2f in it", a.Region, a.Held, a.Reduction, a.Lo, a.Hi, want)
		}
	}
	if found != 2 {
		t.Errorf("%d answers, want 2", found)
	}
}
