package viewer

import (
	"errors"
	"net/http"
	"time"

	"github.com/otelprof/otelprof/causal"
)

const (
	// usualRecording is how long a recording is, unless the request says.
	usualRecording = 3 * time.Second
	// maxRecording keeps a request, with the analysis, within the server's time to write its answer.
	maxRecording = 10 * time.Second
)

// recordJSON answers POST /api/v1/causal/record.
type recordJSON struct {
	Recording causal.RecordingStatus `json:"recording"`
}

// recordNow answers POST /api/v1/causal/record?duration=3s: it has the program recorded and that analysed, and then says how
// recordings stand. A recording costs the program something, so the token is needed as for a plan; those that are made of
// the program's own accord need none.
func (h *Handler) recordNow(w http.ResponseWriter, r *http.Request) {
	if !h.withCausal(w) {
		return
	}
	if h.config.token == "" {
		writeError(w, http.StatusForbidden, "recording: can be asked for only where the application has set a token by WithToken")
		return
	}
	if !h.checkToken(w, r) {
		return
	}
	d := usualRecording
	if text := r.URL.Query().Get("duration"); text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil || d < causal.MinWindow || d > maxRecording {
			writeError(w, http.StatusBadRequest, "duration %q: must be in [%v, %v]", text, causal.MinWindow, maxRecording)
			return
		}
	}
	err := h.causal.Record(r.Context(), d)
	switch {
	case r.Context().Err() != nil: // nobody waits for it any more
		return
	case errors.Is(err, causal.ErrRecording):
		writeError(w, http.StatusConflict, "%s", err)
		return
	case err != nil:
		writeError(w, http.StatusServiceUnavailable, "%s", err)
		return
	}
	h.profiles.expire()
	writeJSON(w, http.StatusOK, recordJSON{h.causal.Status().Recording})
}
