package spans_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/spans"
)

// record makes a session of n spans that took d, the i-th one by its start.
func record(i int, name string, d time.Duration, n int) *spans.SessionRecord {
	rec := &spans.SessionRecord{
		Name: name, Start: begin.Add(time.Duration(i) * time.Second), Duration: d, Spans: make([]spans.SpanRecord, n),
	}
	binary.BigEndian.PutUint64(rec.ID[:], uint64(i)+1)
	return rec
}

// index is the i of record.
func index(rec *spans.SessionRecord) int { return int(binary.BigEndian.Uint64(rec.ID[:])) - 1 }

func indices(all []*spans.SessionRecord) (got []int) {
	for _, rec := range all {
		got = append(got, index(rec))
	}
	return got
}

func add(t testing.TB, r *spans.Ring, recs ...*spans.SessionRecord) {
	t.Helper()
	for _, rec := range recs {
		if err := r.Append(rec); err != nil {
			t.Fatalf("Append: %v", err)
		}
	}
}

func TestRingStaysBelowItsSize(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		size := 4000 + rnd.IntN(100_000)
		r := spans.NewRing(size)
		refused := 0
		for i := range 1000 {
			rec := record(i, fmt.Sprint("name ", rnd.IntN(40)), time.Duration(rnd.IntN(1000))*ms, rnd.IntN(30))
			if rnd.IntN(3) == 0 && i > 0 { // an older one has grown, or shrunk
				rec = record(rnd.IntN(i), rec.Name, rec.Duration, rnd.IntN(60))
				rec.Revision = 1
			}
			if rnd.IntN(10) == 0 {
				rec.Attributes = []attribute.KeyValue{attribute.String("k", string(make([]byte, rnd.IntN(size))))}
			}
			r.Wants(rec.Name, rec.Duration, 0)
			if r.Append(rec) != nil {
				refused++
			}
			if got := r.SizeBytes(); got > size || got < 0 {
				t.Fatalf("seed %d: %d bytes after %d sessions, want at most %d", seed, got, i+1, size)
			}
			sum := 0
			for _, rec := range r.Sessions(spans.Query{}) {
				sum += rec.SizeBytes()
			}
			if sum > r.SizeBytes() {
				t.Fatalf("seed %d: sessions of %d bytes in a ring that counts %d", seed, sum, r.SizeBytes())
			}
		}
		if refused == 1000 {
			t.Errorf("seed %d: everything was refused", seed)
		}
	}
}

func TestRingRefusesWhatIsTooLarge(t *testing.T) {
	r := spans.NewRing(20_000)
	add(t, r, record(0, "small", ms, 1))
	for i, n := range []int{40, 1000} {
		if err := r.Append(record(i+1, "large", ms, n)); err == nil {
			t.Errorf("a session of %d spans found a place in 20000 bytes", n)
		}
	}
	// Between a quarter and a half of the ring there is a place among the recent ones only.
	for i := range 10 {
		add(t, r, record(10+i, "middle", ms, 20))
		add(t, r, record(30+i, "small", ms, 1))
		r.Wants("small", ms, 0)
	}
	if got := r.Sessions(spans.Query{Name: "middle"}); len(got) != 1 || index(got[0]) != 19 {
		t.Errorf("sessions %v of middle size, want the last", indices(got))
	}
	if _, ok := r.Session(record(0, "small", ms, 1).ID); !ok {
		t.Error("large sessions have pushed out the first small one, which the sample has room for")
	}
	if err := spans.NewRing(0).Append(record(1, "a", ms, 1)); err == nil {
		t.Error("a ring of no bytes took a session")
	}
}

// What is wanted for other parts than that of the recent ones, and fits into none, is an error too.
func TestRingRefusesWhatIsTooLargeForItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := spans.NewRing(20_000)
		stored := func(i int) bool {
			rec := record(i, fmt.Sprint("middle ", i), time.Second, 20)
			if !r.Wants(rec.Name, rec.Duration, 0) {
				t.Fatal("a session of a new name is not wanted")
			}
			err := r.Append(rec)
			if _, ok := r.Session(rec.ID); ok != (err == nil) {
				t.Fatalf("session %d: %v, found %v", i, err, ok)
			}
			return err == nil
		}
		n := 0
		for stored(n) {
			n++
		}
		if n == 0 {
			t.Error("none was stored")
		}
		time.Sleep(time.Second)
		if !stored(n + 1) {
			t.Error("one was refused as a recent one")
		}
	})
}

func TestRingOrderAndFilters(t *testing.T) {
	r := spans.NewRing(1 << 20)
	for i, d := range []int{3, 9, 1, 7, 5} {
		rec := record(i, []string{"a", "b"}[i%2], time.Duration(d)*ms, 1)
		rec.Errors = i % 3
		add(t, r, rec)
	}
	for _, c := range []struct {
		q    spans.Query
		want []int
	}{
		{spans.Query{}, []int{4, 3, 2, 1, 0}},
		{spans.Query{Limit: 2}, []int{4, 3}},
		{spans.Query{Limit: 99}, []int{4, 3, 2, 1, 0}},
		{spans.Query{Worst: true}, []int{1, 3, 4, 0, 2}},
		{spans.Query{Worst: true, Limit: 2}, []int{1, 3}},
		{spans.Query{Name: "a"}, []int{4, 2, 0}},
		{spans.Query{Name: "c"}, nil},
		{spans.Query{MinDuration: 5 * ms}, []int{4, 3, 1}},
		{spans.Query{ErrorsOnly: true}, []int{4, 2, 1}},
		{spans.Query{Name: "a", MinDuration: 2 * ms, ErrorsOnly: true, Worst: true, Limit: 1}, []int{4}},
	} {
		if got := indices(r.Sessions(c.q)); !slices.Equal(got, c.want) {
			t.Errorf("Sessions(%+v) = %v, want %v", c.q, got, c.want)
		}
	}
	if _, ok := r.Session(spans.SessionID{}); ok {
		t.Error("a session of ID zero was found")
	}
}

func TestRingKeepsTheNewest(t *testing.T) {
	r := spans.NewRing(100_000)
	const n, kept = 1000, 100 // of 500 bytes in half of the ring
	for i := range n {
		add(t, r, record(i, "a", ms, 1))
	}
	got := indices(r.Sessions(spans.Query{Limit: kept}))
	for i := range kept {
		if got[i] != n-1-i {
			t.Fatalf("newest sessions %v, want the last %d", got, kept)
		}
	}
}

func TestRingKeepsTheSlowestThroughAFlood(t *testing.T) {
	r := spans.NewRing(200_000)
	for i := range 3 {
		add(t, r, record(i, "checkout", time.Duration(10-i)*time.Second, 5))
		add(t, r, record(100+i, "search", time.Duration(3-i)*time.Second, 5))
	}
	for i := range 20_000 {
		rec := record(1000+i, []string{"checkout", "search", "healthz"}[i%3], time.Duration(i%100)*ms, 3)
		if r.Wants(rec.Name, rec.Duration, rec.Errors) {
			add(t, r, rec)
		}
	}
	for name, want := range map[string][]int{"checkout": {0, 1, 2}, "search": {100, 101, 102}} {
		if got := indices(r.Sessions(spans.Query{Name: name, Worst: true, Limit: 3})); !slices.Equal(got, want) {
			t.Errorf("slowest of %s: %v, want %v", name, got, want)
		}
	}
}

func TestRingSharesTheSlowPlacesAmongNames(t *testing.T) {
	r := spans.NewRing(40_000) // a quarter holds 20 sessions of 500 bytes
	add(t, r, record(0, "rare", ms, 1))
	for i := range 2000 {
		add(t, r, record(1+i, fmt.Sprint("common ", i%2), time.Minute+time.Duration(i)*ms, 1))
	}
	if _, ok := r.Session(record(0, "rare", ms, 1).ID); !ok {
		t.Error("the only session of its name is gone, which is the slowest of it")
	}
}

// TestRingSampleIsUniform holds that the first sessions are as likely as the last ones to
// be in the sample.
func TestRingSampleIsUniform(t *testing.T) {
	const (
		runs, sessions, parts = 60, 3000, 10
		size                  = 40_000 // 20 sessions of 500 bytes in a quarter
	)
	var counts [parts]float64
	total := 0.0
	// Without a clock that goes on, or a slow machine would have more recent ones.
	run := func(t *testing.T) {
		r := spans.NewRing(size)
		for i := range sessions {
			rec := record(i, "a", time.Duration(sessions-i)*time.Microsecond, 1)
			if r.Wants(rec.Name, rec.Duration, rec.Errors) {
				add(t, r, rec)
			}
		}
		newest := slices.Max(indices(r.Sessions(spans.Query{})))
		for _, i := range indices(r.Sessions(spans.Query{})) {
			// Neither the slowest, which come first here, nor the burst of recent ones.
			if i >= 8 && (i < newest-1100 || i > 1100) && i < sessions {
				counts[i*parts/sessions]++
				total++
			}
		}
	}
	for range runs {
		synctest.Test(t, run)
	}
	// The parts in which nothing but the sample keeps sessions.
	sampled := counts[4:]
	mean := 0.0
	for _, c := range sampled {
		mean += c / float64(len(sampled))
	}
	// Each count is about Poisson of that mean, 120: five deviations are generous.
	for i, c := range sampled {
		if math.Abs(c-mean) > 5*math.Sqrt(mean) {
			t.Errorf("part %d of the run has %v of the sample, want about %.0f: %v", i, c, mean, counts)
		}
	}
	if want := float64(runs * 20); mean*parts < 0.8*want || mean*parts > 1.2*want {
		t.Errorf("the sample has %.0f sessions in all runs, want about %.0f (%v of %v)", mean*parts, want, counts, total)
	}
}

func TestRingReplacesByRevision(t *testing.T) {
	r := spans.NewRing(1 << 20)
	add(t, r, record(0, "a", ms, 1), record(1, "a", ms, 1), record(2, "a", ms, 1))
	before := r.SizeBytes()
	second := record(1, "a", ms, 4)
	second.Revision = 1
	add(t, r, second)
	if got, ok := r.Session(second.ID); !ok || got != second {
		t.Errorf("Session = %+v, want the second revision", got)
	}
	if got := indices(r.Sessions(spans.Query{})); !slices.Equal(got, []int{2, 1, 0}) {
		t.Errorf("sessions %v, want each once", got)
	}
	if got, want := r.SizeBytes()-before, 3*3*300; got != want {
		t.Errorf("the ring has grown by %d bytes, want 3 spans in 3 places, %d", got, want)
	}
	unknown := record(9, "a", ms, 1)
	unknown.Revision = 1
	add(t, r, unknown)
	if _, ok := r.Session(unknown.ID); ok {
		t.Error("a revision brought back a session that is not kept")
	}
}

func TestRingGrownSessionGoesAlone(t *testing.T) {
	r := spans.NewRing(40_000)
	for i := range 10 {
		add(t, r, record(i, "a", time.Duration(100-i)*ms, 1))
	}
	grown := record(0, "a", 100*ms, 50) // a quarter holds 10000 bytes, the half this one only
	grown.Revision = 1
	add(t, r, grown)
	for i := 20; i < 60; i++ {
		r.Wants("a", ms, 0)
		add(t, r, record(i, "a", ms, 1))
	}
	slowest := indices(r.Sessions(spans.Query{Worst: true, Limit: 7}))
	if want := []int{1, 2, 3, 4, 5, 6, 7}; !slices.Equal(slowest, want) {
		t.Errorf("slowest %v, want %v", slowest, want)
	}
}

func TestRingWantsABurstThenARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := spans.NewRing(4000) // full at once: the slowest and the sample want next to nothing
		for i := range 2000 {
			r.Wants("a", time.Hour, 0)
			add(t, r, record(i, "a", time.Hour, 1))
		}
		wanted := func(errors int) (n int) {
			for range 5000 {
				if r.Wants("a", 0, errors) {
					n++
				}
			}
			return n
		}
		near := func(what string, got, want int) {
			t.Helper()
			if got < want || got > want+60 { // the sample may take a few
				t.Errorf("%s: wanted %d sessions, want about %d", what, got, want)
			}
		}
		near("after the burst", wanted(0), 0)
		near("with errors, not used before", wanted(1), 1000)
		near("with errors, after that", wanted(3), 0)
		time.Sleep(time.Second)
		near("a second later", wanted(0), 100)
		near("a second later, with errors", wanted(1), 100)
		time.Sleep(time.Hour)
		near("an hour later", wanted(0), 1000)
		if !r.Wants("a", 2*time.Hour, 0) {
			t.Error("the slowest of all is not wanted")
		}
		if !r.Wants("a new name", 0, 0) {
			t.Error("the first of a name is not wanted")
		}
	})
}

func TestRingConcurrentSafe(t *testing.T) {
	r := spans.NewRing(50_000)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 2000 {
			if r.Wants("a", time.Duration(i), 0) {
				_ = r.Append(record(i, "a", time.Duration(i), 1))
			}
		}
	})
	for range 4 {
		wg.Go(func() {
			for range 200 {
				for _, rec := range r.Sessions(spans.Query{Worst: true, Limit: 5}) {
					r.Session(rec.ID)
				}
				r.SizeBytes()
			}
		})
	}
	wg.Wait()
}

// TestRingSampleHasAMost holds that a ring with room for many more small sessions samples 2,000,
// beside sessions there for another reason.
func TestRingSampleHasAMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // without a clock that goes on
		r := spans.NewRing(16 << 20) // a quarter holds 8,000
		for i := range 20_000 {
			rec := record(i, "a", ms, 1)
			if r.Wants(rec.Name, rec.Duration, rec.Errors) {
				add(t, r, rec)
			}
		}
		const burst, slowest, sample = 1000, 8, 2000
		if n := len(r.Sessions(spans.Query{})); n < sample || n > burst+slowest+sample {
			t.Errorf("%d sessions, want between %d and %d", n, sample, burst+slowest+sample)
		}
	})
}
