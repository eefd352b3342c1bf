package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// DefaultServerInterval is how often a server is asked.
const DefaultServerInterval = 5 * time.Second

// An EndpointOption sets how a server is reached.
type EndpointOption interface {
	applyEndpoint(*endpointConfig) error
}

type endpointConfig struct {
	interval   time.Duration
	timeout    time.Duration // 0 for the interval
	token      func(context.Context) (string, error)
	tls        *tls.Config
	withoutTLS bool
	resource   *resource.Resource
	dial       func(ctx context.Context, network, address string) (net.Conn, error)
}

type endpointOptionFunc func(*endpointConfig) error

func (f endpointOptionFunc) applyEndpoint(c *endpointConfig) error { return f(c) }

// A PollOption is for files and servers alike.
type PollOption interface {
	FileOption
	EndpointOption
}

type intervalOption time.Duration

// WithInterval sets the time between two polls, in [100ms, 10m]. Default: [DefaultInterval] for a file
// and [DefaultServerInterval] for a server.
func WithInterval(d time.Duration) PollOption { return intervalOption(d) }

func (o intervalOption) applyFile(f *File) error { return o.set(&f.interval) }

func (o intervalOption) applyEndpoint(c *endpointConfig) error { return o.set(&c.interval) }

func (o intervalOption) set(to *time.Duration) error {
	d := time.Duration(o)
	if d < 100*time.Millisecond || d > 10*time.Minute {
		return fmt.Errorf("%w: interval %v: must be in [100ms, 10m]", ErrConfig, d)
	}
	*to = d
	return nil
}

// WithTimeout sets how long one request may take, in [10ms, 1m]. Default: the interval, and at most 10s.
func WithTimeout(d time.Duration) EndpointOption {
	return endpointOptionFunc(func(c *endpointConfig) error {
		if d < 10*time.Millisecond || d > time.Minute {
			return fmt.Errorf("%w: timeout %v: must be in [10ms, 1m]", ErrConfig, d)
		}
		c.timeout = d
		return nil
	})
}

// WithToken sends a bearer token, which f gives anew for every request; it should return at
// once, and end with its context. Default: no token is sent.
func WithToken(f func(context.Context) (string, error)) EndpointOption {
	return endpointOptionFunc(func(c *endpointConfig) error {
		if f == nil {
			return fmt.Errorf("%w: token nil: must be set", ErrConfig)
		}
		c.token = f
		return nil
	})
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
// certificate (mutual TLS). The configuration is copied. Default: the system's roots are trusted and
// no certificate is shown.
func WithTLS(t *tls.Config) EndpointOption {
	return endpointOptionFunc(func(c *endpointConfig) error {
		if t == nil {
			return fmt.Errorf("%w: TLS nil: must be set", ErrConfig)
		}
		c.tls = recoverTLS(t.Clone())
		return nil
	})
}

// recoverTLS makes errors of panics in callbacks, which run on goroutines of the transport.
func recoverTLS(t *tls.Config) *tls.Config {
	t.NextProtos = nil // we speak HTTP/1.1 only
	if f := t.GetClientCertificate; f != nil {
		t.GetClientCertificate = func(r *tls.CertificateRequestInfo) (_ *tls.Certificate, err error) {
			defer recovered("tls: GetClientCertificate", &err)
			return f(r)
		}
	}
	if f := t.VerifyPeerCertificate; f != nil {
		t.VerifyPeerCertificate = func(raw [][]byte, chains [][]*x509.Certificate) (err error) {
			defer recovered("tls: VerifyPeerCertificate", &err)
			return f(raw, chains)
		}
	}
	if f := t.VerifyConnection; f != nil {
		t.VerifyConnection = func(s tls.ConnectionState) (err error) {
			defer recovered("tls: VerifyConnection", &err)
			return f(s)
		}
	}
	return t
}

func recovered(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s: panic: %v", what, v)
	}
}

// WithoutTLS permits plain text to servers that are not on this machine: a man in the middle can
// read the token and change plans that are not signed. Default: such a URL is an error.
func WithoutTLS() EndpointOption {
	return endpointOptionFunc(func(c *endpointConfig) error { c.withoutTLS = true; return nil })
}

// WithResource names this process to the server. Default: it is not named.
func WithResource(r *resource.Resource) EndpointOption {
	return endpointOptionFunc(func(c *endpointConfig) error {
		if r == nil {
			return fmt.Errorf("%w: resource nil: must be set", ErrConfig)
		}
		c.resource = r
		return nil
	})
}

// WithDial sets how connections are made, to reach a server over a Unix socket for example. Default:
// a [net.Dialer].
func WithDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) EndpointOption {
	return endpointOptionFunc(func(c *endpointConfig) error {
		if dial == nil {
			return fmt.Errorf("%w: dial nil: must be set", ErrConfig)
		}
		c.dial = dial
		return nil
	})
}

// Headers that name this process to a server.
const (
	HeaderServiceName       = "Otelprof-Service-Name"
	HeaderServiceInstanceID = "Otelprof-Service-Instance-Id"
)

func (c *endpointConfig) identity() http.Header {
	h := http.Header{"User-Agent": {"otelprof/" + version()}}
	for name, key := range map[string]attribute.Key{
		HeaderServiceName:       "service.name",
		HeaderServiceInstanceID: "service.instance.id",
	} {
		if v, ok := c.resource.Set().Value(key); ok {
			h.Set(name, headerText(v.AsString()))
		}
	}
	return h
}

// headerText makes of any text one that a header may have, of at most 256 bytes.
func headerText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.ToValidUTF8(text[:min(len(text), 256)], "")
}

// version is this module's, "devel" where the build does not know.
var version = sync.OnceValue(func() string {
	const module = "github.com/otelprof/otelprof"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "" {
				return strings.Trim(m.Version, "()")
			}
		}
	}
	return "devel"
})
