package planserver

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"

	"github.com/open-telemetry/opamp-go/protobufs"
	opamp "github.com/open-telemetry/opamp-go/server"
	"github.com/open-telemetry/opamp-go/server/types"

	"github.com/otelprof/otelprof/internal/naming"
)

// maxMessageBytes bounds a message from an agent, unpacked. It may have a plan and its signature,
// though they are not asked for.
const maxMessageBytes = 128 << 10

// attach makes the OpAMP handlers. Compression stays off on WebSockets: their library has no bound
// for what is unpacked.
func (s *Server) attach() error {
	handle, conn, err := opamp.New(nil).Attach(opamp.Settings{Callbacks: types.Callbacks{OnConnecting: s.connecting}})
	s.opamp, s.conn = handle, conn
	return err
}

// noConn stands for the connection of a polling agent, which the library needs in the context of
// each request and hands back unused.
var noConn net.Conn = (*net.TCPConn)(nil)

// protobufType is the content type of messages over HTTP; the library takes others for WebSockets.
const protobufType = "application/x-protobuf"

// servePolls hands over a request whose body is bounded and not packed: the library would unpack
// any length.
func (s *Server) servePolls(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Content-Type"); got != protobufType {
		problem(w, http.StatusUnsupportedMediaType, "Content-Type %q: must be %s", got, protobufType)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxMessageBytes)
	body := io.Reader(r.Body)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "":
	case "gzip":
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			problem(w, http.StatusBadRequest, "body: must be gzip: %v", err)
			return
		}
		body = unpacked
	default:
		problem(w, http.StatusUnsupportedMediaType, "Content-Encoding %q: must be gzip or none", encoding)
		return
	}
	r = r.WithContext(s.conn(r.Context(), noConn))
	r.Header.Del("Content-Encoding")
	r.Body = http.MaxBytesReader(w, io.NopCloser(body), maxMessageBytes)
	s.opamp(w, r)
}

// connecting is called for every request, and chooses the callbacks for its messages.
func (s *Server) connecting(r *http.Request) types.ConnectionResponse {
	if r.Header.Get("Content-Type") == protobufType {
		return types.ConnectionResponse{Accept: true, ConnectionCallbacks: types.ConnectionCallbacks{
			OnMessage: func(_ context.Context, _ types.Connection, m *protobufs.AgentToServer) *protobufs.ServerToAgent {
				return s.guarded(&agent{how: HowOpAMPHTTP}, m)
			},
		}}
	}
	a := s.connected()
	if a == nil {
		return types.ConnectionResponse{HTTPStatusCode: http.StatusServiceUnavailable, HTTPResponseHeader: map[string]string{"Retry-After": "30"}}
	}
	return types.ConnectionResponse{Accept: true, ConnectionCallbacks: a.callbacks(s)}
}

// guarded answers a message; a panic, which would end the program, becomes an error.
func (s *Server) guarded(a *agent, m *protobufs.AgentToServer) (answer *protobufs.ServerToAgent) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("planserver: panic", slog.Any("value", v))
			answer = unanswerable(m, protobufs.ServerErrorResponseType_ServerErrorResponseType_Unknown, "internal error")
		}
	}()
	return s.message(a, m)
}

func unanswerable(m *protobufs.AgentToServer, kind protobufs.ServerErrorResponseType, why string) *protobufs.ServerToAgent {
	return &protobufs.ServerToAgent{
		InstanceUid:   m.GetInstanceUid(),
		ErrorResponse: &protobufs.ServerErrorResponse{Type: kind, ErrorMessage: why},
	}
}

// message takes what an agent reports, and sees to it that the agent is given the plan if it has
// another.
func (s *Server) message(a *agent, m *protobufs.AgentToServer) *protobufs.ServerToAgent {
	if n := len(m.GetInstanceUid()); n != 16 {
		return unanswerable(m, protobufs.ServerErrorResponseType_ServerErrorResponseType_BadRequest,
			fmt.Sprintf("instance_uid of %d bytes: must have 16", n))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instance(string(m.GetInstanceUid()), a.how)
	if old := a.instance; old != i {
		if old != nil && old.agent == a {
			s.speaks(old, nil) // or a connection could fill the list with names
		}
		a.instance, a.offered, a.has = i, nil, ""
	}
	if a.how == HowWebSocket {
		s.speaks(i, a)
	}
	changed, complete := i.report(m)
	if c := m.GetRemoteConfigStatus(); c != nil {
		a.has = hex.EncodeToString(c.GetLastRemoteConfigHash())
	}
	s.heed(i)
	answer := &protobufs.ServerToAgent{
		InstanceUid: m.GetInstanceUid(),
		Capabilities: uint64(protobufs.ServerCapabilities_ServerCapabilities_AcceptsStatus |
			protobufs.ServerCapabilities_ServerCapabilities_OffersRemoteConfig),
	}
	if a.how == HowWebSocket {
		a.poke() // one goroutine alone sends plans, or an older one might come last
	} else {
		answer.RemoteConfig = s.offerTo(a)
	}
	if !complete {
		answer.Flags = uint64(protobufs.ServerToAgentFlags_ServerToAgentFlags_ReportFullState)
	}
	if i.described {
		s.audit(i, changed)
	}
	return answer
}

// offerTo returns the plan for an agent that has another, or none where there was one; nil if it is
// up to date. s.mu is held.
func (s *Server) offerTo(a *agent) *protobufs.AgentRemoteConfig {
	i, o := a.instance, s.offer
	if i == nil || !i.accepts {
		return nil
	}
	has := i.hash
	if a.how == HowWebSocket { // others may speak in the instance's name, but not over its connection
		has = a.has
	}
	// What was sent counts before what was heard: the agent may not have answered yet.
	if a.offered == o || a.offered == nil && has == o.hex() {
		return nil
	}
	if a.how == HowWebSocket {
		a.offered = o // what is sent arrives, or the connection ends
	}
	files := map[string]*protobufs.AgentConfigFile{}
	if len(o.document) > 0 {
		files[naming.OpAMPPlan] = &protobufs.AgentConfigFile{Body: o.document, ContentType: o.contentType()}
	}
	if o.signature != "" {
		files[naming.OpAMPSignature] = &protobufs.AgentConfigFile{Body: []byte(o.signature), ContentType: "text/plain"}
	}
	return &protobufs.AgentRemoteConfig{Config: &protobufs.AgentConfigMap{ConfigMap: files}, ConfigHash: o.hash[:]}
}

// report takes over what a message has; parts that are missing are as they were. It returns
// whether the plan's status has changed, and whether nothing is missing that was never heard.
func (i *instance) report(m *protobufs.AgentToServer) (changed, complete bool) {
	i.accepts = m.GetCapabilities()&uint64(protobufs.AgentCapabilities_AgentCapabilities_AcceptsRemoteConfig) != 0
	complete = m.GetSequenceNum() == i.sequence+1
	i.sequence = m.GetSequenceNum()
	if d := m.GetAgentDescription(); d != nil {
		i.described, complete = true, true
		for _, kv := range d.GetIdentifyingAttributes() {
			switch kv.GetKey() {
			case "service.name":
				i.Service = shown(kv.GetValue().GetStringValue(), maxName)
			case "service.instance.id":
				i.InstanceID = shown(kv.GetValue().GetStringValue(), maxName)
			}
		}
	}
	if h := m.GetHealth(); h != nil {
		i.State = shown(h.GetStatus(), maxName)
	}
	if c := m.GetRemoteConfigStatus(); c != nil {
		status, hash, why := statusOf(c.GetStatus()), hex.EncodeToString(c.GetLastRemoteConfigHash()), shown(c.GetErrorMessage(), maxReason)
		changed = status != i.Status || hash != i.hash || why != i.Error
		i.Status, i.hash, i.Error = status, hash, why
	}
	return changed, complete && i.described
}

func statusOf(s protobufs.RemoteConfigStatuses) Status {
	switch s {
	case protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED:
		return StatusApplied
	case protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLYING:
		return StatusApplying
	case protobufs.RemoteConfigStatuses_RemoteConfigStatuses_FAILED:
		return StatusFailed
	}
	return StatusUnset
}
