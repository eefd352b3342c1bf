package viewer

import (
	"net/http"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/explain/foretold"
)

// outcomesAge is how long outcomes are served before they are computed anew: they change by the
// minute.
const outcomesAge = 10 * time.Second

// outcomesJSON answers GET /api/v1/causal/outcomes: what was foretold of versions before, and what
// came.
type outcomesJSON struct {
	Outcomes []profile.Outcome `json:"outcomes"` // the last first
	// Held is how many of Of that can be judged came within their intervals.
	Held int `json:"held"`
	Of   int `json:"of"`
}

func (h *Handler) causalOutcomes(w http.ResponseWriter, _ *http.Request) {
	out := outcomesJSON{Outcomes: []profile.Outcome{}}
	if h.outcomes != nil {
		all, _ := h.foretold.get(outcomesAge, profileRest, func() ([]profile.Outcome, error) { return h.outcomes(), nil })
		out.Outcomes = append(out.Outcomes, all...)
		out.Held, out.Of = foretold.Calibration(all)
	}
	writeJSON(w, http.StatusOK, out)
}
