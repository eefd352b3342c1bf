package offwake

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// What makes the slowest requests slow comes first, though it is rare: a lock that a job holds now
// and then. Parts of a request add up to its duration.
func TestTail(t *testing.T) {
	const ms = int64(time.Millisecond)
	job := trace.Region{Scope: "shop", Name: "job"}
	s := newScript(t, []string{"sync.(*Mutex).Lock", "main.handle"}, []string{"sync.(*Mutex).Unlock", "main.sweep"}, []string{"internal/poll.(*FD).Read", "main.query"})
	s.Running(0, 1)
	s.Running(0, 2)
	s.Open(0, 2, 1, 0, job)
	at := ms
	for i := range int64(200) {
		id := uint64(10 + 2*i)
		s.Open(at, 1, id, 0, order)
		s.Open(at+ms, 1, id+1, id, stock)
		s.wait(at+2*ms, 1, trace.WaitNetwork, 3) // 4 ms
		s.ready(at+6*ms, 1, 2, 0)
		s.Start(at+6*ms, 1, 0)
		s.Close(at+7*ms, 1, id+1)
		at += 8 * ms
		if i%40 == 7 { // 30 ms in five of them
			s.wait(at, 1, trace.WaitMutex, 1)
			s.ready(at+30*ms, 1, 2, 2)
			s.Start(at+30*ms, 1, 0)
			at += 30 * ms
		}
		s.Close(at, 1, id)
		at += ms
	}
	w := s.read(at)
	if len(w.Tails) != 1 || w.Tails[0].Region != order || w.Tails[0].Requests != 200 {
		t.Fatalf("tails %+v, want one of 200 requests", w.Tails)
	}
	for _, one := range w.Tails[0].Slowest {
		var sum time.Duration
		for _, p := range one.Parts {
			sum += p.For
		}
		if sum != one.Time {
			t.Errorf("the parts of a request of %v add up to %v: %+v", one.Time, sum, one.Parts)
		}
	}
	c := Contrasts(w.Tails)[0]
	lock := ContrastRow{Key: Key{In: order, By: job, Kind: Lock, Where: "main.handle:7", ByPlace: "main.sweep:7"}, Slow: 30 * time.Millisecond}
	if diff := cmp.Diff(lock, c.Rows[0]); diff != "" {
		t.Errorf("the first row (-want +got):\n%s", diff)
	}
	if c.Slowest != 5 || c.From != 38*time.Millisecond || c.Slow != 38*time.Millisecond || c.Typical != 8*time.Millisecond {
		t.Errorf("contrast %+v", c)
	}
	network := ContrastRow{Key: Key{In: stock, Kind: Network, Where: "main.query:7"}, Slow: 4 * time.Millisecond, Typical: 4 * time.Millisecond}
	found := false
	for _, row := range c.Rows {
		found = found || cmp.Equal(row, network)
	}
	if !found {
		t.Errorf("rows %+v, want %+v among them", c.Rows, network)
	}
	if few := Contrasts([]Tail{{Region: order, Requests: fewestRequests - 1}}); len(few) != 0 {
		t.Errorf("of few requests: %+v", few)
	}
}

// Where one recording of several has nearly all of the slow requests, and more than it keeps,
// typical ones of the others do not take their places.
func TestSlowestOfUnlikeRecordings(t *testing.T) {
	recording := func(each time.Duration) []Tail {
		return []Tail{{Region: order, Requests: 1000, Time: 1000 * each, Slowest: slices.Repeat([]Request{{Time: each}}, mostSlowest)}}
	}
	busy, idle := recording(100*time.Millisecond), recording(time.Millisecond)
	c := Contrasts(idle, busy, idle, idle, idle)[0]
	if c.Slowest != mostSlowest || c.From != 100*time.Millisecond || c.Slow != 100*time.Millisecond {
		t.Errorf("%d requests from %v on, %v in the mean, want the %d of 100ms that are known", c.Slowest, c.From, c.Slow, mostSlowest)
	}
	if c := Contrasts(idle, idle)[0]; c.Slowest != 20 || c.From != time.Millisecond {
		t.Errorf("of recordings that are alike: %d requests from %v on, want one in a hundred", c.Slowest, c.From)
	}
}

// A processor that is missing while garbage is collected, and work for the collector on the
// goroutine itself, are the collector's.
func TestTailOfCollections(t *testing.T) {
	s := newScript(t)
	s.Running(0, 1)
	s.R.Marking = []trace.Interval{{From: 1000, To: 5000}}
	s.R.Assists = []trace.Assist{{G: s.Goroutine(1), Interval: trace.Interval{From: 5000, To: 5400}}}
	s.Open(1000, 1, 11, 0, order)
	s.Add(trace.Event{Kind: trace.EvYield, At: 2000, G: s.Goroutine(1), By: trace.NoWaker})
	s.Start(4000, 1, 0)
	s.Add(trace.Event{Kind: trace.EvYield, At: 6000, G: s.Goroutine(1), By: trace.NoWaker})
	s.Start(7000, 1, 0)
	s.Close(8000, 1, 11)
	parts := map[Kind]time.Duration{}
	for _, p := range s.read(9000).Tails[0].Slowest[0].Parts {
		parts[p.Kind] += p.For
	}
	want := map[Kind]time.Duration{Running: 1000 + 1600 + 1000, GC: 2000 + 400, Processor: 1000}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// In recordings that were joined a processor is missing for the collector of its own process alone.
func TestTailOfCollectionsOfProcesses(t *testing.T) {
	for home, want := range []map[Kind]time.Duration{{Running: 2000, GC: 2000}, {Running: 2000, Processor: 2000}} {
		s := newScript(t)
		s.Running(0, 1)
		s.Running(0, 2)
		s.R.Processes = []trace.Process{{Goroutines: 1}, {Goroutines: 2}}
		s.R.Processes[home].Marking = []trace.Interval{{From: 1000, To: 5000}}
		s.Open(1000, 1, 11, 0, order)
		s.Add(trace.Event{Kind: trace.EvYield, At: 2000, G: s.Goroutine(1), By: trace.NoWaker})
		s.Start(4000, 1, 0)
		s.Close(5000, 1, 11)
		parts := map[Kind]time.Duration{}
		for _, p := range s.read(9000).Tails[0].Slowest[0].Parts {
			parts[p.Kind] += p.For
		}
		if diff := cmp.Diff(want, parts); diff != "" {
			t.Errorf("garbage collected in process %d, parts (-want +got):\n%s", home, diff)
		}
	}
}

// Where a request ends on another goroutine its parts add up to its duration as far as its own one
// was there.
func TestTailOfRequestsThatEndElsewhere(t *testing.T) {
	for name, tt := range map[string]struct {
		then func(s script)
		want map[Kind]time.Duration
	}{
		"its goroutine ends":  {func(s script) { s.End(2000, 1) }, map[Kind]time.Duration{Running: 1000}},
		"its goroutine waits": {func(s script) { s.wait(2000, 1, trace.WaitReceive, 1) }, map[Kind]time.Duration{Running: 1000, Receive: 98_000}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, []string{"runtime.chanrecv1", "main.handle"})
			s.Running(0, 1)
			s.Running(0, 2)
			s.Open(1000, 1, 11, 0, order)
			tt.then(s)
			s.Close(100_000, 2, 11)
			got := map[Kind]time.Duration{}
			for _, p := range s.read(200_000).Tails[0].Slowest[0].Parts {
				got[p.Kind] += p.For
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}
