package viewer

import "net/http"

// distributionJSON answers GET /api/v1/regions/distribution?name=&scope=&scope_version=&buckets=.
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
		scoped := !query.Has("scope") || query.Get("scope") == stats[i].Scope.Name
		versioned := !query.Has("scope_version") || query.Get("scope_version") == stats[i].Scope.Version
		if found < 0 && scoped && versioned && stats[i].Name == name {
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
