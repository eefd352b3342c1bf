package planserver

import (
	"crypto/x509"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/internal/http/access"
)

// admits rejects requests with a foreign Host (DNS rebinding), from a foreign origin (CSRF), or
// without a token; it reports whether the request may proceed.
func (s *Server) admits(w http.ResponseWriter, r *http.Request) bool {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	switch {
	case !s.hostAllowed(r):
		problem(w, http.StatusForbidden, "host %q: must be the address listened on, a name of the certificate, or one of -host", r.Host)
	case s.origins.Check(r) != nil:
		problem(w, http.StatusForbidden, "%s from another origin: must not come from a page", r.Method)
	case !s.authorized(r) && !s.pushable() && (s.instanceToken == "" || !s.onlyReads(r)):
		s.deny(r)
		problem(w, http.StatusForbidden, "%s: not permitted: the server has neither -token-file nor -admin", r.Method)
	case !s.authorized(r):
		s.deny(r)
		head.Set("WWW-Authenticate", `Bearer realm="otelprof plans"`)
		problem(w, http.StatusUnauthorized, "authorization: must be Bearer and the server's token")
	default:
		return true
	}
	return false
}

// hostAllowed takes the configured names, those of the certificate, and the address that the
// connection came in on.
func (s *Server) hostAllowed(r *http.Request) bool {
	if s.hosts[access.Host(r)] {
		return true
	}
	if name, _ := access.HostPort(r); r.TLS != nil && s.certificate != nil && s.certificate.VerifyHostname(name) == nil {
		return true
	}
	_, own := access.Own(r)
	return own
}

// mayPush reports whether a request may replace the plan or end it: with the token, or a
// certificate that [WithAdmins] names. No instance has that right.
func (s *Server) mayPush(r *http.Request) bool {
	given, ok := access.Bearer(r)
	return ok && s.token != "" && access.Equal(given, s.token) || s.isAdmin(r)
}

// pushable reports whether any client may push.
func (c config) pushable() bool { return c.token != "" || len(c.admins) > 0 }

func (s *Server) isAdmin(r *http.Request) bool {
	if !verified(r) {
		return false
	}
	for _, name := range namesOf(r.TLS.PeerCertificates[0]) {
		if s.admins[strings.ToLower(name)] {
			return true
		}
	}
	return false
}

// mayRead reports whether a request may have the plan and its outcome: with the token of instances
// or, where there is none, a client certificate, or from this machine.
func (s *Server) mayRead(r *http.Request) bool {
	if s.mayPush(r) {
		return true
	}
	if s.instanceToken != "" {
		given, ok := access.Bearer(r)
		return ok && access.Equal(given, s.instanceToken)
	}
	at, _ := access.Own(r)
	return verified(r) || !s.certified() && at.IsLoopback()
}

// verified reports whether the client has shown a certificate that the server trusts.
func verified(r *http.Request) bool { return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 }

// namesOf returns the names that a certificate is for: those of its extension, and the subject's
// common name where there are none.
func namesOf(c *x509.Certificate) []string {
	names := slices.Concat(c.DNSNames, c.EmailAddresses)
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 && c.Subject.CommonName != "" {
		names = append(names, c.Subject.CommonName)
	}
	return names
}

// authorized reports whether the request has the right that it needs.
func (s *Server) authorized(r *http.Request) bool {
	if s.onlyReads(r) {
		return s.mayRead(r)
	}
	return s.mayPush(r)
}

// onlyReads reports whether the right to read is enough for a request.
func (s *Server) onlyReads(r *http.Request) bool {
	switch {
	case r.Method == http.MethodGet, r.Method == http.MethodHead, r.URL.Path == opampPath:
		return true
	case r.Method == http.MethodPut && s.fixed != "":
		return true // and the answer shows where the plan comes from
	}
	// Else a plan from elsewhere could not be stopped.
	return r.Method == http.MethodDelete && !s.pushable()
}

// deny logs to the audit, at most once a second, a request without a token.
func (s *Server) deny(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied++
	if time.Since(s.deniedAt) < time.Second {
		return
	}
	s.log.Warn("planserver: unauthorized", slog.String("method", r.Method), slog.String("by", by(r)), slog.Uint64("times", s.denied))
	s.denied, s.deniedAt = 0, time.Now()
}

// by names the sender of a request.
func by(r *http.Request) string {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return r.TLS.PeerCertificates[0].Subject.String() + " at " + r.RemoteAddr
	}
	return r.RemoteAddr
}
