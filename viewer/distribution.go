package viewer

import (
	"math/bits"
	"net/http"

	"github.com/otelprof/otelprof/otelhdr"
)

// distributionJSON answers GET
// /api/v1/regions/distribution?name=&scope=&scope_version=&scope_schema_url=&buckets=.
type distributionJSON struct {
	regionJSON
	// Bins stand side by side, four from a power of two to the next, the shortest first.
	Bins []binJSON `json:"bins"`
	// States are what the spans themselves say of their time; absent if none does.
	States *statesJSON `json:"states,omitempty"`
}

func (h *Handler) regionDistribution(w http.ResponseWriter, r *http.Request) {
	name, query := h.nameAsked(r), r.URL.Query()
	of, err := detailQuery(query)
	if err != nil {
		writeError(w, http.StatusBadRequest, "%s", err)
		return
	}
	stats := h.regions()
	var whole int64
	found := -1
	for i := range stats {
		whole += int64(stats[i].Self)
		is := func(key, value string) bool { return !query.Has(key) || query.Get(key) == value }
		of := stats[i].Scope
		if found < 0 && stats[i].Name == name && is("scope", of.Name) && is("scope_version", of.Version) && is("scope_schema_url", of.SchemaURL) {
			found = i
		}
	}
	if found < 0 {
		writeError(w, http.StatusNotFound, "region %q: must be the name of a measured region", name)
		return
	}
	out := distributionJSON{regionJSON: regionOf(&stats[found]), Bins: binsOf(stats[found].Durations)}
	out.RelativeError = max(out.RelativeError, h.leastError)
	out.Cumulative = cumulativeOf(stats[found].Durations, of)
	out.States = statesOf(h.store, regionKey{out.Scope, out.ScopeVersion, out.Name})
	if whole > 0 {
		out.SelfShare = float64(out.SelfNs) / float64(whole)
	}
	writeJSON(w, http.StatusOK, out)
}

// binBits make four bins of equal width from a power of two to the next.
const binBits = 2

// A binJSON counts the durations in [LowNs, HighNs].
type binJSON struct {
	LowNs  uint64 `json:"low_ns"`
	HighNs uint64 `json:"high_ns"`
	Count  uint64 `json:"count"`
}

// binsOf sums the buckets of a distribution into bins wide enough to draw. A bucket
// belongs to the bin of its lower bound. Empty bins between others are kept, so that the
// bins stand side by side.
func binsOf(s *otelhdr.Snapshot) []binJSON {
	bins := []binJSON{}
	if s == nil {
		return bins
	}
	last := 0
	for b := range s.Buckets() {
		if b.Count == 0 {
			continue
		}
		i := binIndex(b.Low)
		if len(bins) == 0 {
			last = i - 1
		}
		for ; last < i; last++ {
			bins = append(bins, binJSON{LowNs: binLow(last + 1), HighNs: binLow(last+2) - 1})
		}
		bins[len(bins)-1].Count += b.Count
	}
	return bins
}

// binIndex and binLow are the bins' number and its inverse.
func binIndex(v uint64) int { return logIndex(v, binBits) }
func binLow(i int) uint64   { return logLow(i, binBits) }

// logIndex and logLow are a logarithm and its inverse in whole numbers: the octave, and as many
// bits behind the leading one. Values with no more bits than that have a number each.
func logIndex(v uint64, bitsBehind int) int {
	if v < 1<<bitsBehind {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - bitsBehind
	return shift<<bitsBehind + int(v>>shift)
}

func logLow(i, bitsBehind int) uint64 {
	each := 1 << bitsBehind
	if i < 2*each {
		return uint64(i)
	}
	return uint64(each+i%each) << (i/each - 1) // the one past the last wraps to 0
}
