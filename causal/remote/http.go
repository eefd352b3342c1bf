package remote

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// HeaderSignature is the header with the signature of the plan in an answer's body, see
// [Sign].
const HeaderSignature = "Otelprof-Plan-Signature"

// An HTTP is a source of plans that polls a server with GET. What it answers means:
//
//	200          a plan; it is applied if it differs from the last one, as a whole
//	304          the plan is as it was; the question had If-None-Match if the plan had an ETag
//	204, 404     there is no plan; experiments end
//	all others   no answer; experiments end when three in a row were missed
//
// A body that is not a valid plan, or has more than [causal.MaxPlanBytes], ends experiments. A
// request takes no longer than [WithTimeout], follows redirects within the server only, and takes no
// compressed answer.
type HTTP struct {
	server *Endpoint
	etag   string
}

// NewHTTP returns a source that asks the server at an https URL, or http if the host is
// loopback or [WithoutTLS] is used. An error joins all that is wrong and wraps [ErrConfig].
func NewHTTP(url string, opts ...EndpointOption) (*HTTP, error) {
	e, err := NewEndpoint(url, []string{"https", "http"}, opts...)
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
	header := http.Header{}
	if h.etag != "" {
		header.Set("If-None-Match", h.etag)
	}
	a, err := h.server.Do(ctx, http.MethodGet, header, nil, causal.MaxPlanBytes)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		to.Missed(err)
	default:
		h.take(a, to)
	}
	return h.server.Wait(a.RetryAfter())
}

func (h *HTTP) take(a Answer, to *Sink) {
	switch {
	case a.Status == http.StatusOK:
		h.etag = a.Header.Get("ETag")
		_ = to.Document(a.Body, []byte(a.Header.Get(HeaderSignature))) // a refusal is in the controller's status and audit
	case a.Status == http.StatusNotModified && h.etag != "":
		to.Unchanged()
	case a.Status == http.StatusNoContent || a.Status == http.StatusNotFound:
		h.etag = ""
		to.None("the server has no plan")
	default:
		to.Missed(fmt.Errorf("answer %d %s: must be 200, 204, 304 or 404", a.Status, http.StatusText(a.Status)))
	}
}
