package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// certificates writes an authority, and what it signs for a server of this name and for a client.
func certificates(ts *testscript.TestScript, _ bool, args []string) {
	ca, caKey := certificate(ts, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	certificate(ts, "server", &x509.Certificate{DNSNames: args, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, ca, caKey)
	certificate(ts, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ca, caKey)
}

// certificate writes NAME.pem and NAME.key. Without a parent it signs itself.
func certificate(ts *testscript.TestScript, name string, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	if parent == nil {
		parent, signer = template, key
	}
	template.Subject = pkix.Name{CommonName: name}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	ts.Check(err)
	cert, err := x509.ParseCertificate(raw)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}
