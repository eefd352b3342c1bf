package access_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/otelprof/otelprof/internal/http/access"
)

func TestParseHost(t *testing.T) {
	for _, c := range []struct {
		text, want string
		ok         bool
	}{
		{"shop.example", "shop.example", true},
		{"Shop.example:8080", "shop.example:8080", true},
		{"[::1]:80", "[::1]:80", true},
		{"", "", false},
		{"*.example", "", false},
		{"a b", "", false},
		{"user@shop.example", "", false},
		{"shop.example/path", "", false},
	} {
		got, err := access.ParseHost(c.text)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("ParseHost(%q) = %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}

func TestOwn(t *testing.T) {
	for _, c := range []struct {
		local, host string
		tls         bool
		want        bool
	}{
		{"127.0.0.1:7070", "127.0.0.1:7070", false, true},
		{"127.0.0.1:7070", "LocalHost:7070", false, true},
		{"127.0.0.1:7070", "127.0.0.1:7071", false, false},
		{"127.0.0.1:7070", "127.0.0.1", false, false},
		{"127.0.0.1:80", "127.0.0.1", false, true},
		{"127.0.0.1:443", "localhost", true, true},
		{"127.0.0.1:443", "localhost", false, false},
		{"[::ffff:127.0.0.1]:7070", "127.0.0.1:7070", false, true},
		{"[::1]:80", "[::1]", false, true},
		{"[fe80::1%eth0]:80", "[fe80::1]", false, true},
		{"192.0.2.1:7070", "192.0.2.1:7070", false, true},
		{"192.0.2.1:7070", "localhost:7070", false, false},
		{"127.0.0.1:7070", "evil.example:7070", false, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Host = c.host
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		bound := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.local))
		r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, bound))
		if at, got := access.Own(r); got != c.want {
			t.Errorf("on %s for %s, TLS %t: Own = %v, %t, want %t", c.local, c.host, c.tls, at, got, c.want)
		}
	}
	if at, ok := access.Own(httptest.NewRequest(http.MethodGet, "/", http.NoBody)); ok {
		t.Errorf("Own without an address = %v, true", at)
	}
}

func TestBearer(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	if _, ok := access.Bearer(r); ok {
		t.Error("a request without a header has a token")
	}
	r.Header.Set("Authorization", "Bearer secret")
	if token, ok := access.Bearer(r); !ok || !access.Equal(token, "secret") || access.Equal(token, "secret ") || access.Equal("", token) {
		t.Errorf("Bearer = %q, %t, want secret", token, ok)
	}
}
