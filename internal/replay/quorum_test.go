package replay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A quorumProgram starts three goroutines in each round, works itself, and goes on when needed of
// them have answered. Its recording has only what a stock trace has: the waits, and who ended each.
type quorumProgram struct {
	own     int64
	replica [3]int64
	needed  int
	waits   waitsFor
}

// waitsFor is how a goroutine waits for others.
type waitsFor int

const (
	forAny  waitsFor = iota // by one channel
	forEach                 // by a channel of each, in turn
	forAll                  // by a WaitGroup
)

// period is how long a round takes on average, with one part of the program faster.
func (q quorumProgram) period(rounds int, faster string, by float64) float64 {
	total := 0.0
	q.each(rounds, func(own int64, replicas [3]int64) {
		times := make([]float64, 3)
		for i, d := range replicas {
			times[i] = float64(d)
			if faster == replicaNames[i] {
				times[i] *= 1 - by
			}
		}
		mine := float64(own)
		if faster == "own" {
			mine *= 1 - by
		}
		slices.Sort(times)
		total += max(mine, times[q.needed-1])
	})
	return total / float64(rounds)
}

var replicaNames = [3]string{"first", "second", "third"}

// each draws what takes how long in each round.
func (q quorumProgram) each(rounds int, do func(own int64, replicas [3]int64)) {
	random := rand.New(rand.NewPCG(1, 2))
	vary := func(d int64) int64 { return int64(float64(d) * (0.6 + 0.8*random.Float64())) }
	for range rounds {
		own := vary(q.own)
		var replicas [3]int64
		for i, d := range q.replica {
			replicas[i] = vary(d)
		}
		do(own, replicas)
	}
}

func (q quorumProgram) record(t *testing.T, rounds int) *trace.Recording {
	t.Helper()
	const starter = 0
	b := trace.NewRecorder(0, 4)
	const place = 3
	b.Place(place + 2)
	reason := int32(trace.WaitReceive)
	for i := range b.R.Sites[place:] {
		b.R.Sites[place+i].Frames = []trace.Frame{{Func: "runtime.chanrecv1"}, {Func: "main.serve", Line: i}}
	}
	if q.waits == forAll {
		b.R.Sites[place].Frames[0].Func, reason = "sync.(*WaitGroup).Wait", trace.WaitOther
	}
	b.Running(0, starter)
	var all script
	begins, spans, next := int64(10), uint64(1), int64(1)
	q.each(rounds, func(own int64, replicas [3]int64) {
		mine, first, span := begins, next, spans
		spans, next = spans+4, next+3
		all.add(mine, func(at int64) {
			for i := range replicas {
				b.Create(at+int64(i), first+int64(i), starter)
			}
			b.Open(at+5, starter, span, 0, trace.Region{Name: "own"})
			b.Wait(at+6, starter, trace.WaitTimer)
		})
		all.add(mine+own, func(at int64) {
			b.Ready(at, starter, -1)
			b.Start(at+1, starter, 0)
			b.Close(at+2, starter, span)
		})
		type arrival struct{ at, g int64 }
		var arrivals []arrival
		for i, d := range replicas {
			g := first + int64(i)
			all.add(mine+20+4*int64(i), func(at int64) {
				b.Start(at, g, int64(i+1))
				b.Open(at+1, g, span+1+uint64(i), 0, trace.Region{Name: replicaNames[i]})
				b.Wait(at+2, g, trace.WaitTimer)
			})
			arrivals = append(arrivals, arrival{mine + d, g})
		}
		if q.waits != forEach {
			slices.SortFunc(arrivals, func(a, b arrival) int { return int(a.at - b.at) })
		}
		over := mine + own + 10
		ends := map[int64]bool{} // goroutines by which a wait ends
		for n, a := range arrivals[:q.needed] {
			if q.waits == forAll && n < q.needed-1 || a.at < over+10 {
				continue
			}
			at := int64(place)
			if q.waits == forEach {
				at += a.g - first
			}
			all.add(over, func(now int64) {
				b.Add(trace.Event{Kind: trace.EvWait, At: now, G: b.Goroutine(starter), By: trace.NoWaker, Site: int32(at), Arg: reason})
			})
			all.add(a.at+6, func(at int64) { b.Start(at, starter, 0) })
			ends[a.g], over = true, a.at+20
		}
		for _, a := range arrivals {
			all.add(a.at, func(at int64) {
				i := a.g - first
				b.Ready(at, a.g, -1)
				b.Start(at+1, a.g, i+1)
				b.Close(at+2, a.g, span+1+uint64(i))
				if ends[a.g] {
					b.Ready(at+3, starter, a.g)
				}
				b.End(at+4, a.g)
			})
		}
		all.add(over+80, func(at int64) { b.Visit(at, starter, "done") })
		begins = over + 150
	})
	all.play()
	return recorded(t, b, begins)
}

// TestQuorum has whichever goroutines answer first be the ones that are waited for.
func TestQuorum(t *testing.T) {
	const rounds = 300
	ask := func(name string, by float64) Speedup { return Speedup{trace.Region{Name: name}, by} }
	for name, tc := range map[string]struct {
		program quorumProgram
		asks    []Speedup
	}{
		"two of three":  {quorumProgram{ms, [3]int64{4 * ms, 5 * ms, 7 * ms}, 2, forAny}, []Speedup{ask("third", 0.5), ask("third", 0.9), ask("second", 0.9), ask("first", 0.5)}},
		"the first one": {quorumProgram{ms, [3]int64{4 * ms, 5 * ms, 7 * ms}, 1, forAny}, []Speedup{ask("third", 0.9), ask("first", 0.5)}},
		"all":           {quorumProgram{9 * ms / 2, [3]int64{3 * ms, 5 * ms, 6 * ms}, 3, forAny}, []Speedup{ask("own", 0.9), ask("third", 0.5), ask("first", 0.9)}},
		"each in turn":  {quorumProgram{9 * ms / 2, [3]int64{6 * ms, 3 * ms, 5 * ms}, 3, forEach}, []Speedup{ask("own", 0.9), ask("first", 0.5), ask("third", 0.9)}},
		"a WaitGroup":   {quorumProgram{9 * ms / 2, [3]int64{3 * ms, 5 * ms, 6 * ms}, 3, forAll}, []Speedup{ask("own", 0.9), ask("third", 0.5), ask("first", 0.9)}},
	} {
		t.Run(name, func(t *testing.T) {
			rec := tc.program.record(t, rounds)
			for _, q := range tc.asks {
				before, after := Predict(rec, "done", q)
				got, want := 1-after/before, 1-tc.program.period(rounds, q.Region.Name, q.By)/tc.program.period(rounds, "", 0)
				if !isNear(got, want, 0.015) {
					t.Errorf("%s %.0f %% faster: %.3f less time between visits, want %.3f", q.Region.Name, 100*q.By, got, want)
				}
			}
		})
	}
}
