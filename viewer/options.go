package viewer

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/explain/fleet"
	"github.com/otelprof/otelprof/internal/http/access"
	"github.com/otelprof/otelprof/spans"
)

// ErrConfig is wrapped by the errors that reject a source, an option or an address.
var ErrConfig = errors.New("viewer: configuration")

// minTokenLen is the length in bytes below which a token can be guessed.
const minTokenLen = 16

// traceIDHole stands for the trace ID in the address of a trace.
const traceIDHole = "{trace_id}"

// An Option changes a [Handler].
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	hosts    map[string]bool
	token    string
	signed   bool
	keys     []ed25519.PublicKey
	traceURL string // with traceIDHole
	fleet    *fleet.Prometheus
	problems []error
}

func newConfig(opts []Option) (config, error) {
	c := config{hosts: map[string]bool{}}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	return c, errors.Join(c.problems...)
}

func (c config) reject(format string, args ...any) config {
	c.problems = append(c.problems, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	return c
}

// WithHosts also answers requests with one of these Host headers, each "name" or
// "name:port", compared exactly and without regard to case. It is for a handler mounted on
// a server that is reached by a name, or on an address that is not loopback: every client of
// that server can then read what the viewer shows.
//
// Default: only the loopback address on which the connection came in, and localhost with its
// port, which prevents DNS rebinding.
func WithHosts(hosts ...string) Option {
	return optionFunc(func(c config) config {
		for _, text := range hosts {
			host, err := access.ParseHost(text)
			if err != nil {
				c = c.reject("%v", err)
				continue
			}
			c.hosts[host] = true
		}
		return c
	})
}

// WithToken lets requests with "Authorization: Bearer token" replace the causal plan and have the
// program recorded. The token has at least 16 bytes. With it, stopping the plan needs the token
// too.
//
// Default: the plan cannot be replaced through the viewer, nothing is recorded on demand, and any
// request from an allowed host can stop the plan.
func WithToken(token string) Option {
	return optionFunc(func(c config) config {
		if len(token) < minTokenLen {
			return c.reject("token of %d bytes: must have at least %d", len(token), minTokenLen)
		}
		c.token = token
		return c
	})
}

// WithPlanKeys refuses plans that none of these keys has signed, all if there are no keys. The
// signature is in the header Otelprof-Plan-Signature, as package causal/remote makes it.
//
// Default: signatures are not checked.
func WithPlanKeys(keys ...ed25519.PublicKey) Option {
	return optionFunc(func(c config) config {
		c.signed, c.keys = true, keys
		return c
	})
}

// WithTraceURL links every session to the same trace in a tracing backend. The address is http
// or https, and has {trace_id} where the 32 hexadecimal digits go:
//
//	http://localhost:16686/trace/{trace_id}
//
// The browser opens it, in a tab of its own; this process never does. Sessions of which the
// sampler took no span have no link.
//
// Default: no links.
func WithTraceURL(address string) Option {
	return optionFunc(func(c config) config {
		u, err := url.Parse(strings.ReplaceAll(address, traceIDHole, trace.TraceID{}.String()))
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return c.reject("trace URL %q: must be an address with http or https", address)
		case !strings.Contains(address, traceIDHole):
			return c.reject("trace URL %q: must contain %s", address, traceIDHole)
		}
		c.traceURL = address
		return c
	})
}

// WithPrometheus has the causal view show all instances of all services, too, as far as their
// metrics are in this Prometheus. Its address is http or https, as http://localhost:9090. This
// process asks it while the page shows that, once in ten seconds at most.
//
// Default: this process alone.
func WithPrometheus(address string) Option {
	return optionFunc(func(c config) config {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return c.reject("Prometheus %q: must be an address with http or https", address)
		}
		c.fleet = &fleet.Prometheus{URL: address}
		return c
	})
}

// traceURLOf returns the address of a session's trace, "" for none.
func (c config) traceURLOf(s *spans.SessionRecord) string {
	sampled := func(span spans.SpanRecord) bool { return span.Sampled }
	if !s.TraceID.IsValid() || !slices.ContainsFunc(s.Spans, sampled) {
		return ""
	}
	return strings.ReplaceAll(c.traceURL, traceIDHole, s.TraceID.String())
}
