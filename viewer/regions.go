package viewer

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/otelprof/otelprof/spans"
)

// regionsJSON answers GET /api/v1/regions. With buckets=1 each region has its whole distribution,
// with buckets=coarse that in fewer buckets.
type regionsJSON struct {
	// Regions are ordered by self time, the longest first.
	Regions []regionJSON  `json:"regions"`
	Dropped spans.Dropped `json:"dropped"`
	// SelfNs is the sum over all regions, the whole that the shares are parts of.
	SelfNs int64 `json:"self_ns"`
	// RelativeError bounds the error of every percentile: the largest of the regions'.
	RelativeError float64 `json:"relative_error"`
	// Since is when the handler was made: another one has begun to count anew. Runs have none.
	Since time.Time `json:"since,omitzero"`
}

// regionJSON is one region. Percentiles are exact to within RelativeError.
type regionJSON struct {
	Scope         string  `json:"scope"`
	ScopeVersion  string  `json:"scope_version,omitempty"`
	SchemaURL     string  `json:"scope_schema_url,omitempty"`
	Name          string  `json:"name"`
	Kind          string  `json:"kind"`
	Count         uint64  `json:"count"`
	Errors        uint64  `json:"errors"`
	MinNs         uint64  `json:"min_ns"`
	P50Ns         uint64  `json:"p50_ns"`
	P90Ns         uint64  `json:"p90_ns"`
	P99Ns         uint64  `json:"p99_ns"`
	P999Ns        uint64  `json:"p999_ns"`
	MaxNs         uint64  `json:"max_ns"`
	MeanNs        uint64  `json:"mean_ns"`
	TotalNs       int64   `json:"total_ns"`
	SelfNs        int64   `json:"self_ns"`
	SelfShare     float64 `json:"self_share"` // of the self time of all regions, in [0, 1]
	RelativeError float64 `json:"relative_error"`
	// Pmu is what was counted in a sample of the spans; absent if there was none.
	Pmu *pmuJSON `json:"pmu,omitempty"`
	// Cumulative is all that was recorded since the start; only where buckets asks for it.
	Cumulative *cumulativeJSON `json:"cumulative,omitempty"`
}

func (h *Handler) listRegions(w http.ResponseWriter, request *http.Request) {
	detail, err := detailQuery(request.URL.Query())
	if err != nil {
		writeError(w, http.StatusBadRequest, "%s", err)
		return
	}
	h.inDetail(w, request, detail, func() {
		out := regionsOf(h.regions(), h.countersByRegion(), h.leastError, detail)
		out.Dropped, out.Since = h.dropped(), h.since
		writeJSON(w, http.StatusOK, out)
	})
}

// detailDeadline is how long a client may take to read all distributions.
const detailDeadline = 10 * time.Second

// inDetail calls answer while no other answer with all distributions is in memory, some 40 kB for
// each region. It waits for the other, and a reader that does not read has no longer than the
// deadline.
func (h *Handler) inDetail(w http.ResponseWriter, r *http.Request, of detail, answer func()) {
	if of == noBuckets {
		answer()
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), detailDeadline)
	defer cancel()
	select {
	case h.detailed <- struct{}{}:
		defer func() { <-h.detailed }()
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(detailDeadline))
		answer()
	case <-ctx.Done(): // its reader has no deadline, behind a writer of the application's own
		writeError(w, http.StatusServiceUnavailable, "buckets: another answer that has them is being read: try again")
	}
}

// regionsOf orders regions and adds up what they are parts of.
func regionsOf(stats []spans.RegionStats, counters map[regionKey]*pmuJSON, leastError float64, of detail) regionsJSON {
	out := regionsJSON{Regions: make([]regionJSON, 0, len(stats))}
	for i := range stats {
		r := regionOf(&stats[i])
		r.RelativeError = max(r.RelativeError, leastError)
		r.Pmu = counters[regionKey{r.Scope, r.ScopeVersion, r.Name}]
		r.Cumulative = cumulativeOf(stats[i].Durations, of)
		out.SelfNs += r.SelfNs
		out.RelativeError = max(out.RelativeError, r.RelativeError)
		out.Regions = append(out.Regions, r)
	}
	for i := range out.Regions {
		if out.SelfNs > 0 {
			out.Regions[i].SelfShare = float64(out.Regions[i].SelfNs) / float64(out.SelfNs)
		}
	}
	slices.SortFunc(out.Regions, func(a, b regionJSON) int {
		return cmp.Or(
			cmp.Compare(b.SelfNs, a.SelfNs),
			strings.Compare(a.Scope, b.Scope),
			strings.Compare(a.ScopeVersion, b.ScopeVersion),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.SchemaURL, b.SchemaURL),
		)
	})
	return out
}

func regionOf(s *spans.RegionStats) regionJSON {
	r := regionJSON{
		Scope:        s.Scope.Name,
		ScopeVersion: s.Scope.Version,
		SchemaURL:    s.Scope.SchemaURL,
		Name:         s.Name,
		Kind:         s.Kind.String(),
		Count:        s.Count,
		Errors:       s.Errors,
		TotalNs:      int64(s.Total),
		SelfNs:       int64(s.Self),
	}
	if s.Count > 0 {
		r.MeanNs = uint64(max(0, s.Total)) / s.Count
	}
	if d := s.Durations; d != nil && d.Count() > 0 {
		r.MinNs, r.MaxNs, r.RelativeError = d.Min(), d.Max(), d.RelativeError()
		at := d.Percentiles([]float64{50, 90, 99, 99.9}, nil)
		r.P50Ns, r.P90Ns, r.P99Ns, r.P999Ns = at[0], at[1], at[2], at[3]
	}
	return r
}

// nameAsked returns the name of the region that a request is about. JSON has U+FFFD for each byte
// that is not UTF-8, and so has who asks.
func (h *Handler) nameAsked(r *http.Request) string {
	name := r.URL.Query().Get("name")
	if strings.ContainsRune(name, utf8.RuneError) {
		for _, s := range h.regions() {
			if string([]rune(s.Name)) == name {
				return s.Name
			}
		}
	}
	return name
}
