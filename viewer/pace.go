package viewer

import (
	"context"
	"net/http"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Requests per second in the long run, requests at once, and requests that wait for their turn.
// Pages that ask for an answer each second stay below it; a client without a pause must not take
// the application's processors.
const (
	paceRate    = 50
	paceBurst   = 100
	paceWaiting = 256
)

// A pace bounds how many requests are answered in a second: those above it wait for their turn.
type pace struct {
	limiter *rate.Limiter
	waiting atomic.Int64
}

func newPace() *pace { return &pace{limiter: rate.NewLimiter(paceRate, paceBurst)} }

// wait waits for a turn. It reports false where too many wait, or the client has gone.
func (p *pace) wait(ctx context.Context) bool {
	if p.limiter.Allow() {
		return true
	}
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > paceWaiting {
		return false
	}
	return p.limiter.Wait(ctx) == nil
}

// handler answers by h, in turn.
func (p *pace) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.wait(r.Context()) {
			w.Header().Set("Retry-After", "1")
			writeError(w, http.StatusServiceUnavailable, "too many requests wait: at most %d", paceWaiting)
			return
		}
		h.ServeHTTP(w, r)
	})
}
