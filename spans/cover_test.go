package spans

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// edge is one end of an interval.
type edge struct {
	at    int64
	opens bool
}

// union returns how much of the line up to at is covered, by looking at every piece.
func union(edges []edge, at int64) (covered int64) {
	sorted := slices.Clone(edges)
	slices.SortStableFunc(sorted, func(a, b edge) int { return int(a.at - b.at) })
	open, since := 0, int64(0)
	for _, e := range sorted {
		if e.at > at {
			break
		}
		if open > 0 {
			covered += e.at - since
		}
		since = e.at
		if e.opens {
			open++
		} else {
			open--
		}
	}
	if open > 0 {
		covered += at - since
	}
	return covered
}

// TestCoverIsTheUnionAtEveryMoment plays random intervals in the order of time.
func TestCoverIsTheUnionAtEveryMoment(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var edges []edge
		for range 1 + rnd.IntN(20) {
			from := rnd.Int64N(1000)
			to := from + rnd.Int64N(300)
			edges = append(edges, edge{from, true}, edge{to, false})
		}
		// At one moment openings come first, so that nothing is closed before it is open.
		slices.SortFunc(edges, func(a, b edge) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			if a.opens == b.opens {
				return 0
			}
			if a.opens {
				return -1
			}
			return 1
		})
		var c cover
		for i, e := range edges {
			if e.opens {
				c.beginChild(e.at)
			} else {
				c.end(e.at)
			}
			at := e.at
			if i+1 < len(edges) {
				at += rnd.Int64N(edges[i+1].at - e.at + 1)
			}
			if got, want := c.total(at), union(edges[:i+1], at); got != want {
				t.Fatalf("seed %d: total(%d) after %d edges = %d, want %d", seed, at, i+1, got, want)
			}
		}
		if got := c.children(); got != len(edges)/2 {
			t.Fatalf("seed %d: children() = %d, want %d", seed, got, len(edges)/2)
		}
	}
}

// TestCoverConcurrentSafe opens and closes intervals on many goroutines, at the times of a
// clock that all of them advance, so that the order of calls differs from that of times as
// it does in a program. With one interval that spans all the others the union is known.
func TestCoverConcurrentSafe(t *testing.T) {
	var (
		c     cover
		wg    sync.WaitGroup
		clock = func() int64 { return now() }
	)
	from := clock()
	c.beginChild(from)
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				c.beginWait(clock())
				if at := clock(); c.total(at) < 0 {
					t.Errorf("total(%d) = %d, want it positive", at, c.total(at))
				}
				c.end(clock())
			}
		})
	}
	wg.Wait()
	to := clock()
	c.end(to)
	if got, want := c.total(to), to-from; got != want {
		t.Errorf("total = %d, want %d", got, want)
	}
	if got := c.children(); got != 1 {
		t.Errorf("children() = %d, want 1", got)
	}
}

// TestCoverAddsCommute plays the additions of several intervals in any order.
func TestCoverAddsCommute(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var adds []int64
		var want, at int64
		for range 1 + rnd.IntN(5) {
			at += 1 + rnd.Int64N(1000)
			adds = append(adds, -at-coverBias)
			length := rnd.Int64N(1000)
			at += length
			want += length
			adds = append(adds, at+coverBias)
		}
		rnd.Shuffle(len(adds), func(i, j int) { adds[i], adds[j] = adds[j], adds[i] })
		var c cover
		for _, a := range adds {
			c.covered.Add(a)
		}
		if got := c.total(at); got != want {
			t.Fatalf("seed %d: total = %d, want %d", seed, got, want)
		}
	}
}

// TestCoverTakesAPendingAddAsNow looks between the two additions of an opening and a closing.
func TestCoverTakesAPendingAddAsNow(t *testing.T) {
	const year = int64(365 * 24 * time.Hour)
	for _, from := range []int64{0, 1, 5 * 1e9, -year, 15 * year} {
		var c cover
		c.begin(from, oneChild+oneOpen)
		if got := c.total(from + 100); got != 100 {
			t.Errorf("from %d: total of an open interval = %d, want 100", from, got)
		}
		c.end(from + 300)
		c.counts.Add(oneOpen) // an opening that has not subtracted yet
		if got := c.total(from + 400); got != 300 {
			t.Errorf("from %d: total = %d, want 300", from, got)
		}
		c.counts.Add(^uint64(0))
		if got := c.total(from + 1000); got != 300 {
			t.Errorf("from %d: total = %d, want 300", from, got)
		}
	}
}
