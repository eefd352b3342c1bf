package spans

import (
	"context"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/baggage"
)

// baggageKey is the member of the W3C baggage that carries a session's origin.
const baggageKey = "otelprof.session"

// Receivers drop members of a baggage beyond these, and not always the last ones.
const (
	maxBaggageMembers = 64
	maxBaggageBytes   = 8192
)

// ContextWithSessionBaggage returns a context whose baggage carries the origin of the
// session in ctx, for a call to a peer that may know it. Propagators send the baggage of a
// context to whomever the call goes to, so make it for that one call. If there is no session, or
// the baggage is full (64 members, 8192 bytes), ctx is returned as it is.
func ContextWithSessionBaggage(ctx context.Context) context.Context {
	s := SessionFromContext(ctx)
	if s == nil {
		return ctx
	}
	m, err := baggage.NewMember(baggageKey, s.Origin().String())
	if err != nil {
		return ctx
	}
	b, err := baggage.FromContext(ctx).SetMember(m)
	if err != nil || b.Len() > maxBaggageMembers || len(b.String()) > maxBaggageBytes {
		return ctx
	}
	return baggage.ContextWithBaggage(ctx, b)
}

// NewTransport returns a transport that lets the peers in hosts, as "name" or "name:port"
// of the request's URL, know the session, and takes the session out of the baggage for all
// others. Put it around the one that injects the baggage:
//
//	spans.NewTransport(otelhttp.NewTransport(base), "inventory.internal:8080")
func NewTransport(base http.RoundTripper, hosts ...string) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base: base, hosts: slices.Clone(hosts)}
}

type transport struct {
	base  http.RoundTripper
	hosts []string
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	listed := slices.Contains(t.hosts, req.URL.Host) || slices.Contains(t.hosts, req.URL.Hostname())
	b := baggage.FromContext(ctx)
	has := b.Member(baggageKey).Key() != "" // as a caller sent it, perhaps
	if has {
		ctx = baggage.ContextWithBaggage(ctx, b.DeleteMember(baggageKey))
	}
	if listed {
		ctx = ContextWithSessionBaggage(ctx)
	}
	if has || listed {
		req = req.WithContext(ctx)
	}
	return t.base.RoundTrip(req)
}
