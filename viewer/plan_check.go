package viewer

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/explain"
)

// checkJSON answers POST /api/v1/causal/plan/check: what the plan in the body would do here.
type checkJSON struct {
	explain.Explanation
	// Lines say all of it in words, and Cost what it delays at most.
	Lines []explain.Line `json:"lines"`
	Cost  string         `json:"cost"`
	// Refused is why it would not be started here, "" if it would.
	Refused string `json:"refused"`
}

// problemsJSON answers where the body is no plan.
type problemsJSON struct {
	Error    string      `json:"error"`
	Problems plan.Errors `json:"problems"`
}

// checkPlan explains the plan in the body. It changes nothing, so that it needs no token; from
// another origin it is refused like all that is not GET.
func (h *Handler) checkPlan(w http.ResponseWriter, r *http.Request) {
	if !h.withCausal(w) {
		return
	}
	document, err := io.ReadAll(r.Body)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		writeError(w, http.StatusRequestEntityTooLarge, "plan: must have at most %d bytes", tooLarge.Limit)
		return
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, "plan: must be sent whole: %s", err)
		return
	}
	p, err := plan.Parse(document)
	if err != nil {
		problems, _ := errors.AsType[plan.Errors](err)
		writeJSON(w, http.StatusUnprocessableEntity, problemsJSON{err.Error(), problems})
		return
	}
	status := h.causal.Status()
	caps := explain.Caps{Limits: status.Caps, Breaker: status.BreakerCaps, Allowed: status.Allowed}
	if caps.Limits == (plan.Limits{}) { // no experiments are allowed: as if they were, with the usual caps
		caps.Limits = plan.DefaultLimits()
	}
	e := explain.Plan(p, caps, time.Now())
	answer := checkJSON{Explanation: e, Lines: e.Lines(), Cost: e.Cost()}
	if err := h.causal.CheckFrom(h.source(), p); err != nil {
		answer.Refused = err.Error()
	}
	writeJSON(w, http.StatusOK, answer)
}

// causalTimeline answers GET /api/v1/causal/experiments: the latest experiments, at most
// as many as a [causal.Timeline] has.
func (h *Handler) causalTimeline(w http.ResponseWriter, _ *http.Request) {
	if h.withCausal(w) {
		writeJSON(w, http.StatusOK, h.causal.Timeline())
	}
}
