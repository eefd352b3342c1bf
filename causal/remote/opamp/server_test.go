package opamp_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/open-telemetry/opamp-go/protobufs"
	"github.com/open-telemetry/opamp-go/server"
	"github.com/open-telemetry/opamp-go/server/types"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/causal/remote/internal/remotetest"
	"github.com/otelprof/otelprof/causal/remote/opamp"
	_ "github.com/otelprof/otelprof/internal/testutil/thorough" // -long
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fleet is opamp-go's own server with one agent: it offers a configuration until the agent
// says that it has it, and keeps what the agent tells.
type fleet struct {
	testing.TB
	address string
	http    *http.Server
	served  chan struct{}

	mu       sync.Mutex
	config   *protobufs.AgentRemoteConfig
	flags    uint64
	offer    func(*protobufs.ServerToAgent) // what else is in answers
	header   http.Header
	messages []*protobufs.AgentToServer
	known    *protobufs.AgentToServer // all that was reported
	conns    map[types.Connection]bool
}

func newFleet(t testing.TB) *fleet {
	t.Helper()
	f := &fleet{TB: t, address: "127.0.0.1:0"}
	f.start()
	t.Cleanup(f.stop)
	return f
}

func (f *fleet) start() {
	f.Helper()
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		f.Fatal(err)
	}
	f.address = listener.Addr().String()
	f.serve(listener)
}

func (f *fleet) serve(listener net.Listener) {
	f.Helper()
	f.mu.Lock()
	f.known, f.conns = &protobufs.AgentToServer{}, map[types.Connection]bool{}
	f.mu.Unlock()
	callbacks := types.ConnectionCallbacks{OnMessage: f.receive, OnConnected: f.connected, OnConnectionClose: f.disconnected}
	handler, connContext, err := server.New(nil).Attach(server.Settings{Callbacks: types.Callbacks{
		OnConnecting: func(r *http.Request) types.ConnectionResponse {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.header = r.Header
			return types.ConnectionResponse{Accept: true, ConnectionCallbacks: callbacks}
		},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.http, f.served = &http.Server{Handler: http.HandlerFunc(handler), ConnContext: connContext}, make(chan struct{})
	go func(s *http.Server, served chan struct{}) {
		defer close(served)
		_ = s.Serve(listener)
	}(f.http, f.served)
}

// stop ends the server and all its connections.
func (f *fleet) stop() {
	_ = f.http.Close()
	<-f.served
	f.mu.Lock()
	conns := f.conns
	f.conns = map[types.Connection]bool{}
	f.mu.Unlock()
	for c := range conns {
		_ = c.Disconnect()
	}
}

func (f *fleet) connected(_ context.Context, c types.Connection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[c] = true
}

func (f *fleet) disconnected(c types.Connection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

func (f *fleet) receive(_ context.Context, _ types.Connection, m *protobufs.AgentToServer) *protobufs.ServerToAgent {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, m)
	// What a message leaves out is as it was.
	if m.AgentDescription != nil {
		f.known.AgentDescription = m.AgentDescription
	}
	if m.Health != nil {
		f.known.Health = m.Health
	}
	if m.EffectiveConfig != nil {
		f.known.EffectiveConfig = m.EffectiveConfig
	}
	if m.RemoteConfigStatus != nil {
		f.known.RemoteConfigStatus = m.RemoteConfigStatus
	}
	answer := &protobufs.ServerToAgent{InstanceUid: m.InstanceUid, Flags: f.flags}
	f.flags = 0
	if f.known.AgentDescription == nil { // it came before we started
		answer.Flags |= uint64(protobufs.ServerToAgentFlags_ServerToAgentFlags_ReportFullState)
	}
	if f.config != nil && !bytes.Equal(f.known.RemoteConfigStatus.GetLastRemoteConfigHash(), f.config.ConfigHash) {
		answer.RemoteConfig = f.config
	}
	if f.offer != nil {
		f.offer(answer)
	}
	return answer
}

func config(hash string, entries ...string) *protobufs.AgentRemoteConfig {
	files := map[string]*protobufs.AgentConfigFile{}
	for i := 0; i < len(entries); i += 2 {
		files[entries[i]] = &protobufs.AgentConfigFile{Body: []byte(entries[i+1])}
	}
	return &protobufs.AgentRemoteConfig{ConfigHash: []byte(hash), Config: &protobufs.AgentConfigMap{ConfigMap: files}}
}

// push sets the configuration, and sends it to agents that are connected by WebSocket.
func (f *fleet) push(c *protobufs.AgentRemoteConfig) {
	f.mu.Lock()
	f.config = c
	conns := maps.Clone(f.conns)
	f.mu.Unlock()
	for conn := range conns {
		_ = conn.Send(context.Background(), &protobufs.ServerToAgent{RemoteConfig: c}) // not over HTTP
	}
}

// told returns what the server knows of the agent, the latest message last.
func (f *fleet) told() (*protobufs.AgentToServer, []*protobufs.AgentToServer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return proto.Clone(f.known).(*protobufs.AgentToServer), f.messages
}

// awaitStatus waits until this status was reported of the configuration with this hash.
func (f *fleet) awaitStatus(hash string, want protobufs.RemoteConfigStatuses) *protobufs.AgentToServer {
	f.Helper()
	var known *protobufs.AgentToServer
	remotetest.Await(f, fmt.Sprintf("the server is told %s for %s", want, hash), func() bool {
		known, _ = f.told()
		s := known.RemoteConfigStatus
		return string(s.GetLastRemoteConfigHash()) == hash && s.GetStatus() == want
	})
	return known
}

func (f *fleet) awaitHealth(want string) *protobufs.AgentToServer {
	f.Helper()
	var known *protobufs.AgentToServer
	remotetest.Await(f, "the server is told of health "+want, func() bool {
		known, _ = f.told()
		return known.Health.GetStatus() == want
	})
	return known
}

func newClient(t testing.TB, url string, opts ...remote.EndpointOption) *opamp.Client {
	t.Helper()
	c, err := opamp.NewClient(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func awaitPlan(t testing.TB, c *causal.Controller, id string) {
	t.Helper()
	remotetest.Await(t, id+" runs", func() bool {
		s := c.Status()
		return s.State == causal.StateRunning && s.Plan.ID == id
	})
}

func awaitStop(t testing.TB, c *causal.Controller, reason string) {
	t.Helper()
	remotetest.Await(t, "no plan runs", func() bool { return c.Status().State == causal.StateStopped })
	if got := c.Status().Reason; got != reason {
		t.Errorf("the plan ended since %q, want %q", got, reason)
	}
}
