package viewer

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/otelprof/otelprof/otelhdr"
)

var update = flag.Bool("update", false, "rewrite what the page's tests compare with")

// comparedFile is what jstest/compare.test.mjs computes again from the readings.
const comparedFile = "jstest/compare.json"

type comparedCase struct {
	Name string `json:"name"`
	// Mark and Now are two readings of a region, and Start one before, if there is one.
	Start  *readingJSON `json:"start"`
	Mark   readingJSON  `json:"mark"`
	Now    readingJSON  `json:"now"`
	Before figuresJSON  `json:"before"`
	After  figuresJSON  `json:"after"`
	Change []string     `json:"change"` // of the percentiles and the mean, as otelhdr writes them
	D      string       `json:"d"`
}

type readingJSON struct {
	Count      uint64          `json:"count"`
	MinNs      uint64          `json:"min_ns"`
	MaxNs      uint64          `json:"max_ns"`
	Cumulative *cumulativeJSON `json:"cumulative"`
}

type figuresJSON struct {
	Count       uint64   `json:"count"`
	Mean        float64  `json:"mean"`
	Deviation   float64  `json:"deviation"`
	Percentiles []uint64 `json:"percentiles"`
}

func readingOf(s *otelhdr.Snapshot) readingJSON {
	return readingJSON{s.Count(), s.Min(), s.Max(), cumulativeOf(s, allBuckets)}
}

func figuresOf(s *otelhdr.Snapshot) figuresJSON {
	return figuresJSON{s.Count(), s.Mean(), s.StdDev(), s.Percentiles([]float64{50, 90, 99}, nil)}
}

// compared makes a case whose windows hold these values; early are there before the first window.
func compared(t *testing.T, name string, early, before, after []uint64) comparedCase {
	t.Helper()
	h, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	record := func(values []uint64) *otelhdr.Snapshot {
		for _, v := range values {
			h.Record(v)
		}
		return h.Snapshot(nil)
	}
	first, mark, now := record(early), record(before), record(after)
	a, b := mark.Since(first, nil), now.Since(mark, nil)
	c := comparedCase{Name: name, Mark: readingOf(mark), Now: readingOf(now), Before: figuresOf(a), After: figuresOf(b)}
	if len(early) > 0 {
		start := readingOf(first)
		c.Start = &start
	}
	table := otelhdr.Diff{Before: a.Summary(nil), After: b.Summary(nil)}.Markdown("", "before", "after")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		last := strings.TrimSpace(cells[len(cells)-1])
		switch strings.TrimSpace(cells[0]) {
		case "50", "90", "99", "Mean:":
			c.Change = append(c.Change, last)
		case "D-value:":
			c.D = last
		}
	}
	return c
}

// The page compares as otelhdr does: these are otelhdr's figures, from the readings that the API
// gives. The page's own test computes them again.
func TestComparedFigures(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	around := func(n int, middle, spread uint64) []uint64 {
		out := make([]uint64, n)
		for i := range out {
			out[i] = middle - spread + r.Uint64N(spread) + r.Uint64N(spread)
		}
		return out
	}
	cases := []comparedCase{
		compared(t, "slower", nil, around(150, 2e6, 1e6), around(100, 2.4e6, 1e6)),
		compared(t, "faster, after a start", around(50, 9e6, 8e6), around(100, 3e6, 5e5), around(70, 1e6, 2e5)),
		compared(t, "the same", nil, []uint64{5, 5, 5}, []uint64{5, 5}),
		compared(t, "no scatter", nil, []uint64{5, 5, 5}, []uint64{7, 7}),
		compared(t, "from zero", nil, []uint64{0, 0, 0, 1}, []uint64{0, 9, 10, 11}),
		compared(t, "one on either side", nil, []uint64{100_000}, []uint64{200_000}),
		compared(t, "nothing since", nil, []uint64{100_000, 5}, nil),
	}
	if *update {
		text, err := json.Marshal(cases)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(comparedFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(comparedFile)
	if err != nil {
		t.Fatal(err)
	}
	var kept []comparedCase
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatalf("%s: %v", comparedFile, err)
	}
	// Processors differ in the last digits of a deviation.
	if diff := cmp.Diff(cases, kept, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("%s is not what otelhdr says; -update writes it (-want +got):\n%s", comparedFile, diff)
	}
}

func TestCumulative(t *testing.T) {
	h := testHandler(t, nil)
	list := decode[regionsJSON](t, ask(t, h, "GET", "/api/v1/regions?buckets=1", ""), 200)
	for _, r := range list.Regions {
		var n uint64
		for _, b := range r.Cumulative.Buckets {
			n += b[2]
		}
		if n != r.Count || r.Count > 0 && r.Cumulative.SumNs != float64(r.TotalNs) {
			t.Errorf("%s: buckets of %d values with sum %g, want %d with %d", r.Name, n, r.Cumulative.SumNs, r.Count, r.TotalNs)
		}
	}
	path := "/api/v1/regions/distribution?name=" + url.QueryEscape("GET /items/{id}")
	one := decode[distributionJSON](t, ask(t, h, "GET", path+"&scope=shop&scope_version=2&buckets=1", ""), 200)
	if diff := cmp.Diff(list.Regions[0].Cumulative, one.Cumulative); diff != "" {
		t.Errorf("list and region differ (-list +region):\n%s", diff)
	}
	errorOf(t, ask(t, h, "GET", path+"&scope=shop&scope_version=1", ""), 404)
	if a := ask(t, h, "GET", "/api/v1/regions", ""); strings.Contains(a.body, "cumulative") {
		t.Error("the distributions are sent to who has not asked")
	}
}

// TestCoarseBuckets checks that they have all values, in order, and that their middles are near.
func TestCoarseBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, err := otelhdr.NewHistogram()
		if err != nil {
			t.Fatal(err)
		}
		values := rapid.SliceOfN(rapid.Uint64(), 1, 200).Draw(t, "values")
		for _, v := range values {
			h.Record(v >> (v % 60)) // of all sizes
		}
		s := h.Snapshot(nil)
		all, coarse := cumulativeOf(s, allBuckets), cumulativeOf(s, coarseBuckets)
		var count uint64
		for i, b := range coarse.Buckets {
			count += b[2]
			if b[0] > b[1] || i > 0 && b[0] <= coarse.Buckets[i-1][1] {
				t.Fatalf("bucket %d of %v is not in order", i, coarse.Buckets)
			}
			if half := float64(b[1]-b[0]) / 2; half > float64(b[0])/128 {
				t.Fatalf("bucket %v: its middle is more than 1/128 off", b)
			}
		}
		if count != uint64(len(values)) || len(coarse.Buckets) > len(all.Buckets) || coarse.SumNs != all.SumNs {
			t.Errorf("%d values in %d coarse buckets, of %d values in %d", count, len(coarse.Buckets), len(values), len(all.Buckets))
		}
	})
	if cumulativeOf(nil, coarseBuckets) == nil || cumulativeOf(nil, noBuckets) != nil {
		t.Error("no distribution has no buckets, and is absent only where it is not asked for")
	}
}
