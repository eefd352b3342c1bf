package planserver_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorilla/websocket"
	"github.com/open-telemetry/opamp-go/client"
	"github.com/open-telemetry/opamp-go/client/types"
	"github.com/open-telemetry/opamp-go/protobufs"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
	"github.com/otelprof/otelprof/internal/naming"
)

// An agent is a real OpAMP client that takes plans as a controller would.
type agent struct {
	client.OpAMPClient
	once sync.Once // a client that is stopped twice waits for the end of its context
	mu   sync.Mutex
	last *protobufs.AgentRemoteConfig
}

func (a *agent) plan() (document, signature string, got bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	files := a.last.GetConfig().GetConfigMap()
	return string(files[naming.OpAMPPlan].GetBody()), string(files[naming.OpAMPSignature].GetBody()), a.last != nil
}

func (a *agent) take(ctx context.Context, c *protobufs.AgentRemoteConfig) {
	a.mu.Lock()
	a.last = c
	a.mu.Unlock()
	status := &protobufs.RemoteConfigStatus{LastRemoteConfigHash: c.GetConfigHash(), Status: protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED}
	health := &protobufs.ComponentHealth{Healthy: true, Status: string(causal.StateIdle)}
	if file, ok := c.GetConfig().GetConfigMap()[naming.OpAMPPlan]; ok {
		health.Status = string(causal.StateRunning)
		if _, err := plan.Parse(file.GetBody()); err != nil {
			status.Status, status.ErrorMessage = protobufs.RemoteConfigStatuses_RemoteConfigStatuses_FAILED, err.Error()
			health.Status = string(causal.StateStopped)
		}
	}
	_ = a.SetRemoteConfigStatus(status)
	_ = a.SetHealth(health)
}

// startAgent starts a client that sends the service's name and its number.
func startAgent(t *testing.T, how planserver.How, url string, number int, configure ...func(*types.StartSettings)) *agent {
	t.Helper()
	c := client.NewHTTP(nil)
	every := 50 * time.Millisecond
	settings := types.StartSettings{OpAMPServerURL: url + "/v1/opamp", HeartbeatInterval: &every}
	c.SetPollingInterval(every)
	a := &agent{OpAMPClient: c}
	if how == planserver.HowWebSocket {
		a.OpAMPClient = client.NewWebSocket(nil)
		settings.OpAMPServerURL = strings.Replace(settings.OpAMPServerURL, "http", "ws", 1)
	}
	settings.InstanceUid = types.InstanceUid(fmt.Appendf(nil, "instance-uid-%03d", number))
	settings.Callbacks.OnMessage = func(ctx context.Context, m *types.MessageData) {
		if m.RemoteConfig != nil {
			a.take(ctx, m.RemoteConfig)
		}
	}
	for _, f := range configure {
		f(&settings)
	}
	text := func(s string) *protobufs.AnyValue {
		return &protobufs.AnyValue{Value: &protobufs.AnyValue_StringValue{StringValue: s}}
	}
	capabilities := protobufs.AgentCapabilities_AgentCapabilities_AcceptsRemoteConfig |
		protobufs.AgentCapabilities_AgentCapabilities_ReportsRemoteConfig |
		protobufs.AgentCapabilities_AgentCapabilities_ReportsHealth |
		protobufs.AgentCapabilities_AgentCapabilities_ReportsHeartbeat
	err := errors.Join(
		a.SetHealth(&protobufs.ComponentHealth{Healthy: true, Status: "idle"}),
		a.SetCapabilities(&capabilities),
		a.SetAgentDescription(&protobufs.AgentDescription{IdentifyingAttributes: []*protobufs.KeyValue{
			{Key: "service.name", Value: text("shop")}, {Key: "service.instance.id", Value: text(fmt.Sprint(number))},
		}}),
		a.Start(t.Context(), settings),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.stop)
	return a
}

func (a *agent) stop() {
	a.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = a.Stop(ctx)
	})
}

// eventually waits until what f returns is as wanted.
func eventually[T any](t *testing.T, what string, want T, f func() T, opts ...cmp.Option) {
	t.Helper()
	var diff string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if diff = cmp.Diff(want, f(), opts...); diff == "" {
			return
		}
	}
	t.Fatalf("%s (-want +got):\n%s", what, diff)
}

var seenAside = cmpopts.IgnoreFields(planserver.Instance{}, "LastSeen")

func TestOpAMP(t *testing.T) {
	for _, how := range []planserver.How{planserver.HowWebSocket, planserver.HowOpAMPHTTP} {
		t.Run(string(how), func(t *testing.T) {
			var log audit
			s := startServer(t, planserver.WithLogger(log.Logger()), planserver.WithToken(testToken))
			one, two := startAgent(t, how, s.URL(), 1), startAgent(t, how, s.URL(), 2)
			fleet := func() []planserver.Instance { return s.Fleet().Instances }
			both := func(as planserver.Instance) []planserver.Instance {
				as.Service, as.How, as.Connected = "shop", how, how == planserver.HowWebSocket
				as.InstanceID = "1"
				second := as
				second.InstanceID = "2"
				return []planserver.Instance{as, second}
			}
			none := planserver.Instance{Status: planserver.StatusApplied, State: "idle", Current: true}
			eventually(t, "fleet without a plan", both(none), fleet, seenAside)

			document := pl("first", 1)
			if err := s.Push([]byte(document), nil, "test"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "fleet with a plan", both(planserver.Instance{
				Status: planserver.StatusApplied, State: "running", Current: true, Hash: s.Fleet().Plan.Hash,
			}), fleet, seenAside)
			for _, a := range []*agent{one, two} {
				if got, _, _ := a.plan(); got != document {
					t.Errorf("agent has %q, want the plan", got)
				}
			}

			if got := ask(s, "PUT", "/v1/plan?force=1", "{}", naming.HeaderSignature, strings.Repeat("A", 86)+"=="); got.code != http.StatusNoContent {
				t.Fatalf("PUT with force = %d %q", got.code, got.body)
			}
			eventually(t, "signature at the agent", strings.Repeat("A", 86)+"==", func() string { _, got, _ := one.plan(); return got })
			_, reason := plan.Parse([]byte("{}"))
			eventually(t, "fleet with a bad plan", both(planserver.Instance{
				Status: planserver.StatusFailed, State: "stopped", Current: true, Hash: s.Fleet().Plan.Hash, Error: strings.ReplaceAll(reason.Error(), "\n", " "),
			}), fleet, seenAside)

			s.StopPlan("test")
			eventually(t, "fleet after the stop", both(none), fleet, seenAside)
			if got, _, _ := one.plan(); got != "" {
				t.Errorf("agent has %q, want no plan", got)
			}
			log.wants(t, `msg="planserver: instance seen" service=shop`, "plan pushed", `msg="planserver: instance applied" service=shop`,
				"plan pushed", `msg="planserver: instance failed" service=shop`, "must be", "plan stopped", `msg="planserver: instance without plan"`)

			// A client that ends is listed still, one over a WebSocket as gone.
			two.stop()
			if how == planserver.HowWebSocket {
				eventually(t, "connections", []bool{true, false}, func() (open []bool) {
					for _, i := range s.Fleet().Instances {
						open = append(open, i.Connected)
					}
					return open
				})
				log.wants(t, `msg="planserver: instance gone" service=shop instance=2`)
			}
		})
	}
}

// TestPushReachesWebSockets checks that a push does not wait for a heartbeat: there is none.
func TestPushReachesWebSockets(t *testing.T) {
	s := startServer(t)
	a := startAgent(t, planserver.HowWebSocket, s.URL(), 1, func(s *types.StartSettings) {
		never := time.Hour
		s.HeartbeatInterval = &never
	})
	eventually(t, "offer of nothing", true, func() bool { _, _, got := a.plan(); return got })
	document := pl("pushed", 1)
	began := time.Now()
	if err := s.Push([]byte(document), nil, "test"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "plan", document, func() string { got, _, _ := a.plan(); return got })
	t.Logf("pushed within %v", time.Since(began).Round(time.Millisecond))
}

// TestNewServer checks that a server without a plan ends that of the one before, and that the
// one after it learns which agents are there.
func TestNewServer(t *testing.T) {
	first := startServer(t)
	if err := first.Push([]byte(pl("a", 1)), nil, "test"); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, planserver.HowOpAMPHTTP, first.URL(), 1)
	eventually(t, "applied", planserver.StatusApplied, statusAt(first))
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := newServer(t)
	if err := second.Start(strings.TrimPrefix(first.URL(), "http://")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "plan", "", func() string { got, _, _ := a.plan(); return got })
	eventually(t, "fleet", []planserver.Instance{{
		Service: "shop", InstanceID: "1", How: planserver.HowOpAMPHTTP, Status: planserver.StatusApplied, State: "idle", Current: true,
	}}, func() []planserver.Instance { return second.Fleet().Instances }, seenAside)
}

func statusAt(s *planserver.Server) func() planserver.Status {
	return func() planserver.Status {
		if f := s.Fleet(); len(f.Instances) == 1 {
			return f.Instances[0].Status
		}
		return ""
	}
}

// TestMessages sends what no client of good will sends.
func TestMessages(t *testing.T) {
	s := startServer(t)
	post := func(body []byte, packed bool) (*protobufs.ServerToAgent, int) {
		r, err := http.NewRequest("POST", s.URL()+"/v1/opamp", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-protobuf")
		if packed {
			r.Header.Set("Content-Encoding", "gzip")
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		var m protobufs.ServerToAgent
		if a.StatusCode == 200 {
			if err := proto.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
		}
		return &m, a.StatusCode
	}
	marshal := func(m *protobufs.AgentToServer) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	defer http.DefaultClient.CloseIdleConnections()

	if _, code := post([]byte("rubbish"), false); code != 400 {
		t.Errorf("rubbish = %d, want 400", code)
	}
	if _, code := post([]byte("rubbish"), true); code != 400 {
		t.Errorf("rubbish, packed = %d, want 400", code)
	}
	got, _ := post(marshal(&protobufs.AgentToServer{InstanceUid: []byte("short")}), false)
	if want := "instance_uid of 5 bytes: must have 16"; got.GetErrorResponse().GetErrorMessage() != want {
		t.Errorf("error = %v, want %q", got.GetErrorResponse(), want)
	}
	unknown := &protobufs.AgentToServer{InstanceUid: []byte("0123456789abcdef"), SequenceNum: 7, Capabilities: 3}
	got, _ = post(gzipped(t, bytes.NewReader(marshal(unknown))), true)
	if got.GetFlags() != uint64(protobufs.ServerToAgentFlags_ServerToAgentFlags_ReportFullState) || got.GetRemoteConfig() == nil {
		t.Errorf("answer to one never seen = %v, want its full state asked for, and what it must know", got)
	}
	if err := s.Push([]byte(pl("x", 1)), nil, "test"); err != nil {
		t.Fatal(err)
	}
	unable := &protobufs.AgentToServer{InstanceUid: []byte("0123456789abcde0"), SequenceNum: 1, Capabilities: 1}
	if got, _ := post(marshal(unable), false); got.GetRemoteConfig() != nil {
		t.Errorf("answer to one that takes no configuration = %v", got)
	}
	for range 2 { // an answer may be lost, so it is offered until the agent says that it has it
		if got, _ := post(marshal(unknown), false); string(got.GetRemoteConfig().GetConfig().GetConfigMap()[naming.OpAMPPlan].GetBody()) == "" {
			t.Errorf("answer = %v, want the plan", got)
		}
	}
	if n := len(s.Fleet().Instances); n != 2 {
		t.Errorf("%d instances, want 2", n)
	}
}

// TestNamesOfOneConnection checks that only the last name that an agent takes is that of its
// connection, and that it gets the plan under each.
func TestNamesOfOneConnection(t *testing.T) {
	s := startServer(t)
	if err := s.Push([]byte(pl("x", 1)), nil, "test"); err != nil {
		t.Fatal(err)
	}
	conn := dial(t, s)
	for i := range 3 {
		b, err := proto.Marshal(&protobufs.AgentToServer{InstanceUid: fmt.Appendf(nil, "instance-uid-%03d", i), SequenceNum: 1, Capabilities: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.WriteMessage(websocket.BinaryMessage, append([]byte{0}, b...)); err != nil {
			t.Fatal(err)
		}
		for got := false; !got; { // beside it comes the answer to the message
			_, b, err := conn.ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			var m protobufs.ServerToAgent
			if err := proto.Unmarshal(b[1:], &m); err != nil {
				t.Fatal(err)
			}
			got = m.GetRemoteConfig() != nil
		}
	}
	open := 0
	for _, i := range s.Fleet().Instances {
		if i.Connected {
			open++
		}
	}
	if n := len(s.Fleet().Instances); n != 3 || open != 1 {
		t.Errorf("%d instances, %d connected, want 3 and 1", n, open)
	}
}

// An instance that comes and goes, or stops what is stopped, does not fill the log either.
func TestGoneInstancesDoNotFillTheLog(t *testing.T) {
	var log audit
	s := startServer(t, planserver.WithLogger(log.Logger()))
	for i := range 1000 { // at least as many lines as a minute has
		ask(s, "GET", "/v1/plan", "", naming.HeaderServiceName, "made up", naming.HeaderServiceInstanceID, fmt.Sprint(i))
	}
	ask(s, "DELETE", "/v1/plan", "")
	conn := dial(t, s)
	b, err := proto.Marshal(&protobufs.AgentToServer{InstanceUid: []byte("instance-uid-001"), SequenceNum: 1})
	if err == nil {
		err = conn.WriteMessage(websocket.BinaryMessage, append([]byte{0}, b...))
	}
	if err == nil {
		_, _, err = conn.ReadMessage()
	}
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	eventually(t, "connected", false, func() bool {
		return slices.ContainsFunc(s.Fleet().Instances, func(i planserver.Instance) bool { return i.Connected })
	})
	if said := log.String(); strings.Contains(said, "gone") || strings.Contains(said, "stopped") {
		t.Errorf("said %.1000q after 1000 lines in this minute, want no more", said[max(0, len(said)-1000):])
	}
}

// Another instance that says, under the same name, that it has the plan keeps none from the
// connection of the first.
func TestOthersDoNotSpeakForAConnection(t *testing.T) {
	s := startServer(t)
	if err := s.Push([]byte(pl("x", 1)), nil, "test"); err != nil {
		t.Fatal(err)
	}
	hash, err := hex.DecodeString(s.Fleet().Plan.Hash)
	if err != nil {
		t.Fatal(err)
	}
	const uid = "instance-uid-001"
	say := func(conn *websocket.Conn, m *protobufs.AgentToServer) {
		t.Helper()
		m.InstanceUid = []byte(uid)
		b, err := proto.Marshal(m)
		if err == nil {
			err = conn.WriteMessage(websocket.BinaryMessage, append([]byte{0}, b...))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	answer := func(conn *websocket.Conn) *protobufs.ServerToAgent {
		t.Helper()
		m := new(protobufs.ServerToAgent)
		_, b, err := conn.ReadMessage()
		if err == nil {
			err = proto.Unmarshal(b[1:], m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first, other := dial(t, s), dial(t, s)
	say(first, &protobufs.AgentToServer{SequenceNum: 1}) // takes no configuration yet
	answer(first)
	say(other, &protobufs.AgentToServer{SequenceNum: 1, RemoteConfigStatus: &protobufs.RemoteConfigStatus{
		LastRemoteConfigHash: hash, Status: protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED,
	}})
	answer(other)
	say(first, &protobufs.AgentToServer{SequenceNum: 2, Capabilities: 3})
	for offered := false; !offered; { // or the test times out
		offered = answer(first).GetRemoteConfig() != nil
	}
}

// TestServerConcurrentSafe pushes, stops and lists while agents of all kinds come and go.
func TestServerConcurrentSafe(t *testing.T) {
	s := startServer(t)
	var wg sync.WaitGroup
	for i := range 3 {
		a := startAgent(t, planserver.HowWebSocket, s.URL(), i)
		startAgent(t, planserver.HowOpAMPHTTP, s.URL(), 10+i)
		wg.Go(func() {
			time.Sleep(time.Duration(20*i) * time.Millisecond)
			a.stop()
		})
		wg.Go(func() {
			for n := range 30 {
				_ = s.Push([]byte(pl(fmt.Sprint(i, "-", n), 0)), nil, "test")
				ask(s, "GET", "/v1/plan", "", naming.HeaderServiceName, fmt.Sprint(n))
				s.Fleet()
			}
			s.StopPlan("test")
		})
	}
	wg.Wait()
}

// TestClosesWhenShutDown leaves WebSockets open: Shutdown ends them.
func TestClosesWhenShutDown(t *testing.T) {
	s := startServer(t)
	conn := dial(t, s)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, _, err := conn.ReadMessage(); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("read after Shutdown = %v, want the end", err)
	}
}

func dial(t *testing.T, s *planserver.Server) *websocket.Conn {
	t.Helper()
	conn, answer, err := websocket.DefaultDialer.Dial(strings.Replace(s.URL(), "http", "ws", 1)+"/v1/opamp", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	t.Cleanup(func() { conn.Close() })
	return conn
}

// floodWebSocket sends one message that does not end.
func floodWebSocket(t *testing.T, s *planserver.Server, size int64) {
	conn := dial(t, s)
	w, err := conn.NextWriter(websocket.BinaryMessage)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(w, zeros(size)); err == nil {
		t.Errorf("a message of %d bytes was taken, want the connection to end", n)
	}
	conn.Close()
}

// gzipped packs what r has.
func gzipped(t *testing.T, r io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.Copy(w, r)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// allocated returns how many bytes f and all goroutines allocate meanwhile.
func allocated(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would empty the pools
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
