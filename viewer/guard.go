package viewer

import (
	"net/http"
	"strings"

	"github.com/otelprof/otelprof/internal/http/access"
)

// maxBodyBytes is the largest request body that is read.
const maxBodyBytes = 64 << 10

// contentPolicy allows what the page itself brings along and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard sets the headers of every answer and rejects DNS rebinding (foreign hosts), CSRF and reads
// from other sites.
func (h *Handler) guard(w http.ResponseWriter, r *http.Request) bool {
	head := w.Header()
	head.Set("Content-Security-Policy", contentPolicy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")

	if !h.hostAllowed(r) {
		writeError(w, http.StatusForbidden,
			"host %q: must be the loopback address listened on, with its port, or one of viewer.WithHosts", r.Host)
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); costs(r.URL.Path) && site != "" && site != "same-origin" && site != "none" {
		// The other site's page could not read the answer, but each request takes processor time.
		writeError(w, http.StatusForbidden, "%s from another site's page: must come from the viewer's own page", r.Method)
		return false
	}
	if err := h.origins.Check(r); err != nil {
		writeError(w, http.StatusForbidden, "%s from another origin: must come from the viewer's own page", r.Method)
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	return true
}

// costs reports whether an answer takes processor time that another site's page must not ask for.
func costs(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/mcp" || path == "/page.html"
}

// hostAllowed takes the configured hosts, and the loopback address that the connection came in on.
func (h *Handler) hostAllowed(r *http.Request) bool {
	if h.config.hosts[access.Host(r)] {
		return true
	}
	at, own := access.Own(r)
	return own && at.IsLoopback()
}

// authorized reports whether the request carries the token.
func (h *Handler) authorized(r *http.Request) bool {
	token, ok := access.Bearer(r)
	return ok && h.config.token != "" && access.Equal(token, h.config.token)
}

// methods answers the methods it has and refuses the others.
type methods map[string]http.HandlerFunc

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if f, ok := m[method]; ok {
		f(w, r)
		return
	}
	var allowed []string
	for _, name := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		if m[name] != nil {
			allowed = append(allowed, name)
		}
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	writeError(w, http.StatusMethodNotAllowed, "method %s: must be one of %s", r.Method, list)
}
