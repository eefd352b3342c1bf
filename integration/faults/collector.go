package main

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// A collector takes OTLP over HTTP and counts spans, or does what its answer asks for.
type collector struct {
	server *http.Server
	url    string
	answer atomic.Value // of type answer
	lied   atomic.Bool  // 200 was answered, and nothing counted
	spans  atomic.Int64 // received from the service with otelprof, and answered with 200
	quit   chan struct{}
}

// An answer is what a collector does with a request.
type answer string

const (
	accepts answer = "accepts"
	slow    answer = "slow"   // for 10 s
	resets  answer = "resets" // the connection
	garbage answer = "garbage"
	tooMany answer = "429"
	closed  answer = "503"
)

// servicePath begins the paths to which the service with otelprof exports, which distinguishes its
// spans from the other's.
const servicePath = "/" + ours

func newCollector(secured *tls.Config) (*collector, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &collector{url: "http://" + listener.Addr().String(), quit: make(chan struct{})}
	if secured != nil {
		listener = tls.NewListener(listener, secured)
		c.url = "https://" + listener.Addr().String()
	}
	c.answer.Store(accepts)
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

func (c *collector) close() {
	close(c.quit)
	_ = c.server.Close()
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch c.answer.Load() {
	case slow:
		select {
		case <-time.After(10 * time.Second):
		case <-r.Context().Done():
			return
		case <-c.quit:
			return
		}
	case resets:
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if tcp, ok := connection.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = connection.Close()
		}
		return
	case garbage:
		c.lied.Store(true)
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write([]byte("\xff\xfe garbage \x00"))
		return
	case tooMany:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many", http.StatusTooManyRequests)
		return
	case closed:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == servicePath+"/v1/traces" {
		request := ptraceotlp.NewExportRequest()
		body, err := inflate(r, body)
		if err == nil {
			err = request.UnmarshalProto(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.spans.Add(int64(request.Traces().SpanCount()))
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// expired returns the TLS configuration of a server whose certificate ended yesterday, and a file
// with its authority.
func expired(folder string) (*tls.Config, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, certificate, certificate, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	authority := folder + "/authority.pem"
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return nil, "", err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, authority, nil
}

// inflate returns a request's body as it was before it was compressed.
func inflate(r *http.Request, body []byte) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
