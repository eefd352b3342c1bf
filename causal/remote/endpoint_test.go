package remote_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/causal/remote/internal/remotetest"
	"github.com/otelprof/otelprof/internal/http/planhttp"
	"github.com/otelprof/otelprof/internal/naming"
)

func TestNewHTTPRejects(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"", "scheme must be one of https, http"},
		{"plans.example.com/plan", "scheme must be one of https, http"},
		{"ftp://plans.example.com/plan", `URL "ftp://plans.example.com/plan": scheme must be`},
		{"wss://plans.example.com/plan", "scheme must be one of https, http"},
		{"https:///plan", "must have a host"},
		{"https://user:secret@plans.example.com/plan", "must not have a user name"},
		{"https://user:secret@plans.example.com:port/plan", "invalid port"},
		{"http://plans.example.com/plan?token=secret", `URL "http://plans.example.com/plan": scheme must be https unless the host is loopback, or WithoutTLS is used`},
		{"http://10.0.0.1/plan", "scheme must be https"},
		{"http://localhost.example.com/plan", "scheme must be https"},
	} {
		_, err := remote.NewHTTP(tt.url)
		if !errors.Is(err, remote.ErrConfig) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("NewHTTP(%q) = %v, want an ErrConfig with %q and no secret", tt.url, err, tt.want)
		}
	}
	_, err := remote.NewHTTP("x", remote.WithInterval(0), remote.WithTimeout(-1), remote.WithToken(nil),
		remote.WithTLS(nil), remote.WithResource(nil), remote.WithDial(nil))
	for _, want := range []string{"interval 0s", "timeout -1ns", "token nil", "TLS nil", "resource nil", "dial nil", `URL "x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewHTTP() = %v, want it to have %q", err, want)
		}
	}
}

func TestNewHTTPAccepts(t *testing.T) {
	for _, url := range []string{
		"https://plans.example.com", "http://127.0.0.1:80/plan", "http://[::1]/plan", "http://localhost:1/plan?a=b",
	} {
		if _, err := remote.NewHTTP(url); err != nil {
			t.Errorf("NewHTTP(%q) = %v, want none", url, err)
		}
	}
	if _, err := remote.NewHTTP("http://plans.example.com/plan", remote.WithoutTLS()); err != nil {
		t.Errorf("NewHTTP() = %v with WithoutTLS, want none", err)
	}
}

// A server that demands client certificates gives a plan to clients that have one, over HTTP/1.1.
func TestHTTPMutualTLS(t *testing.T) {
	var protocol atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocol.Store(r.Proto)
		pl("plan-1")(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	defer server.Close()
	// httptest's certificate is its own root, and good for clients too.
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAnyClientCert, roots
	own := server.TLS.Certificates[0]

	for _, tt := range []struct {
		name string
		tls  *tls.Config
		want string // in the log, "" for a plan
	}{
		{"certificate", &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}, ""},
		{"callback", &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }}, ""},
		{"no certificate", &tls.Config{RootCAs: roots}, "certificate required"},
		{"unknown root", &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{own}}, "certificate signed by unknown authority"},
		{"panic for a certificate", &tls.Config{RootCAs: roots, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { panic("no certificate") }}, "tls: GetClientCertificate: panic: no certificate"},
		{"panic at the peer's", &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}, VerifyPeerCertificate: func([][]byte, [][]*x509.Certificate) error { panic("chain") }}, "tls: VerifyPeerCertificate: panic: chain"},
		{"panic at the connection", &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}, VerifyConnection: func(tls.ConnectionState) error { panic("state") }}, "tls: VerifyConnection: panic: state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := remotetest.Controller(t)
			source, err := remote.NewHTTP(server.URL, remote.WithTLS(tt.tls))
			if err != nil {
				t.Fatal(err)
			}
			told := make(chan string, 10)
			stop := remotetest.Follow(t, c, source, remote.WithLogger(slog.New(teller{slog.DiscardHandler, told})))
			defer stop()
			if tt.want == "" {
				remotetest.Await(t, "the plan runs", func() bool { return c.Status().State == causal.StateRunning })
				if got := protocol.Load(); got != "HTTP/1.1" {
					t.Errorf("the server was asked over %v, want HTTP/1.1", got)
				}
				return
			}
			if got := <-told; !strings.Contains(got, tt.want) {
				t.Errorf("the logger was told %q, want %q", got, tt.want)
			}
		})
	}
}

// A teller is a slog.Handler that sends each record.
type teller struct {
	slog.Handler
	to chan string
}

func (t teller) Enabled(context.Context, slog.Level) bool { return true }

func (t teller) Handle(_ context.Context, r slog.Record) error {
	select {
	case t.to <- r.Message:
	default:
	}
	return nil
}

// A dial that panics does so on a goroutine of net/http, where it cannot be recovered.
func TestHTTPDialPanics(t *testing.T) {
	source, err := remote.NewHTTP("http://localhost/", remote.WithDial(func(context.Context, string, string) (net.Conn, error) { panic("no network") }))
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 10)
	defer remotetest.Follow(t, remotetest.Controller(t), source, remote.WithLogger(slog.New(teller{slog.DiscardHandler, told})))()
	if got := <-told; !strings.Contains(got, "dial: panic: no network") {
		t.Errorf("the logger was told %q, want the panic", got)
	}
}

// A token that panics ends the source: it would again.
func TestHTTPTokenPanics(t *testing.T) {
	source, err := remote.NewHTTP("http://localhost/", remote.WithToken(func(context.Context) (string, error) { panic("no vault") }))
	if err != nil {
		t.Fatal(err)
	}
	c := remotetest.Controller(t)
	remote.Follow(t.Context(), c, source, remote.WithLogger(slog.New(slog.DiscardHandler))) // returns
	if got := c.Status().LastError; !strings.Contains(got, "http://localhost/: panic: no vault") {
		t.Errorf("LastError = %q, want the panic", got)
	}
}

// An answer of any size costs the same memory.
func TestHTTPMemory(t *testing.T) {
	const size, most = 200 << 20, 1 << 20
	for _, name := range []string{"plain", "TLS", "chunks", "error", "header"} {
		t.Run(name, func(t *testing.T) {
			written := make(chan int, 1)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				switch name {
				case "header":
					conn, _, err := http.NewResponseController(w).Hijack()
					if err != nil {
						return
					}
					defer conn.Close()
					_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nLarge: "))
					written <- remotetest.Flood(conn, size)
					return
				case "error":
					w.WriteHeader(http.StatusInternalServerError)
				case "plain", "TLS":
					w.Header().Set("Content-Length", fmt.Sprint(size))
				}
				written <- remotetest.Flood(w, size)
			}))
			// The server's part is what the kernel takes off its hands, megabytes on a busy
			// machine.
			server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
				if t, ok := conn.(*tls.Conn); ok {
					conn = t.NetConn()
				}
				_ = conn.(*net.TCPConn).SetWriteBuffer(64 << 10)
				return ctx
			}
			if name == "TLS" {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			roots := x509.NewCertPool()
			if cert := server.Certificate(); cert != nil {
				roots.AddCert(cert)
			}
			source, err := remote.NewHTTP(server.URL, remote.WithTLS(&tls.Config{RootCAs: roots}),
				remote.WithDial(func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					if err == nil {
						err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
					}
					return conn, err
				}))
			if err != nil {
				t.Fatal(err)
			}
			c := remotetest.Controller(t)
			told := make(chan string, 10)
			n := 0
			allocated := remotetest.Allocated(func() {
				stop := remotetest.Follow(t, c, source, remote.WithLogger(slog.New(teller{slog.DiscardHandler, told})))
				if n = <-written; name == "error" || name == "header" {
					<-told
				} else {
					remotetest.Await(t, "the body is refused", func() bool { return c.Status().LastError != "" })
				}
				stop()
			})
			t.Logf("%d bytes allocated, client and server together, of %d that were sent of %d", allocated, n, size)
			if allocated > most {
				t.Errorf("%d bytes allocated, want at most %d", allocated, most)
			}
		})
	}
}

// Delays end when control is lost, for real: spans end in this process all the time.
func TestControlLossEndsDelays(t *testing.T) {
	every := remote.WithInterval(200 * time.Millisecond)
	document := []byte(remotetest.Document("plan-1", "a", remotetest.Hasty...))
	for name, lost := range map[string]func(t *testing.T) (remote.Source, func()){
		"file": func(t *testing.T) (remote.Source, func()) {
			path := filepath.Join(t.TempDir(), "plan.yaml")
			if err := os.WriteFile(path, document, 0o600); err != nil {
				t.Fatal(err)
			}
			source, err := remote.NewFile(path, every)
			if err != nil {
				t.Fatal(err)
			}
			return source, func() { // a folder in its place cannot be read
				if err := errors.Join(os.Mkdir(path+".d", 0o700), os.Remove(path), os.Symlink(path+".d", path)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"http": func(t *testing.T) (remote.Source, func()) {
			var lost atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if lost.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				_, _ = w.Write(document)
			}))
			t.Cleanup(server.Close)
			source, err := remote.NewHTTP(server.URL, every, remote.WithTimeout(10*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			return source, func() { lost.Store(true) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			source, lose := lost(t)
			c := remotetest.Controller(t)
			defer remotetest.Follow(t, c, source, remote.WithLogger(slog.New(slog.DiscardHandler)))()
			app := remotetest.NewApp(t, c)
			app.AwaitDelays()
			lose()
			remotetest.Await(t, "the plan has ended", func() bool { return c.Status().State == causal.StateStopped })
			app.WantNoDelay()
		})
	}
}

// For any answer, a poll ends without a panic, and a plan is in force only if the answer is
// one.
func FuzzHTTPAnswer(f *testing.F) {
	f.Add(200, "ETag", `"1"`, []byte("api: causal/v1"))
	f.Add(200, naming.HeaderSignature, strings.Repeat("A", 88), []byte("id: x"))
	f.Add(304, "ETag", "", []byte(nil))
	f.Add(503, "Retry-After", "-1", []byte("busy"))
	f.Add(301, "Location", "//[", []byte(nil))
	f.Add(200, "Content-Encoding", "gzip", []byte("\x1f\x8b"))
	f.Add(401, "Www-Authenticate", "Bearer", []byte(nil))
	f.Fuzz(func(t *testing.T, code int, name, value string, body []byte) {
		inBubble(t, func(t *testing.T) {
			pipe := remotetest.NewPipe()
			go func() {
				conn, err := pipe.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				_ = pipe.Close() // a redirect is not followed
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d X\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s", code, name, value, len(body), body)
			}()
			c := remotetest.Controller(t)
			source, err := remote.NewHTTP("http://localhost/", remote.WithDial(pipe.Dial))
			if err != nil {
				t.Fatal(err)
			}
			stop := remotetest.Follow(t, c, source, remote.WithLogger(slog.New(slog.DiscardHandler)))
			synctest.Wait()
			s := c.Status()
			if strings.Contains(s.LastError, "panic") || s.State != causal.StateIdle && s.Plan == nil {
				t.Errorf("Status() = %+v after answer %d %s: %s, %q", s, code, name, value, body)
			}
			time.Sleep(10 * time.Second) // what is still awaited is so no longer
			stop()
		})
	})
}

// What a poll costs that finds a plan of usual size unchanged, without the network.
func BenchmarkUnchanged(b *testing.B) {
	document := []byte(remotetest.Document("plan-1", "a"))
	remotetest.Follow(b, remotetest.Controller(b), script(func(_ context.Context, to *remote.Sink) {
		b.ReportAllocs()
		for b.Loop() {
			if err := to.Document(document, nil); err != nil {
				b.Error(err)
				return
			}
		}
	}))()
}

// What a request costs that finds a plan unchanged, the server in the same process included.
func BenchmarkDo(b *testing.B) {
	server := httptest.NewServer(status(http.StatusNotModified))
	defer server.Close()
	e, err := planhttp.New(server.URL, []string{"http"})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	b.ReportAllocs()
	for b.Loop() {
		if a, err := e.Do(b.Context(), http.MethodGet, nil, nil, plan.MaxBytes); err != nil || a.Status != http.StatusNotModified {
			b.Fatalf("Do() = %v, %v", a, err)
		}
	}
}
