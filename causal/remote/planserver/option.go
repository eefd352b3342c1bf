package planserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/otelprof/otelprof/internal/access"
)

// ErrConfig is wrapped by errors about options and addresses.
var ErrConfig = errors.New("planserver")

// minTokenLen is the length in bytes below which a token can be guessed.
const minTokenLen = 16

// An Option sets what [New] makes.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	log           *slog.Logger
	token         string
	instanceToken string
	hosts         map[string]bool
	tls           *tls.Config
	certificate   *x509.Certificate // the one shown
	fixed         string
	errs          []error
}

func newConfig(opts []Option) (config, error) {
	c := config{log: slog.New(slog.DiscardHandler), hosts: map[string]bool{}}
	for _, o := range opts {
		c = o.apply(c)
	}
	if c.instanceToken != "" && c.token == "" {
		c = c.reject("instance token: must be given beside a token, or everybody could push")
	}
	if c.instanceToken != "" && c.instanceToken == c.token {
		c = c.reject("instance token: must differ from the token, or instances could push")
	}
	return c, errors.Join(c.errs...)
}

func (c config) reject(format string, args ...any) config {
	c.errs = append(c.errs, fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, args...)))
	return c
}

// WithLogger sets where the audit goes: plans pushed, refused, stopped and expired, instances seen,
// and what became of a plan there. By default, if this option is not used, it is lost.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c config) config {
		if l != nil {
			c.log = l
		}
		return c
	})
}

// WithToken answers only requests with "Authorization: Bearer token". It has at least 16 bytes.
// By default, if this option is not used, whoever reaches the server may push.
func WithToken(token string) Option {
	return optionFunc(func(c config) config {
		c.token = token
		return c.checkToken("token", token)
	})
}

// WithInstanceToken lets instances read the plan and report with a token of their own, with which
// nothing can be pushed or stopped. By default, if this option is not used, they need that of
// [WithToken].
func WithInstanceToken(token string) Option {
	return optionFunc(func(c config) config {
		c.instanceToken = token
		return c.checkToken("instance token", token)
	})
}

func (c config) checkToken(what, token string) config {
	if len(token) < minTokenLen {
		return c.reject("%s of %d bytes: must have at least %d", what, len(token), minTokenLen)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return c.reject("%s: must be printable ASCII without spaces", what)
	}
	return c
}

// WithHosts answers these Host headers too, each "name" or "name:port", compared without regard
// to case. By default, if this option is not used, they are the address on which the
// connection came in, localhost on loopback, and the names in the certificate of [WithTLS].
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

// WithTLS serves TLS with t, which has a certificate; it is copied. If its ClientAuth is
// RequireAndVerifyClientCert, client certificates stand in for a token. By default, if this
// option is not used, the server speaks plain text and listens on loopback only.
func WithTLS(t *tls.Config) Option {
	return optionFunc(func(c config) config {
		if t == nil || len(t.Certificates) == 0 || len(t.Certificates[0].Certificate) == 0 {
			return c.reject("TLS: must have a certificate")
		}
		leaf, err := x509.ParseCertificate(t.Certificates[0].Certificate[0])
		if err != nil {
			return c.reject("TLS certificate: %v", err)
		}
		c.tls, c.certificate = t.Clone(), leaf
		c.tls.MinVersion = max(t.MinVersion, tls.VersionTLS12)
		return c
	})
}

// WithFixedPlan refuses PUT, since the plan comes from elsewhere, which the text names: only
// [Server.Push] replaces it. It can still be stopped. By default, if this option is not used, PUT
// replaces the plan.
func WithFixedPlan(from string) Option {
	return optionFunc(func(c config) config { c.fixed = from; return c })
}

// authenticated tells whether not everybody may push.
func (c config) authenticated() bool {
	return c.token != "" || c.tls != nil && c.tls.ClientAuth == tls.RequireAndVerifyClientCert && c.tls.ClientCAs != nil
}
