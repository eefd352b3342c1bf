package planserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// admits answers what must not be answered otherwise, and reports whether the rest may be.
func (s *Server) admits(w http.ResponseWriter, r *http.Request) bool {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	switch {
	case !s.hostAllowed(r):
		problem(w, http.StatusForbidden, "host %q: must be the address listened on, a name of the certificate, or one allowed by WithHosts", r.Host)
	case s.origins.Check(r) != nil:
		problem(w, http.StatusForbidden, "%s from another origin: must not come from a page", r.Method)
	case !s.authorized(r):
		s.deny(r)
		head.Set("WWW-Authenticate", `Bearer realm="otelprof plans"`)
		problem(w, http.StatusUnauthorized, "authorization: must be Bearer and the server's token")
	default:
		return true
	}
	return false
}

// hostAllowed compares the Host header with the address that the connection came in on, the
// certificate and the configured names: a page that has its own name resolve to this server
// gets no answer.
func (s *Server) hostAllowed(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	if s.hosts[host] {
		return true
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil { // the default port is left out
		name, port = strings.Trim(host, "[]"), "80"
		if r.TLS != nil {
			port = "443"
		}
	}
	if r.TLS != nil && s.certificate != nil && s.certificate.VerifyHostname(name) == nil {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return false
	}
	at = netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
	_, own, _ := net.SplitHostPort(at.String())
	return port == own && (name == at.Addr().String() || name == "localhost" && at.Addr().IsLoopback())
}

// authorized reports whether the request has the token that it needs. Instances have one that
// reads and reports.
func (s *Server) authorized(r *http.Request) bool {
	if s.token == "" {
		return true // certificates, if any, were checked before the request was read
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	may := equal(given, s.token)
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.URL.Path == opampPath {
		may = may || s.instanceToken != "" && equal(given, s.instanceToken)
	}
	return ok && may
}

// equal hashes both sides, so that the time it takes tells nothing about them, their length
// included.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// deny says in the audit, at most once a second, that somebody had no token.
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

// by names who sent a request.
func by(r *http.Request) string {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return r.TLS.PeerCertificates[0].Subject.String() + " at " + r.RemoteAddr
	}
	return r.RemoteAddr
}
