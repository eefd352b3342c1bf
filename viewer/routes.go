package viewer

import (
	"net/http"
)

// table has what answers, by the path.
func (h *Handler) table() map[string]methods {
	get := func(f http.HandlerFunc) methods { return methods{http.MethodGet: f} }
	return map[string]methods{
		"/{$}":                          get(h.servePage),
		"/assets/{name}":                get(serveAsset),
		"/page.html":                    get(h.serveOneFile),
		"/healthz":                      get(serveHealth),
		"/mcp":                          {http.MethodPost: serveAgents(h.agents())},
		"/api/v1/regions":               get(h.listRegions),
		"/api/v1/regions/distribution":  get(h.regionDistribution),
		"/api/v1/regions/stacks":        get(h.regionStacks),
		"/api/v1/regions/schedule":      get(h.regionSchedule),
		"/api/v1/regions/waits":         get(h.regionWaits),
		"/api/v1/runs":                  get(h.listRuns),
		"/api/v1/runs/{number}/regions": get(h.runRegions),
		"/api/v1/runs/{number}/stacks":  get(h.runStacks),
		"/api/v1/stacks":                get(h.processStacks),
		"/api/v1/goroutines":            get(h.allGoroutines),
		"/api/v1/stacks/highrate":       {http.MethodGet: h.lastHighRate, http.MethodPost: h.highRateStacks},
		"/api/v1/sessions":              get(h.listSessions),
		"/api/v1/sessions/{id}":         get(h.oneSession),
		"/api/v1/sessions/{id}/stacks":  get(h.sessionStacks),
		"/api/v1/causal/profile":        get(h.causalProfile),
		"/api/v1/causal/outcomes":       get(h.causalOutcomes),
		"/api/v1/causal/experiments":    get(h.causalTimeline),
		"/api/v1/causal/plan/check":     {http.MethodPost: h.checkPlan},
		"/api/v1/causal/record":         {http.MethodPost: h.recordNow},
		"/api/v1/causal/trace":          {http.MethodPost: h.recordTrace},
		"/api/v1/causal/plan": {
			http.MethodGet:    h.causalPlan,
			http.MethodPut:    h.replacePlan,
			http.MethodDelete: h.stopPlan,
		},
	}
}

// routes registers every path. The mux knows no methods: the method tables answer 405 in
// JSON, and the last pattern 404.
func (h *Handler) routes() error {
	if err := h.renderPage(); err != nil {
		return err
	}
	for path, m := range h.table() {
		h.mux.Handle(path, m)
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "path %q: must be one of the API's", r.URL.Path)
	})
	return nil
}
