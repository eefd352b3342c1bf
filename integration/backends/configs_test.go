package backends

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// combinations are the files of collector-config that are made to be used together.
var combinations = [][]string{
	{"collector.yaml"},
	{"collector.yaml", "collector-file.yaml"},
	{"collector.yaml", profilesConfig},
	{"agent.yaml"},
	{"agent.yaml", "agent-secure.yaml"},
	{"gateway.yaml"},
	{"gateway.yaml", "gateway-secure.yaml"},
}

// TestConfigs validates and starts the Collector with all files, and with nothing in the
// environment but what has no default.
func TestConfigs(t *testing.T) {
	program := backend(t, "collector")
	env := credentials(t).env()
	seen := map[string]bool{}
	for _, files := range combinations {
		t.Run(strings.Join(files, "+"), func(t *testing.T) {
			for _, f := range files {
				seen[f] = true
			}
			cmd := exec.CommandContext(t.Context(), program, append([]string{"validate"}, configArgs(files)...)...)
			cmd.Env = append(env, "QUEUE_DIR="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("validate: %v\n%s", err, out)
			}
			c := newCollector(t, "collector", append(env, "FILE_DIR="+t.TempDir()), files...)
			if err := c.stop(); err != nil {
				t.Error(err)
			}
		})
	}
	all, err := filepath.Glob(configs + "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		switch f = filepath.Base(f); f {
		case "jaeger.yaml", "compose.yaml": // not the Collector's
		default:
			if !seen[f] {
				t.Errorf("%s: is in no combination", f)
			}
		}
	}
	check(t, "configs", "figure=%d combinations of %d files validate and start", len(combinations), len(seen))
}

// A secret is what TLS and bearer tokens need.
type secret struct{ ca, cert, key, token, tokenFile string }

func (s secret) env() []string {
	return []string{"TLS_CA_FILE=" + s.ca, "TLS_CERT_FILE=" + s.cert, "TLS_KEY_FILE=" + s.key, "TOKEN_FILE=" + s.tokenFile}
}

// credentials makes a certificate for the loopback, signed by an authority of its own, and a token.
func credentials(t testing.TB) secret {
	t.Helper()
	dir := t.TempDir()
	s := secret{
		ca: filepath.Join(dir, "ca.pem"), cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"),
		token: rand.Text(), tokenFile: filepath.Join(dir, "token"),
	}
	write := func(file, kind string, text []byte) {
		if kind != "" {
			text = pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text})
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authorityKey, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ca, err2 := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	serverKey, err3 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	cert, err4 := x509.CreateCertificate(rand.Reader, server, authority, serverKey.Public(), authorityKey)
	key, err5 := x509.MarshalECPrivateKey(serverKey)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	write(s.ca, "CERTIFICATE", ca)
	write(s.cert, "CERTIFICATE", cert)
	write(s.key, "EC PRIVATE KEY", key)
	write(s.tokenFile, "", []byte(s.token))
	return s
}

// TestSecure sends spans by TLS, and with a token, from the application to the agent and from there
// to the gateway.
func TestSecure(t *testing.T) {
	j, secret := newJaeger(t), credentials(t)
	env := append(secret.env(), "JAEGER_ENDPOINT="+j.otlp, "DECISION_WAIT=1s", "SAMPLING_PERCENTAGE=100")
	gateway := newCollector(t, "gateway", env, "gateway.yaml", "gateway-secure.yaml")
	agent := newCollector(t, "agent", append(env, "GATEWAYS=["+gateway.grpc+"]"), "agent.yaml", "agent-secure.yaml")

	exporting := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://" + agent.http, "OTEL_EXPORTER_OTLP_CERTIFICATE=" + secret.ca,
		"OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none",
	}
	for _, token := range []string{"", "wrong"} {
		stranger := newApp(t, "stranger", append(exporting, "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20"+token), "")
		stranger.work(t, 10)
		_ = stranger.Shutdown(t.Context()) // it says that the spans were refused
		for _, s := range stranger.Exports() {
			if s.Exported > 0 {
				t.Errorf("without the token: %+v, want nothing exported", s)
			}
		}
	}
	a := newApp(t, "secure", append(exporting, "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20"+secret.token), "")
	a.work(t, 100)
	a.shutdown(t)
	got := len(j.all(t, "secure", 300))
	services, err := j.services(t.Context())
	if err != nil || len(services) != 1 {
		t.Errorf("services %q, %v: want one", services, err)
	}
	check(t, "secure", "figure=%d of 300 spans have come by TLS with a token, 0 without", got)
}

// variable is one that a file takes from the environment, with its default.
var environment = regexp.MustCompile(`\$\{env:(\w+)(:-[^}]*)?\}`)

// TestDeployments needs no backend: what compose.yaml and the Kubernetes manifests mount is there,
// what they set is asked for, and what has no default is set.
func TestDeployments(t *testing.T) {
	asked := map[string]map[string]bool{} // file, variable, has a default
	for _, f := range []string{"collector.yaml", "agent.yaml", "gateway.yaml", "jaeger.yaml"} {
		text, err := os.ReadFile(configs + f)
		if err != nil {
			t.Fatal(err)
		}
		asked[f] = map[string]bool{}
		for _, m := range environment.FindAllStringSubmatch(string(text), -1) {
			asked[f][m[1]] = m[2] != ""
		}
	}
	verify := func(where, args string, set []string) {
		t.Helper()
		for f, variables := range asked {
			if !strings.Contains(args, "/"+f) {
				continue
			}
			for _, name := range set {
				if _, ok := variables[name]; !ok {
					t.Errorf("%s: sets %s: %s does not ask for it", where, name, f)
				}
			}
			for name, optional := range variables {
				if !optional && !strings.Contains(strings.Join(set, " "), name) {
					t.Errorf("%s: does not set %s: %s has no default", where, name, f)
				}
			}
		}
	}

	var compose struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Environment map[string]string
			Volumes     []string
			DependsOn   []string `yaml:"depends_on"`
		}
	}
	decode(t, "compose.yaml", func(n *yaml.Node) error { return n.Decode(&compose) })
	for name, s := range compose.Services {
		for _, v := range s.Volumes {
			if from, _, _ := strings.Cut(v, ":"); strings.HasPrefix(from, "./") {
				if _, err := os.Stat(configs + from); err != nil {
					t.Errorf("compose.yaml: %s: volume %s: %v", name, from, err)
				}
			}
		}
		for _, other := range s.DependsOn {
			if _, ok := compose.Services[other]; !ok {
				t.Errorf("compose.yaml: %s: depends on %s, which is not there", name, other)
			}
		}
		var set []string
		for k := range s.Environment {
			set = append(set, k)
		}
		verify("compose.yaml: "+name, strings.Join(s.Command, " "), set)
	}

	objects := 0
	manifests, err := filepath.Glob(configs + "kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range manifests {
		name, err := filepath.Rel(configs, file)
		if err != nil {
			t.Fatal(err)
		}
		decode(t, name, func(n *yaml.Node) error {
			var o struct {
				APIVersion string `yaml:"apiVersion"`
				Kind       string
				Metadata   struct{ Name string }
				Spec       struct {
					Template struct {
						Spec struct {
							Containers []struct {
								Args []string
								Env  []struct{ Name string }
							}
						}
					}
				}
			}
			if err := n.Decode(&o); err != nil {
				return err
			}
			if (o.Kind == "") || (o.Metadata.Name == "" && o.Kind != "Kustomization") || o.APIVersion == "" {
				return fmt.Errorf("apiVersion %q, kind %q, name %q: must be set", o.APIVersion, o.Kind, o.Metadata.Name)
			}
			objects++
			for _, c := range o.Spec.Template.Spec.Containers {
				var set []string
				for _, e := range c.Env {
					set = append(set, e.Name)
				}
				verify(name+": "+o.Metadata.Name, strings.Join(c.Args, " "), set)
			}
			return nil
		})
	}
	if objects == 0 || len(compose.Services) == 0 {
		t.Errorf("%d objects, %d services, want some", objects, len(compose.Services))
	}
}

// decode calls f with each document of a YAML file.
func decode(t testing.TB, file string, f func(*yaml.Node) error) {
	t.Helper()
	text, err := os.ReadFile(configs + file)
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewDecoder(bytes.NewReader(text)); err == nil; {
		var n yaml.Node
		if err = d.Decode(&n); err == nil {
			err = f(&n)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("%s: %v", file, err)
	}
}
