package planserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/otelprof/otelprof/internal/http/access"
)

// ErrConfig is wrapped by errors about options and addresses.
var ErrConfig = errors.New("planserver: configuration")

// minTokenLen is the length in bytes below which a token can be guessed.
const minTokenLen = 16

// An Option sets what [NewServer] makes.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	log           *slog.Logger
	token         string
	instanceToken string
	admins        map[string]bool // names in certificates, in lower case
	hosts         map[string]bool
	tls           *tls.Config
	certificate   *x509.Certificate // the one shown
	fixed         string
	errs          []error
}

func newConfig(opts []Option) (config, error) {
	c := config{log: slog.New(slog.DiscardHandler), hosts: map[string]bool{}, admins: map[string]bool{}}
	for _, o := range opts {
		c = o.apply(c)
	}
	if len(c.admins) > 0 && !c.certified() {
		c = c.reject("admins: must be given beside client certificates: -client-ca")
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
// and what became of a plan there. Default: the audit is not logged.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c config) config {
		if l != nil {
			c.log = l
		}
		return c
	})
}

// WithToken lets requests with "Authorization: Bearer token" push and stop plans, and read. It has
// at least 16 bytes and is for operators: give instances another one, [WithInstanceToken], or
// certificates. Default: only clients of [WithAdmins] may push; without either option none may.
func WithToken(token string) Option {
	return optionFunc(func(c config) config {
		c.token = token
		return c.checkToken("token", token)
	})
}

// WithInstanceToken lets instances read the plan and report with a token of their own, with which
// nothing can be pushed or stopped. Default: they show a client certificate, or are on this
// machine.
func WithInstanceToken(token string) Option {
	return optionFunc(func(c config) config {
		c.instanceToken = token
		return c.checkToken("instance token", token)
	})
}

// WithAdmins lets clients push and stop plans whose verified certificate, see [WithTLS], is for one
// of these names: a DNS name, an address or a URI in it or, if it has none of them, the subject's
// common name. Default: no certificate permits to push.
func WithAdmins(names ...string) Option {
	return optionFunc(func(c config) config {
		for _, name := range names {
			if name == "" {
				c = c.reject("admin \"\": must not be empty")
				continue
			}
			c.admins[strings.ToLower(name)] = true
		}
		return c
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
// to case. Default: the address on which the connection came in, localhost on loopback, and the
// names in the certificate of [WithTLS].
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
// RequireAndVerifyClientCert, client certificates stand in for the instances' token. Default: the
// server speaks plain text and listens on loopback only.
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
// [Server.Push] replaces it. It can still be stopped. Default: PUT replaces the plan.
func WithFixedPlan(from string) Option {
	return optionFunc(func(c config) config { c.fixed = from; return c })
}

// certified reports whether each client must show a certificate that the server trusts.
func (c config) certified() bool {
	return c.tls != nil && c.tls.ClientAuth == tls.RequireAndVerifyClientCert && c.tls.ClientCAs != nil
}
