package viewer

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// maxBodyBytes is the largest request body that is read.
const maxBodyBytes = 64 << 10

// contentPolicy allows what the page itself brings along and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard sets the headers of every answer and refuses what must not be answered at all.
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
			"host %q: must be the loopback address listened on, or one allowed by WithHosts", r.Host)
		return false
	}
	if err := h.origins.Check(r); err != nil {
		writeError(w, http.StatusForbidden, "%s from another origin: must come from the viewer's own page", r.Method)
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	return true
}

// hostAllowed compares the Host header with the address that the connection came in on.
// net/http puts that into the context; without it only the configured hosts remain.
func (h *Handler) hostAllowed(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	if h.config.hosts[host] {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return false
	}
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	name, port, err := net.SplitHostPort(host)
	if err != nil { // a browser leaves out the default port
		name, port = strings.Trim(host, "[]"), "80"
		if r.TLS != nil {
			port = "443"
		}
	}
	_, own, _ := net.SplitHostPort(at.String())
	return port == own && (name == "localhost" || name == at.Addr().String())
}

// authorized reports whether the request carries the token. Both sides are hashed, so
// that the time it takes tells nothing about the token, its length included.
func (h *Handler) authorized(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, got := sha256.Sum256([]byte(h.config.token)), sha256.Sum256([]byte(given))
	return ok && h.config.token != "" && subtle.ConstantTimeCompare(want[:], got[:]) == 1
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
