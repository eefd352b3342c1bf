package viewer

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// cumulativeJSON is a distribution with nothing summed up, so that the page can take an earlier one
// away from a later one and compare the time between with any other. A bucket takes 15 to 20 bytes
// of JSON: that is 40 kB for a region that has filled 2,200 of them, after 33,000 spans, and a
// tenth of it if they are coarse.
type cumulativeJSON struct {
	SumNs float64 `json:"sum_ns"` // the float64 nearest to the exact sum
	// Buckets that are not empty, the shortest first: the first and the last value, and how many.
	Buckets [][3]uint64 `json:"buckets"`
}

// A detail is how much of a distribution is asked for.
type detail string

const (
	noBuckets detail = ""
	// allBuckets are the buckets of the histogram.
	allBuckets detail = "1"
	// coarseBuckets are 64 from a power of two to the next: their middles are within 0.8 %.
	coarseBuckets detail = "coarse"
)

const coarseBits = 6

func detailQuery(v url.Values) (detail, error) {
	switch d := detail(v.Get("buckets")); d {
	case noBuckets, allBuckets, coarseBuckets:
		return d, nil
	case "0":
		return noBuckets, nil
	default:
		return noBuckets, fmt.Errorf("buckets %q: must be 0, 1 or coarse", d)
	}
}

func cumulativeOf(s *otelhdr.Snapshot, of detail) *cumulativeJSON {
	if of == noBuckets {
		return nil
	}
	out := &cumulativeJSON{Buckets: [][3]uint64{}}
	if s == nil {
		return out
	}
	out.SumNs = s.Sum()
	for b := range s.Buckets() {
		next := [3]uint64{b.Low, b.High, b.Count}
		if of == coarseBuckets {
			i := logIndex(b.Low, coarseBits)
			// A bucket of the histogram may be the wider one: it keeps its last value.
			next[0], next[1] = logLow(i, coarseBits), max(b.High, logLow(i+1, coarseBits)-1)
			if n := len(out.Buckets); n > 0 && out.Buckets[n-1][0] == next[0] {
				out.Buckets[n-1][2] += b.Count
				continue
			}
		}
		out.Buckets = append(out.Buckets, next)
	}
	return out
}

// A Run is one of several saved runs, which the page compares with each other.
type Run struct {
	// Name is what the page calls it, usually its file's.
	Name string
	// Regions are all that it measured.
	Regions []spans.RegionStats
	// RelativeError is Saved.RelativeError.
	RelativeError float64
	// Stacks are the call stacks; nil for none.
	Stacks *stacks.Recording
}

// runsJSON answers GET /api/v1/runs.
type runsJSON struct {
	Runs []runJSON `json:"runs"`
}

type runJSON struct {
	Name    string `json:"name"`
	Regions int    `json:"regions"`
	Spans   uint64 `json:"spans"`
	Samples int64  `json:"samples"` // of call stacks
}

func (h *Handler) listRuns(w http.ResponseWriter, _ *http.Request) {
	out := runsJSON{Runs: []runJSON{}}
	for _, run := range h.runs {
		r := runJSON{Name: run.Name, Regions: len(run.Regions)}
		for i := range run.Regions {
			r.Spans += run.Regions[i].Count
		}
		if run.Stacks != nil {
			for _, region := range run.Stacks.Regions {
				r.Samples += region.Tree.Total().Samples
			}
		}
		out.Runs = append(out.Runs, r)
	}
	writeJSON(w, http.StatusOK, out)
}

// runAsked returns the run of a request's path, the first of which is 0, and false if it has been
// answered with an error.
func (h *Handler) runAsked(w http.ResponseWriter, r *http.Request) (*Run, bool) {
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 0 || n >= len(h.runs) {
		writeError(w, http.StatusNotFound, "run %q: must be the number of one of %d runs, from 0", r.PathValue("number"), len(h.runs))
		return nil, false
	}
	return &h.runs[n], true
}

// runStacks answers GET /api/v1/runs/{number}/stacks as if the run were here.
func (h *Handler) runStacks(w http.ResponseWriter, r *http.Request) {
	run, ok := h.runAsked(w, r)
	if !ok {
		return
	}
	q, err := stacksQuery(r.URL.Query())
	switch {
	case err != nil:
		writeError(w, http.StatusBadRequest, "%s", err)
	case run.Stacks == nil:
		writeError(w, http.StatusNotFound, "run %q: must have call stacks", run.Name)
	default:
		writeStacks(w, q, "", run.Stacks, savedStacks{run.Stacks}.Stats())
	}
}

// runRegions answers GET /api/v1/runs/{number}/regions as if the run were here.
func (h *Handler) runRegions(w http.ResponseWriter, r *http.Request) {
	run, ok := h.runAsked(w, r)
	if !ok {
		return
	}
	of, err := detailQuery(r.URL.Query())
	if err != nil {
		writeError(w, http.StatusBadRequest, "%s", err)
		return
	}
	h.inDetail(w, r, of, func() {
		writeJSON(w, http.StatusOK, regionsOf(run.Regions, nil, run.RelativeError, of))
	})
}
