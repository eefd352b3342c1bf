package remote

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/http/planhttp"
	"github.com/otelprof/otelprof/internal/naming"
)

// An HTTP is a source of plans that polls a server with GET. Headers of at most 256 bytes name the
// process (Otelprof-Service-Name, Otelprof-Service-Instance-Id) and tell what became of the last
// plan (Otelprof-State; Otelprof-Plan-Status: applied, applying or failed; Otelprof-Plan-Error); a
// server may ignore them. A plan's signature, see [Sign], is in the answer's header
// Otelprof-Plan-Signature. What the server answers means:
//
//	200          a plan; it is applied if it differs from the last one, as a whole
//	304          the plan is as it was; the question had If-None-Match if the plan had an ETag
//	204, 404     there is no plan; experiments end
//	all others   no answer; experiments end after the time of three polls without one
//
// By Retry-After a server that is busy puts the next poll off, up to five minutes; the time of
// three polls stays as it is, so that a plan may end before the server is asked again.
//
// A body that is not a valid plan, or has more than [plan.MaxBytes], ends experiments. A request
// takes no longer than [WithTimeout], follows redirects within the server only, and takes no
// compressed answer.
type HTTP struct {
	server  *planhttp.Endpoint
	etag    string
	given   bool  // a document
	outcome error // of that
}

// NewHTTP returns a source that asks the server at an https URL, or http if the host is
// loopback or [WithoutTLS] is used. An error joins all that is wrong and wraps [ErrConfig].
func NewHTTP(url string, opts ...EndpointOption) (*HTTP, error) {
	e, err := planhttp.New(url, []string{"https", "http"}, opts...)
	if err != nil {
		return nil, err
	}
	return &HTTP{server: e}, nil
}

// String returns the URL without its query, which may be secret.
func (h *HTTP) String() string { return h.server.String() }

// Interval returns the longest time between two polls, a tenth above that of [WithInterval].
func (h *HTTP) Interval() time.Duration { return h.server.Interval() }

// Run polls until ctx ends, the first time at once.
func (h *HTTP) Run(ctx context.Context, to *Sink) {
	defer h.server.Close()
	h.etag, h.given, h.outcome = "", false, nil // an earlier Run's plan has ended
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		timer.Reset(h.poll(ctx, to) - time.Since(began))
	}
}

// poll asks once, and returns how long after its beginning to ask again.
func (h *HTTP) poll(ctx context.Context, to *Sink) time.Duration {
	a, err := h.server.Do(ctx, http.MethodGet, h.header(to.Status()), nil, plan.MaxBytes)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		to.Missed(err)
	default:
		h.take(a, to)
	}
	return h.server.Wait(a.RetryAfter())
}

func (h *HTTP) header(s causal.Status) http.Header {
	state := string(s.State)
	if s.Reason != "" {
		state += ": " + s.Reason
	}
	header := http.Header{naming.HeaderState: {planhttp.HeaderText(state)}}
	if h.etag != "" {
		header.Set("If-None-Match", h.etag)
	}
	switch {
	case !h.given:
	case h.outcome != nil:
		header.Set(naming.HeaderPlanStatus, naming.PlanFailed)
		header.Set(naming.HeaderPlanError, planhttp.HeaderText(h.outcome.Error()))
	case s.State == causal.StateWaiting:
		header.Set(naming.HeaderPlanStatus, naming.PlanApplying)
	default:
		header.Set(naming.HeaderPlanStatus, naming.PlanApplied)
	}
	return header
}

func (h *HTTP) take(a planhttp.Answer, to *Sink) {
	switch {
	case a.Status == http.StatusOK:
		h.etag, h.given = a.Header.Get("ETag"), len(a.Body) > 0
		h.outcome = to.Document(a.Body, []byte(a.Header.Get(naming.HeaderSignature)))
	case a.Status == http.StatusNotModified && h.etag != "":
		to.Unchanged()
	case a.Status == http.StatusNoContent || a.Status == http.StatusNotFound:
		h.etag, h.given, h.outcome = "", false, nil
		to.None("the server has no plan")
	default:
		to.Missed(fmt.Errorf("answer %d %s: must be 200, 204, 304 or 404", a.Status, http.StatusText(a.Status)))
	}
}
