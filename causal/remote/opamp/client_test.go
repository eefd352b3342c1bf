package opamp_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/open-telemetry/opamp-go/protobufs"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/causal/remote/internal/remotetest"
	"github.com/otelprof/otelprof/causal/remote/opamp"
	"github.com/otelprof/otelprof/internal/naming"
)

const (
	applied  = protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED
	applying = protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLYING
	failed   = protobufs.RemoteConfigStatuses_RemoteConfigStatuses_FAILED
)

// A log keeps lines, for any goroutine.
type log struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func newLog() *log { return &log{Handler: slog.DiscardHandler} }

func (l *log) Enabled(context.Context, slog.Level) bool { return true }

func (l *log) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Message)
	return nil
}

func (l *log) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func (l *log) option() remote.Option { return remote.WithLogger(slog.New(l)) }

// overBoth runs f over both transports. Intervals are such that a busy machine does not lose a
// plan by them.
func overBoth(t *testing.T, f func(t *testing.T, s *fleet, client func(...remote.EndpointOption) *opamp.Client)) {
	t.Parallel()
	for scheme, interval := range map[string]time.Duration{"ws": 2 * time.Second, "http": 500 * time.Millisecond} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s := newFleet(t)
			f(t, s, func(opts ...remote.EndpointOption) *opamp.Client {
				opts = append([]remote.EndpointOption{remote.WithInterval(interval), remote.WithTimeout(10 * time.Second)}, opts...)
				return newClient(t, scheme+"://"+s.address+"/v1/opamp", opts...)
			})
		})
	}
}

func TestPlans(t *testing.T) {
	overBoth(t, func(t *testing.T, s *fleet, client func(...remote.EndpointOption) *opamp.Client) {
		c := remotetest.Controller(t)
		stop := remotetest.Follow(t, c, client())
		s.awaitHealth("idle")

		s.push(config("1", naming.OpAMPPlan, remotetest.Document("plan-1", "a", "limits: {duty: 100%}")))
		s.awaitStatus("1", applied)
		awaitPlan(t, c, "plan-1")
		known := s.awaitHealth("running")
		if !known.Health.Healthy || known.Health.LastError != "" || known.Health.StartTimeUnixNano == 0 {
			t.Errorf("health %v, want it healthy", known.Health)
		}
		files := known.EffectiveConfig.GetConfigMap().GetConfigMap()
		p, err := plan.Parse(files[naming.OpAMPPlan].GetBody())
		if err != nil || len(files) != 1 {
			t.Fatalf("the effective configuration %v is no plan: %v", known.EffectiveConfig, err)
		}
		if got, want := p.Limits, c.Status().Limits; p.ID != "plan-1" || got != want {
			t.Errorf("the effective plan is %s with %v, want plan-1 with %v", p.ID, got, want)
		}

		s.push(config("2", naming.OpAMPPlan, remotetest.Document("plan-2", "a", "regoins: []")))
		known = s.awaitStatus("2", failed)
		if got := known.RemoteConfigStatus.ErrorMessage; !strings.Contains(got, "regoins: unknown key") {
			t.Errorf("the server is told %q, want why the plan was refused", got)
		}
		awaitStop(t, c, "the next plan was rejected")
		known = s.awaitHealth("stopped: the next plan was rejected")
		if h := known.Health; h.Healthy || !strings.Contains(h.LastError, "regoins") {
			t.Errorf("health %v, want it not healthy and why", h)
		}
		if got := known.EffectiveConfig.GetConfigMap().GetConfigMap(); len(got) > 0 {
			t.Errorf("the effective configuration is %v, want none", got)
		}

		s.push(config("3", naming.OpAMPPlan, remotetest.Document("plan-3", "a")))
		s.awaitStatus("3", applied)
		awaitPlan(t, c, "plan-3")
		s.push(config("4")) // an empty map
		s.awaitStatus("4", applied)
		awaitStop(t, c, "the server has no plan")

		s.push(config("5", naming.OpAMPPlan, remotetest.Document("plan-5", "a")))
		s.awaitStatus("5", applied)
		awaitPlan(t, c, "plan-5")
		s.push(config("6", "collector.yaml", "receivers: {}", naming.OpAMPPlan, ""))
		s.awaitStatus("6", applied)
		awaitStop(t, c, "the server has no plan")

		later := "not_before: " + time.Now().Add(40*time.Minute).UTC().Format(time.RFC3339)
		s.push(config("7", naming.OpAMPPlan, remotetest.Document("plan-7", "a", later)))
		s.awaitStatus("7", applying)
		s.awaitHealth("waiting")

		stop()
		if got := c.Status(); got.State != causal.StateStopped || got.Reason != "the plan's source has ended" {
			t.Errorf("Status() = %s, %q after the end", got.State, got.Reason)
		}
		remotetest.Await(t, "the server is told of the end", func() bool {
			_, messages := s.told()
			last := messages[len(messages)-1]
			return last.AgentDisconnect != nil && strings.HasPrefix(last.Health.GetStatus(), "stopped")
		})
	})
}

// What the client reports to the server, once, and again if it asks.
func TestAgent(t *testing.T) {
	res := resource.NewSchemaless(
		attribute.String("service.name", "checkout"), attribute.String("service.version", "1.2"),
		attribute.String("service.instance.id", "pod-1\xff"), attribute.Int("process.pid", 7), attribute.Bool("spot", true),
		attribute.Float64("weight", 0.5), attribute.StringSlice("process.command_args", []string{"a", "b"}),
		attribute.IntSlice("ports", []int{1, 2}))
	overBoth(t, func(t *testing.T, s *fleet, client func(...remote.EndpointOption) *opamp.Client) {
		stop := remotetest.Follow(t, remotetest.Controller(t), client(remote.WithResource(res),
			remote.WithToken(func(context.Context) (string, error) { return "secret", nil })))
		known := s.awaitHealth("idle")
		flat := func(attrs []*protobufs.KeyValue) map[string]string {
			m := map[string]string{}
			for _, kv := range attrs {
				m[kv.Key] = strings.Join(strings.Fields(kv.Value.String()), " ")
			}
			return m
		}
		str := func(v string) string { return `string_value:"` + v + `"` }
		want := map[string]string{"service.name": str("checkout"), "service.version": str("1.2"), "service.instance.id": str("pod-1\uFFFD")}
		if diff := cmp.Diff(want, flat(known.AgentDescription.IdentifyingAttributes)); diff != "" {
			t.Errorf("identifying attributes (-want +got):\n%s", diff)
		}
		want = map[string]string{
			"process.pid": "int_value:7", "spot": "bool_value:true", "weight": "double_value:0.5", "ports": str("[1,2]"),
			"process.command_args": "array_value:{values:{" + str("a") + "} values:{" + str("b") + "}}",
		}
		if diff := cmp.Diff(want, flat(known.AgentDescription.NonIdentifyingAttributes)); diff != "" {
			t.Errorf("other attributes (-want +got):\n%s", diff)
		}

		s.mu.Lock()
		s.flags = uint64(protobufs.ServerToAgentFlags_ServerToAgentFlags_ReportFullState)
		if got := s.header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("Authorization %q, want the token", got)
		}
		if got := s.header.Get(naming.HeaderServiceName); got != "checkout" {
			t.Errorf("%s %q, want checkout", naming.HeaderServiceName, got)
		}
		s.mu.Unlock()
		described := func() (n int) {
			_, messages := s.told()
			for _, m := range messages {
				if m.AgentDescription != nil && m.Health != nil && m.EffectiveConfig != nil {
					n++
				}
			}
			return n
		}
		remotetest.Await(t, "the server is told all again", func() bool { return described() == 2 })
		_, messages := s.told()
		beats := len(messages) + 3
		remotetest.Await(t, "heartbeats", func() bool { _, messages = s.told(); return len(messages) >= beats })
		if n := described(); n != 2 {
			t.Errorf("%d messages have the whole state, want 2", n)
		}
		stop()
		_, messages = s.told()
		uid, err := uuid.FromBytes(messages[0].InstanceUid)
		if err != nil || uid.Version() != 7 {
			t.Errorf("instance uid %x, want a UUID of version 7", messages[0].InstanceUid)
		}
		for i, m := range messages {
			if string(m.InstanceUid) != string(uid[:]) || m.SequenceNum != uint64(i+1) || m.Capabilities != 0x1|0x2|0x4|0x800|0x1000|0x2000 {
				t.Errorf("message %d has uid %x, number %d, capabilities %#x", i, m.InstanceUid, m.SequenceNum, m.Capabilities)
			}
		}
	})
}

func TestServerRestarts(t *testing.T) {
	overBoth(t, func(t *testing.T, s *fleet, client func(...remote.EndpointOption) *opamp.Client) {
		c, l := remotetest.Controller(t), newLog()
		remotetest.Follow(t, c, client(), l.option())
		s.push(config("1", naming.OpAMPPlan, remotetest.Document("plan-1", "a")))
		s.awaitStatus("1", applied)
		s.stop()
		s.start()
		s.awaitHealth("running") // all is reported again
		s.awaitStatus("1", applied)
		awaitPlan(t, c, "plan-1")
		s.push(config("2", naming.OpAMPPlan, remotetest.Document("plan-2", "a")))
		s.awaitStatus("2", applied)
		awaitPlan(t, c, "plan-2")
		if l.count("panic") > 0 {
			t.Errorf("the log has a panic: %q", l.lines)
		}
	})
}

func TestSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	overBoth(t, func(t *testing.T, s *fleet, client func(...remote.EndpointOption) *opamp.Client) {
		c := remotetest.Controller(t)
		remotetest.Follow(t, c, client(), remote.WithPublicKeys(public))
		document := remotetest.Signable("plan-1", "a", 1)
		s.push(config("1", naming.OpAMPPlan, document))
		if got := s.awaitStatus("1", failed).RemoteConfigStatus.ErrorMessage; !strings.Contains(got, "signature: none: must be there") {
			t.Errorf("the server is told %q, want that there is no signature", got)
		}
		s.push(config("2", naming.OpAMPPlan, document, naming.OpAMPSignature, string(remote.Sign([]byte(document), private))))
		s.awaitStatus("2", applied)
		awaitPlan(t, c, "plan-1")
		s.push(config("3", naming.OpAMPPlan, document+"# changed\n", naming.OpAMPSignature, string(remote.Sign([]byte(document), private))))
		s.awaitStatus("3", failed)
		awaitStop(t, c, "the next plan was rejected")
	})
}

// Dangerous offers are declined, and logged once.
func TestOffersAreDeclined(t *testing.T) {
	overBoth(t, func(t *testing.T, s *fleet, client func(...remote.EndpointOption) *opamp.Client) {
		c, l := remotetest.Controller(t), newLog()
		s.mu.Lock()
		s.offer = func(m *protobufs.ServerToAgent) {
			m.Command = &protobufs.ServerToAgentCommand{Type: protobufs.CommandType_CommandType_Restart}
			m.ConnectionSettings = &protobufs.ConnectionSettingsOffers{Hash: []byte("x"), Opamp: &protobufs.OpAMPConnectionSettings{
				DestinationEndpoint: "ws://127.0.0.1:1", HeartbeatIntervalSeconds: 3600,
			}}
			m.PackagesAvailable = &protobufs.PackagesAvailable{AllPackagesHash: []byte("x"), Packages: map[string]*protobufs.PackageAvailable{"p": {
				Version: "1", File: &protobufs.DownloadableFile{DownloadUrl: "http://127.0.0.1:1/"},
			}}}
			m.CustomMessage = &protobufs.CustomMessage{Capability: "x"}
			m.Flags |= uint64(protobufs.ServerToAgentFlags_ServerToAgentFlags_ReportAvailableComponents)
		}
		s.mu.Unlock()
		remotetest.Follow(t, c, client(), l.option())
		s.push(config("1", naming.OpAMPPlan, remotetest.Document("plan-1", "a")))
		s.awaitStatus("1", applied)
		awaitPlan(t, c, "plan-1")
		_, messages := s.told()
		beats := len(messages) + 2
		remotetest.Await(t, "heartbeats", func() bool { _, messages = s.told(); return len(messages) >= beats })
		for _, what := range []string{"a command", "connection settings", "packages", "a custom message"} {
			if n := l.count("the server sends " + what + ": ignored, only plans are taken"); n != 1 {
				t.Errorf("the logger was told %d times of %s, want once", n, what)
			}
		}
		for _, m := range messages {
			if m.PackageStatuses != nil || m.ConnectionSettingsStatus != nil || m.AvailableComponents != nil || m.CustomMessage != nil || m.ConnectionSettingsRequest != nil {
				t.Errorf("message %v, want nothing about offers", m)
			}
		}
	})
}

// A server may give us another name, of 16 bytes.
func TestNewInstanceUID(t *testing.T) {
	overBoth(t, func(t *testing.T, s *fleet, client func(...remote.EndpointOption) *opamp.Client) {
		l := newLog()
		uid := []byte("0123456789abcdef")
		s.mu.Lock()
		s.offer = func(m *protobufs.ServerToAgent) {
			switch {
			case string(m.InstanceUid) != string(uid):
				m.AgentIdentification = &protobufs.AgentIdentification{NewInstanceUid: uid}
			case len(s.messages) > 2:
				m.AgentIdentification = &protobufs.AgentIdentification{NewInstanceUid: []byte("short")}
			}
		}
		s.mu.Unlock()
		remotetest.Follow(t, remotetest.Controller(t), client(), l.option())
		remotetest.Await(t, "a short name is refused", func() bool { return l.count("new instance uid of 5 bytes: must have 16") == 1 })
		_, messages := s.told()
		if m := messages[len(messages)-1]; string(m.InstanceUid) != string(uid) {
			t.Errorf("instance uid %x, want %x", m.InstanceUid, uid)
		}
		if m := messages[1]; m.AgentDescription == nil || m.SequenceNum != 2 {
			t.Errorf("the first message by the new name is %v, want the whole state", m)
		}
	})
}

// Delays end when control is lost, for real: spans end in this process all the time.
func TestControlLossEndsDelays(t *testing.T) {
	overBoth(t, func(t *testing.T, s *fleet, client func(...remote.EndpointOption) *opamp.Client) {
		c, l := remotetest.Controller(t), newLog()
		remotetest.Follow(t, c, client(remote.WithInterval(time.Second)), l.option())
		s.push(config("1", naming.OpAMPPlan, remotetest.Document("plan-1", "a", remotetest.Hasty...)))
		s.awaitStatus("1", applied)
		app := remotetest.NewApp(t, c)
		app.AwaitDelays()
		s.stop()
		awaitStop(t, c, "the plan's source has not answered for the time of three polls")
		app.WantNoDelay()
		if l.count("connection refused") == 0 {
			t.Errorf("the log is %q, want the cause", l.lines)
		}
	})
}

// A server that wants certificates, over both transports.
func TestMutualTLS(t *testing.T) {
	backend := httptest.NewUnstartedServer(nil)
	backend.StartTLS() // for its certificate, which is its own root and good for clients too
	defer backend.Close()
	own := backend.TLS.Certificates[0]
	roots := x509.NewCertPool()
	roots.AddCert(backend.Certificate())
	for _, scheme := range []string{"wss", "https"} {
		t.Run(scheme, func(t *testing.T) {
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert})
			if err != nil {
				t.Fatal(err)
			}
			s := &fleet{TB: t}
			s.serve(listener)
			defer s.stop()
			c := remotetest.Controller(t)
			remotetest.Follow(t, c, newClient(t, scheme+"://"+listener.Addr().String(), remote.WithTLS(&tls.Config{
				RootCAs: roots, Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"},
			})))
			s.push(config("1", naming.OpAMPPlan, remotetest.Document("plan-1", "a")))
			s.awaitStatus("1", applied)
			awaitPlan(t, c, "plan-1")
		})
	}
}

func TestNewRejects(t *testing.T) {
	for url, want := range map[string]string{
		"":                          "scheme must be one of wss, https, ws, http",
		"ws://opamp.example.com/":   "scheme must be wss unless the host is loopback, or WithoutTLS is used",
		"http://opamp.example.com/": "scheme must be https unless the host is loopback",
		"wss:///v1/opamp":           "must have a host",
	} {
		if _, err := opamp.NewClient(url); !errors.Is(err, remote.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("NewClient(%q) = %v, want an ErrConfig with %q", url, err, want)
		}
	}
	c := newClient(t, "wss://opamp.example.com/v1/opamp?key=secret")
	if got := c.String(); got != "opamp wss://opamp.example.com/v1/opamp" {
		t.Errorf("String() = %q, want no secret in it", got)
	}
}
