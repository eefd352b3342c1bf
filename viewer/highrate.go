package viewer

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/otelprof/otelprof/internal/stacks/highrate"
	"github.com/otelprof/otelprof/spans/stacks"
)

// maxHighRateSeconds keeps a request within the server's time to write its answer.
const maxHighRateSeconds = 20

// highRateStacks answers POST /api/v1/stacks/highrate?seconds=5: it samples the whole process, 1000
// times a second of CPU time, from now on, and then answers as GET /api/v1/stacks does. It keeps
// the last ones.
func (h *Handler) highRateStacks(w http.ResponseWriter, r *http.Request) {
	if !h.withStacks(w) {
		return
	}
	query := r.URL.Query()
	seconds := 5
	if s := query.Get("seconds"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxHighRateSeconds {
			writeError(w, http.StatusBadRequest, "seconds %q: must be an integer in [1, %d]", s, maxHighRateSeconds)
			return
		}
		seconds = n
	}
	q, err := stacksQuery(query)
	if err != nil {
		writeError(w, http.StatusBadRequest, "%s", err)
		return
	}
	if !h.sampling.TryLock() { // one at a time
		writeError(w, http.StatusConflict, "samples are being taken for another request: try again in a few seconds")
		return
	}
	defer h.sampling.Unlock()
	recording, err := h.sampleHighRate(r, time.Duration(seconds)*time.Second)
	switch {
	case r.Context().Err() != nil: // the client has gone, or the server shuts down
		writeError(w, http.StatusServiceUnavailable, "stacks/highrate: the request was canceled")
	case errors.Is(err, highrate.ErrNotSupported):
		writeError(w, http.StatusNotImplemented, "%s", err)
	case err != nil:
		writeError(w, http.StatusServiceUnavailable, "%s", err)
	default:
		h.highRate.Store(recording)
		writeStacks(w, q, "", recording, h.stacks.Stats())
	}
}

// lastHighRate answers GET /api/v1/stacks/highrate, in each format, with the samples that were
// taken last.
func (h *Handler) lastHighRate(w http.ResponseWriter, r *http.Request) {
	q, ok := h.stacksAsked(w, r)
	if !ok {
		return
	}
	recording := h.highRate.Load()
	if recording == nil {
		writeError(w, http.StatusNotFound, "stacks/highrate: none were taken yet: POST takes some")
		return
	}
	writeStacks(w, q, "", recording, h.stacks.Stats())
}

func (h *Handler) sampleHighRate(r *http.Request, d time.Duration) (*stacks.Recording, error) {
	start := time.Now()
	p, err := highrate.NewProfiler()
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
	if err := p.Shutdown(context.WithoutCancel(r.Context())); err != nil {
		return nil, err
	}
	stats := p.Stats()
	return &stacks.Recording{
		Start: start, Duration: stats.Elapsed, Hz: int(time.Second / stats.Period), CPU: stats.CPU, Lost: int64(stats.Lost),
		Origin:  h.origin(),
		Regions: []stacks.RegionTree{{Tree: p.Tree()}},
	}, nil
}
