package planserver

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/otelprof/otelprof/internal/access"
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

// hostAllowed takes the configured names, those of the certificate, and the address that the connection
// came in on.
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

// authorized reports whether the request has the token that it needs. Instances have one that
// reads and reports.
func (s *Server) authorized(r *http.Request) bool {
	if s.token == "" {
		return true // certificates, if any, were checked before the request was read
	}
	given, ok := access.Bearer(r)
	may := access.Equal(given, s.token)
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.URL.Path == opampPath {
		may = may || s.instanceToken != "" && access.Equal(given, s.instanceToken)
	}
	return ok && may
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
