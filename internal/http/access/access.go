// Package access decides which requests a server may answer that a web page in a user's browser
// could reach as well: by the Host header, since such a page can have its own name resolve to the
// server (DNS rebinding), and by a token.
package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// ParseHost returns a Host header, "name" or "name:port", in the form in which [Host] returns it.
func ParseHost(text string) (string, error) {
	u, err := url.Parse("//" + text)
	if err != nil || text == "" || u.Host != text || strings.ContainsAny(text, "*@ ") {
		return "", fmt.Errorf("host %q: must be name or name:port", text)
	}
	return strings.ToLower(text), nil
}

// Host returns the Host header of r in lower case.
func Host(r *http.Request) string { return strings.ToLower(r.Host) }

// HostPort returns the two parts of the Host header. A browser leaves out the default port.
func HostPort(r *http.Request) (name, port string) {
	name, port, err := net.SplitHostPort(Host(r))
	switch {
	case err == nil:
		return name, port
	case r.TLS != nil:
		port = "443"
	default:
		port = "80"
	}
	return strings.Trim(Host(r), "[]"), port
}

// Own returns the address that the connection of r came in on, and whether the Host header says
// just that, or localhost where it is a loopback address. The address is one of net/http's server;
// without it there is none.
func Own(r *http.Request) (at netip.Addr, ok bool) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return at, false
	}
	bound, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return at, false
	}
	at = bound.Addr().Unmap().WithZone("")
	name, port := HostPort(r)
	return at, port == fmt.Sprint(bound.Port()) && (name == at.String() || name == "localhost" && at.IsLoopback())
}

// Bearer returns the token of r, and whether it has one.
func Bearer(r *http.Request) (token string, ok bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// Equal compares two secrets. Both are hashed, so that the time it takes reveals nothing, not even
// their length.
func Equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
