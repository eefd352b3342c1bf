package viewer

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/naming"
)

const (
	// usualRecording is how long a recording is, unless the request has it.
	usualRecording = 3 * time.Second
	// maxRecording keeps a request, with the analysis, within the server's time to write its
	// answer.
	maxRecording = 10 * time.Second
	// traceDeadline is how long a client may take to read a trace.
	traceDeadline = 30 * time.Second
)

// recordJSON answers POST /api/v1/causal/record.
type recordJSON struct {
	Recording causal.RecordingStatus `json:"recording"`
}

// recordNow answers POST /api/v1/causal/record?duration=3s: it has the program recorded and that
// analysed, and then reports how recordings stand. A recording costs the program something, so the
// token is needed as for a plan; recordings of the program's own accord need none.
func (h *Handler) recordNow(w http.ResponseWriter, r *http.Request) {
	d, ok := h.mayRecord(w, r)
	if !ok {
		return
	}
	err := h.causal.Record(r.Context(), d)
	// One that was under way came first, and the server's time to write may be over.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(traceDeadline))
	if err != nil {
		notRecorded(w, r, err)
		return
	}
	h.profiles.expire()
	writeJSON(w, http.StatusOK, recordJSON{h.causal.Status().Recording})
}

// mayRecord answers a request that may not have the program recorded, and returns else for how long
// it asks.
func (h *Handler) mayRecord(w http.ResponseWriter, r *http.Request) (d time.Duration, ok bool) {
	if !h.withCausal(w) {
		return 0, false
	}
	if h.config.token == "" {
		writeError(w, http.StatusForbidden, "recording: can be asked for only where the program has a token: "+tokenSetters)
		return 0, false
	}
	if !h.checkToken(w, r) {
		return 0, false
	}
	text := r.URL.Query().Get("duration")
	if text == "" {
		return usualRecording, true
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < causal.MinWindow || d > maxRecording {
		writeError(w, http.StatusBadRequest, "duration %q: must be in [%v, %v]", text, causal.MinWindow, maxRecording)
		return 0, false
	}
	return d, true
}

// notRecorded answers why there is no recording.
func notRecorded(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case r.Context().Err() != nil: // the client has gone, or the server shuts down
		writeError(w, http.StatusServiceUnavailable, "recording: the request was canceled")
	case errors.Is(err, causal.ErrRecording):
		writeError(w, http.StatusConflict, "%s", err)
	default:
		writeError(w, http.StatusServiceUnavailable, "%s", err)
	}
}

// recordTrace answers POST /api/v1/causal/trace?duration=3s: it has the program recorded, and
// answers with the execution trace, for questions that take one; with samples=1 a CPU profile is on
// meanwhile. It takes what recordNow takes, and the trace has at most 64 MiB. One request at a time
// is answered, so that no more than one trace is in memory for slow readers.
func (h *Handler) recordTrace(w http.ResponseWriter, r *http.Request) {
	d, ok := h.mayRecord(w, r)
	if !ok {
		return
	}
	samples, err := isSet(r.URL.Query(), "samples")
	if err != nil {
		writeError(w, http.StatusBadRequest, "%s", err)
		return
	}
	if !h.tracing.TryLock() {
		writeError(w, http.StatusConflict, "trace: another one is being recorded or read")
		return
	}
	defer h.tracing.Unlock()
	t, err := h.causal.RecordTrace(r.Context(), d, samples)
	if err != nil {
		notRecorded(w, r, err)
		return
	}
	machine, err := json.Marshal(t.Machine)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "machine: %s", err)
		return
	}
	head := w.Header()
	head.Set(naming.HeaderMachine, string(machine))
	head.Set("Content-Type", "application/octet-stream")
	head.Set("Content-Disposition", `attachment; filename="trace.out"`)
	head.Set("Content-Length", strconv.Itoa(t.Bytes))
	// A server of the application's own may have no deadline, and a reader that does not read would
	// hold the trace.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(traceDeadline))
	_, _ = io.Copy(w, t) // a reader that has gone is none of our business
}
