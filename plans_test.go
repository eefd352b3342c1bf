package otelprof

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/viewer"
)

func document(id string) []byte {
	return fmt.Appendf(nil, "api: causal/v1\nid: %s\ngeneration: 1\nrestart: true\ntarget: {service: shop}\nexpires_at: %s\nmode: dilation\nregions: [{span: checkout}]\nprogress: [{span: checkout, type: throughput}]\n",
		id, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
}

// planFile returns the path of a file with a plan.
func planFile(t *testing.T, id string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(path, document(id), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually waits for a status.
func eventually(t *testing.T, p *Profiler, what string, holds func(causal.Status) bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds(p.Causal().Status()) {
		if time.Now().After(deadline) {
			t.Fatalf("Status = %+v, want %s", p.Causal().Status(), what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestSetupPlanFile(t *testing.T) {
	t.Setenv(envPlanFile, planFile(t, "first"))
	t.Setenv(envExperiments, "on")
	p, _ := setup(t, WithServiceName("shop"))
	eventually(t, p, "the plan of the file in force", func(s causal.Status) bool { return s.Plan != nil && s.Plan.ID == "first" })
	if err := p.Shutdown(within(t, 5*time.Second)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if s := p.Causal().Status(); s.State == causal.StateRunning {
		t.Errorf("State = %v after Shutdown", s.State)
	}
}

// A plan server gets the identity of the process and the token; plans must be signed by the key in
// the file.
func TestSetupPlanURL(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv(envPlanKey, write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	t.Setenv(envPlanToken, write("token", []byte("secret\n")))
	t.Setenv(envExperiments, "on")

	for _, signed := range []bool{true, false} {
		t.Run(fmt.Sprintf("signed=%t", signed), func(t *testing.T) {
			plan := document("from-server")
			asked := make(chan http.Header, 16)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case asked <- r.Header:
				default:
				}
				if signed {
					w.Header().Set("Otelprof-Plan-Signature", strings.TrimSpace(string(remote.Sign(plan, private))))
				}
				_, _ = w.Write(plan)
			}))
			defer server.Close()
			t.Setenv(envPlanURL, server.URL)
			p, _ := setup(t, WithServiceName("shop"))
			if signed {
				eventually(t, p, "the server's plan in force", func(s causal.Status) bool { return s.Plan != nil && s.Plan.ID == "from-server" })
			} else {
				eventually(t, p, "the plan refused", func(s causal.Status) bool { return strings.Contains(s.LastError, "sign") })
			}
			h := <-asked
			got := map[string]string{"token": h.Get("Authorization"), "service": h.Get("Otelprof-Service-Name")}
			if diff := cmp.Diff(map[string]string{"token": "Bearer secret", "service": "shop"}, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

// The keys are for the viewer's plans, too.
func TestSetupPlanKeysOfViewer(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	const token = "a token of the tests"
	p, _ := setup(t, WithServiceName("shop"), WithPlanKeys(public), WithExperiments(plan.DefaultLimits()), WithViewer("127.0.0.1:0", viewer.WithToken(token)))
	plan := document("from-page")
	put := func(signature []byte) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.ViewerURL()+"api/v1/causal/plan", bytes.NewReader(plan))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set(naming.HeaderSignature, strings.TrimSpace(string(signature)))
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		return a.StatusCode
	}
	if got := put(nil); got != http.StatusForbidden || p.Causal().Status().Plan != nil {
		t.Errorf("PUT of a plan that is not signed = %d, plan %+v, want 403 and none", got, p.Causal().Status().Plan)
	}
	if got := put(remote.Sign(plan, private)); got != http.StatusOK || p.Causal().Status().State != causal.StateRunning {
		t.Errorf("PUT of a signed plan = %d, %s, want 200 and running", got, p.Causal().Status().State)
	}
}

// A source that the program itself names wrong is an error.
func TestSetupBadPlanSources(t *testing.T) {
	for name, tt := range map[string]struct {
		opt  Option
		want string
	}{
		"URL":             {WithPlanURL("ftp://plans"), "scheme must be one of"},
		"URL without TLS": {WithPlanURL("http://plans.example/v1/plan"), "https"},
		"OpAMP":           {WithOpAMP("localhost:4320"), "scheme"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Setup(t.Context(), WithoutGlobals(), tt.opt)
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Setup = %v, want ErrConfig and %q", err, tt.want)
			}
		})
	}
}

// Each event of a plan is a log record and an event of a span.
func TestSetupAudit(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	dir := t.TempDir()
	path := planFile(t, "first")
	p, _ := setup(t, WithServiceName("shop"), WithDataDir(dir), WithPlanFile(path), WithExperiments(plan.DefaultLimits()))
	eventually(t, p, "the plan in force", func(s causal.Status) bool { return s.Plan != nil })
	if err := p.Causal().Apply(&plan.Plan{}); err == nil {
		t.Error("Apply of an empty plan = nil")
	}
	if err := p.Shutdown(within(t, 10*time.Second)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	var got []string
	for _, body := range r.logs {
		before, _, _ := strings.Cut(body, ":")
		got = append(got, before)
	}
	want := []string{"causal plan first received", "causal plan first started", "causal plan received", "causal plan rejected", "causal plan first stopped"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log records (-want +got):\n%s", diff)
	}
	// One span a plan, in the order of their ends.
	if diff := cmp.Diff([]string{"received", "rejected", "received", "started", "stopped"}, r.events); diff != "" {
		t.Errorf("events of spans (-want +got):\n%s", diff)
	}
	if len(p.TracerProvider().Regions()) != 0 {
		t.Errorf("Regions = %v, want none of the audit's spans", p.TracerProvider().Regions())
	}
	data, err := os.ReadFile(filepath.Join(dir, "logs.jsonl"))
	if records := strings.Count(string(data), `"eventName"`); err != nil || records != len(want) {
		t.Errorf("logs.jsonl: %v, %d records, want %d", err, records, len(want))
	}
}
