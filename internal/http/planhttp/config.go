package planhttp

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/internal/naming"
)

// ErrConfig is wrapped by errors about options, those of causal/remote.
var ErrConfig = errors.New("causal/remote: configuration")

// DefaultInterval is how often a server is asked.
const DefaultInterval = 5 * time.Second

// A Config is how a server is reached.
type Config struct {
	Interval   time.Duration
	Timeout    time.Duration // 0 for the interval
	Token      func(context.Context) (string, error)
	TLS        *tls.Config // see [RecoverTLS]
	WithoutTLS bool
	Resource   *resource.Resource
	Dial       func(ctx context.Context, network, address string) (net.Conn, error)
}

// An Option sets a part of a [Config].
type Option interface {
	ApplyEndpoint(*Config) error
}

// An OptionFunc is an [Option].
type OptionFunc func(*Config) error

// ApplyEndpoint calls f.
func (f OptionFunc) ApplyEndpoint(c *Config) error { return f(c) }

// RecoverTLS makes errors of panics in callbacks, which run on goroutines of the transport.
func RecoverTLS(t *tls.Config) *tls.Config {
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

// recovered makes an error of a panic, if it is deferred.
func recovered(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s: panic: %v", what, v)
	}
}

func (c *Config) identity() http.Header {
	h := http.Header{"User-Agent": {"otelprof/" + version()}}
	for name, key := range map[string]attribute.Key{
		naming.HeaderServiceName:       "service.name",
		naming.HeaderServiceInstanceID: "service.instance.id",
	} {
		if v, ok := c.Resource.Set().Value(key); ok {
			h.Set(name, HeaderText(v.AsString()))
		}
	}
	return h
}

// HeaderText makes of any text one that a header may have, of at most 256 bytes.
func HeaderText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.ToValidUTF8(text[:min(len(text), 256)], "")
}

// version is this module's, "devel" where the build does not know.
func version() string { return cmp.Or(strings.Trim(naming.Version(), "()"), "devel") }
