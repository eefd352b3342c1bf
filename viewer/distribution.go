package viewer

import "net/http"

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
