package planserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-telemetry/opamp-go/client/types"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
)

// An authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	a := authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a authority) pair(name string) tls.Certificate {
	cert, key := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

func TestListenErrors(t *testing.T) {
	serverTLS := &tls.Config{Certificates: []tls.Certificate{newAuthority(t).pair("plans.example.com")}}
	const noTLS, noToken = "must have TLS, since it is not loopback", "must have an instance token or client certificates, since it is not loopback"
	for name, tt := range map[string]struct {
		addr string
		opts []planserver.Option
		want []string
	}{
		"everywhere":                    {"0.0.0.0:0", nil, []string{noTLS, noToken}},
		"everywhere, no host":           {":0", nil, []string{noTLS, noToken}},
		"everywhere, token":             {"[::]:0", []planserver.Option{planserver.WithToken(testToken)}, []string{noTLS}},
		"everywhere, TLS":               {"0.0.0.0:0", []planserver.Option{planserver.WithTLS(serverTLS)}, []string{noToken}},
		"a name":                        {"plans.example.com:0", nil, []string{noTLS, noToken}},
		"no port":                       {"127.0.0.1", nil, []string{"must be host:port"}},
		"loopback":                      {"127.0.0.1:0", nil, nil},
		"localhost":                     {"localhost:0", nil, nil},
		"everywhere, one token for all": {"0.0.0.0:0", []planserver.Option{planserver.WithTLS(serverTLS), planserver.WithToken(testToken)}, []string{noToken}},
		"everywhere, all of it":         {"0.0.0.0:0", []planserver.Option{planserver.WithTLS(serverTLS), planserver.WithToken(testToken), planserver.WithInstanceToken(instanceToken)}, nil},
	} {
		s := newServer(t, tt.opts...)
		err := s.Start(tt.addr)
		if tt.want == nil {
			if err != nil {
				t.Errorf("%s: Start(%q) = %v", name, tt.addr, err)
			}
			continue
		}
		for _, want := range tt.want {
			if !errors.Is(err, planserver.ErrConfig) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: Start(%q) = %v, want %q", name, tt.addr, err, want)
			}
		}
	}
}

// TestMutualTLS serves on all addresses, and only clients whose certificate the authority has
// signed.
func TestMutualTLS(t *testing.T) {
	ca := newAuthority(t)
	var log audit
	s := newServer(t, planserver.WithLogger(log.Logger()), planserver.WithAdmins("Operator"), planserver.WithTLS(&tls.Config{
		Certificates: []tls.Certificate{ca.pair("plans.example.com")},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    ca.pool(),
	}))
	if err := s.Start("0.0.0.0:0"); err != nil {
		t.Fatal(err)
	}
	port := s.URL()[strings.LastIndexByte(s.URL(), ':')+1:]
	url := "https://127.0.0.1:" + port
	known := &tls.Config{RootCAs: ca.pool(), ServerName: "plans.example.com", Certificates: []tls.Certificate{ca.pair("operator")}}
	put := func(c *tls.Config, host string) (int, error) {
		transport := &http.Transport{TLSClientConfig: c}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequest("PUT", url+"/v1/plan", strings.NewReader(pl("x", 0)))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		a, err := transport.RoundTrip(r)
		if err != nil {
			return 0, err
		}
		defer a.Body.Close()
		_, err = io.Copy(io.Discard, a.Body)
		return a.StatusCode, err
	}
	instance := &tls.Config{RootCAs: ca.pool(), ServerName: "plans.example.com", Certificates: []tls.Certificate{ca.pair("instance-7")}}
	for name, tt := range map[string]struct {
		config *tls.Config
		host   string
		want   int
	}{
		"an instance":         {instance, "plans.example.com", 401},
		"known":               {known, "plans.example.com", 204},
		"known, with port":    {known, "plans.example.com:" + port, 204},
		"known, by address":   {known, "127.0.0.1:" + port, 204},
		"known, another host": {known, "evil.example", 403},
		"no certificate":      {&tls.Config{RootCAs: ca.pool(), ServerName: "plans.example.com"}, "plans.example.com", 0},
		"another authority": {&tls.Config{
			RootCAs: ca.pool(), ServerName: "plans.example.com", Certificates: []tls.Certificate{newAuthority(t).pair("operator")},
		}, "plans.example.com", 0},
	} {
		if got, err := put(tt.config, tt.host); got != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("%s: PUT = %d, %v; want %d", name, got, err, tt.want)
		}
	}
	log.wants(t, `msg="planserver: plan pushed"`, `by="CN=operator at 127.0.0.1:`)

	for i, how := range []planserver.How{planserver.HowWebSocket, planserver.HowOpAMPHTTP} {
		startAgent(t, how, url, i, func(s *types.StartSettings) { s.TLSConfig = instance.Clone() })
	}
	eventually(t, "fleet over TLS", []planserver.Status{planserver.StatusApplied, planserver.StatusApplied}, func() (all []planserver.Status) {
		for _, i := range s.Fleet().Instances {
			all = append(all, i.Status)
		}
		return all
	}, cmp.Options{})
}
