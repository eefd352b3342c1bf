package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/internal/http/planhttp"
)

// An EndpointOption sets how a server is reached.
type EndpointOption = planhttp.Option

// A PollOption is for files and servers alike.
type PollOption interface {
	EndpointOption
	applyFile(*File) error
}

type intervalOption time.Duration

// WithInterval sets the time between two polls, in [100ms, 10m]. Default: 2 s for a file and 5 s
// for a server.
func WithInterval(d time.Duration) PollOption { return intervalOption(d) }

func (o intervalOption) applyFile(f *File) error { return o.set(&f.interval) }

// ApplyEndpoint is called for a server.
func (o intervalOption) ApplyEndpoint(c *planhttp.Config) error { return o.set(&c.Interval) }

func (o intervalOption) set(to *time.Duration) error {
	d := time.Duration(o)
	if d < 100*time.Millisecond || d > 10*time.Minute {
		return fmt.Errorf("%w: interval %v: must be in [100ms, 10m]", ErrConfig, d)
	}
	*to = d
	return nil
}

// WithTimeout sets how long one request may take, in [10ms, 1m]. Default: the interval, and at most
// 10s.
func WithTimeout(d time.Duration) EndpointOption {
	return planhttp.OptionFunc(func(c *planhttp.Config) error {
		if d < 10*time.Millisecond || d > time.Minute {
			return fmt.Errorf("%w: timeout %v: must be in [10ms, 1m]", ErrConfig, d)
		}
		c.Timeout = d
		return nil
	})
}

// given sets a value, which must not be nil.
func given(what string, is bool, set func(c *planhttp.Config)) EndpointOption {
	return planhttp.OptionFunc(func(c *planhttp.Config) error {
		if !is {
			return fmt.Errorf("%w: %s nil: must be set", ErrConfig, what)
		}
		set(c)
		return nil
	})
}

// WithToken sends a bearer token, which f gives anew for every request; it should return at
// once, and end with its context. Default: no token is sent.
func WithToken(f func(context.Context) (string, error)) EndpointOption {
	return given("token", f != nil, func(c *planhttp.Config) { c.Token = f })
}

// WithTokenFile is [WithToken] with the content of a file, without the space around it. The
// file is read for every request, so that it can be replaced.
func WithTokenFile(path string) EndpointOption {
	return WithToken(func(context.Context) (string, error) {
		const maxTokenBytes = 16 << 10
		token, err := read(path, maxTokenBytes)
		if err == nil && len(token) > maxTokenBytes {
			err = fmt.Errorf("%s: must have at most %d bytes", path, maxTokenBytes)
		}
		return string(bytes.TrimSpace(token)), err
	})
}

// WithTLS sets how servers are trusted and, with Certificates or GetClientCertificate, the client
// certificate (mutual TLS). The configuration is copied. Default: the system's roots are trusted
// and no certificate is shown.
func WithTLS(t *tls.Config) EndpointOption {
	return given("TLS", t != nil, func(c *planhttp.Config) { c.TLS = planhttp.RecoverTLS(t.Clone()) })
}

// WithoutTLS permits plain text to servers that are not on this machine: a man in the middle can
// read the token and change plans that are not signed. Default: such a URL is an error.
func WithoutTLS() EndpointOption {
	return planhttp.OptionFunc(func(c *planhttp.Config) error { c.WithoutTLS = true; return nil })
}

// WithResource names this process to the server. Default: it is not named.
func WithResource(r *resource.Resource) EndpointOption {
	return given("resource", r != nil, func(c *planhttp.Config) { c.Resource = r })
}

// WithDial sets how connections are made, to reach a server over a Unix socket for example.
// Default: a [net.Dialer].
func WithDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) EndpointOption {
	return given("dial", dial != nil, func(c *planhttp.Config) { c.Dial = dial })
}
