package viewer

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/internal/naming"
)

// planJSON answers GET, PUT and DELETE /api/v1/causal/plan.
type planJSON struct {
	// Plan is the one in force, or the last one; null if there was none.
	Plan   *plan.Plan    `json:"plan"`
	Status causal.Status `json:"status"` // without the plan
	// TokenRequired reports that stopping needs the token.
	TokenRequired bool `json:"token_required"`
	// Replaceable reports that PUT is allowed with the token alone, without a signature.
	Replaceable bool `json:"replaceable"`
}

// withCausal reports whether there is a controller, and answers 404 if not.
func (h *Handler) withCausal(w http.ResponseWriter) bool {
	if h.causal == nil {
		writeError(w, http.StatusNotFound, "causal controller: must be set in the viewer's Sources, as otelprof.Setup does")
	}
	return h.causal != nil
}

func (h *Handler) causalPlan(w http.ResponseWriter, _ *http.Request) {
	if !h.withCausal(w) {
		return
	}
	h.writePlan(w)
}

func (h *Handler) writePlan(w http.ResponseWriter) {
	out := planJSON{Status: h.causal.Status(), TokenRequired: h.config.token != "", Replaceable: h.config.token != "" && !h.config.signed}
	out.Plan, out.Status.Plan = out.Status.Plan, nil
	writeJSON(w, http.StatusOK, out)
}

// replacePlan applies the plan in the body. A document that is not a plan ends the one in
// force: its sender wanted something else than what runs.
func (h *Handler) replacePlan(w http.ResponseWriter, r *http.Request) {
	if !h.withCausal(w) {
		return
	}
	if h.config.token == "" {
		writeError(w, http.StatusForbidden, "plan: can be replaced only where the program has a token: "+tokenSetters)
		return
	}
	if !h.checkToken(w, r) {
		return
	}
	doc, err := io.ReadAll(r.Body)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		h.rejectPlan(w, http.StatusRequestEntityTooLarge, fmt.Errorf("plan: must have at most %d bytes", tooLarge.Limit))
		return
	}
	if err != nil { // the sender has gone half way: nothing is known about what was wanted
		writeError(w, http.StatusBadRequest, "plan: must be sent whole: %s", err)
		return
	}
	if h.config.signed {
		if err := remote.Verify(doc, []byte(r.Header.Get(naming.HeaderSignature)), h.config.keys...); err != nil {
			h.rejectPlan(w, http.StatusForbidden, err)
			return
		}
	}
	p, err := plan.Parse(doc)
	if err != nil {
		h.rejectPlan(w, http.StatusBadRequest, err)
		return
	}
	if err := h.causal.ApplyFrom(h.source(), p); err != nil {
		writeError(w, http.StatusConflict, "%s", err)
		return
	}
	h.profiles.expire()
	h.writePlan(w)
}

func (h *Handler) rejectPlan(w http.ResponseWriter, status int, err error) {
	h.causal.Reject(h.source(), err)
	h.profiles.expire()
	writeError(w, status, "%s; no plan is in force now", err)
}

func (h *Handler) stopPlan(w http.ResponseWriter, r *http.Request) {
	if !h.withCausal(w) || (h.config.token != "" && !h.checkToken(w, r)) {
		return
	}
	h.causal.StopPlan("stopped by the viewer")
	h.profiles.expire()
	h.writePlan(w)
}

// tokenSetters are what sets the token.
const tokenSetters = "OTELPROF_VIEWER_TOKEN_FILE or viewer.WithToken sets it"

func (h *Handler) checkToken(w http.ResponseWriter, r *http.Request) bool {
	if h.authorized(r) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="otelprof viewer"`)
	writeError(w, http.StatusUnauthorized, "authorization: must be Bearer and the program's token: "+tokenSetters)
	return false
}
