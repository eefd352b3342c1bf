package opamp

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/open-telemetry/opamp-go/protobufs"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/internal/naming"
)

// capabilities has nothing by which a server could change this process but its plan.
const capabilities = uint64(protobufs.AgentCapabilities_AgentCapabilities_ReportsStatus |
	protobufs.AgentCapabilities_AgentCapabilities_AcceptsRemoteConfig |
	protobufs.AgentCapabilities_AgentCapabilities_ReportsEffectiveConfig |
	protobufs.AgentCapabilities_AgentCapabilities_ReportsRemoteConfig |
	protobufs.AgentCapabilities_AgentCapabilities_ReportsHealth |
	protobufs.AgentCapabilities_AgentCapabilities_ReportsHeartbeat)

// An agent is the client's side of the protocol without its transport: what to tell the server, and
// what its messages mean. It is for one goroutine.
type agent struct {
	to          *remote.Sink
	uid         uuid.UUID
	sequence    uint64
	description *protobufs.AgentDescription
	started     time.Time

	asked    bool // the server has had an interval to send a configuration, after its first answer
	received bool // a remote configuration, and of the last one:
	hash     []byte
	plan     bool
	outcome  error

	known *protobufs.AgentToServer // what was reported to the server
}

func newAgent(r *resource.Resource, to *remote.Sink, now time.Time) *agent {
	return &agent{
		to:          to,
		uid:         uuid.Must(uuid.NewV7()), // can only fail if the system has no random numbers
		description: describe(r),
		started:     now,
		known:       &protobufs.AgentToServer{},
	}
}

// forget has the next message tell everything.
func (a *agent) forget() { a.known = &protobufs.AgentToServer{} }

// changed reports whether there is something that the server does not know.
func (a *agent) changed() bool {
	now := a.state()
	return !proto.Equal(now, a.known)
}

// next returns the next message: what has changed since the last one.
func (a *agent) next() *protobufs.AgentToServer {
	now := a.state()
	a.sequence++
	m := &protobufs.AgentToServer{InstanceUid: a.uid[:], SequenceNum: a.sequence, Capabilities: capabilities}
	if !proto.Equal(now.AgentDescription, a.known.AgentDescription) {
		m.AgentDescription = now.AgentDescription
	}
	if !proto.Equal(now.Health, a.known.Health) {
		m.Health = now.Health
	}
	if !proto.Equal(now.EffectiveConfig, a.known.EffectiveConfig) {
		m.EffectiveConfig = now.EffectiveConfig
	}
	if !proto.Equal(now.RemoteConfigStatus, a.known.RemoteConfigStatus) {
		m.RemoteConfigStatus = now.RemoteConfigStatus
	}
	a.known = now
	return m
}

// last returns the message with which the client leaves.
func (a *agent) last() *protobufs.AgentToServer {
	m := a.next()
	m.AgentDisconnect = &protobufs.AgentDisconnect{}
	return m
}

// state is all that is reported to the server, as it is now.
func (a *agent) state() *protobufs.AgentToServer {
	s := a.to.Status()
	return &protobufs.AgentToServer{
		AgentDescription:   a.description,
		Health:             a.health(s),
		EffectiveConfig:    effective(s),
		RemoteConfigStatus: a.configStatus(s),
	}
}

func (a *agent) health(s causal.Status) *protobufs.ComponentHealth {
	h := &protobufs.ComponentHealth{
		Healthy:            s.LastError == "" && s.State != causal.StateAborted,
		StartTimeUnixNano:  uint64(a.started.UnixNano()),
		Status:             string(s.State),
		StatusTimeUnixNano: uint64(s.Since.UnixNano()),
	}
	if s.Reason != "" {
		h.Status += ": " + text(s.Reason)
	}
	switch {
	case s.LastError != "":
		h.LastError = text(s.LastError)
	case !h.Healthy:
		h.LastError = text(s.Reason)
	}
	return h
}

// effective is the plan in force, with its defaults and the limits of this process.
func effective(s causal.Status) *protobufs.EffectiveConfig {
	files := map[string]*protobufs.AgentConfigFile{}
	if s.State == causal.StateRunning || s.State == causal.StateWaiting {
		plan := *s.Plan
		plan.Limits = s.Limits
		// A plan has nothing that JSON cannot have.
		if body, err := json.Marshal(&plan); err == nil {
			files[naming.OpAMPPlan] = &protobufs.AgentConfigFile{Body: body, ContentType: "application/json"}
		}
	}
	return &protobufs.EffectiveConfig{ConfigMap: &protobufs.AgentConfigMap{ConfigMap: files}}
}

// configStatus is APPLYING while a plan waits for its time.
func (a *agent) configStatus(s causal.Status) *protobufs.RemoteConfigStatus {
	if !a.received {
		return nil
	}
	r := &protobufs.RemoteConfigStatus{LastRemoteConfigHash: a.hash}
	switch {
	case a.outcome != nil:
		r.Status = protobufs.RemoteConfigStatuses_RemoteConfigStatuses_FAILED
		r.ErrorMessage = text(a.outcome.Error())
	case a.plan && s.State == causal.StateWaiting:
		r.Status = protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLYING
	default:
		r.Status = protobufs.RemoteConfigStatuses_RemoteConfigStatuses_APPLIED
	}
	return r
}

// text makes of any text one that a message may have.
func text(s string) string { return strings.ToValidUTF8(s[:min(len(s), 4096)], "\uFFFD") }

// A refusal is an error that the server answered with.
type refusal struct {
	text  string
	after time.Duration // for which it asks not to be asked, or 0
}

func (r *refusal) Error() string { return r.text }

// retryAfter is what a server has asked for by an error.
func retryAfter(err error) time.Duration {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r.after
	}
	return 0
}

// decode reads a message and takes it.
func (a *agent) decode(data []byte) error {
	if len(data) > maxMessageBytes {
		return fmt.Errorf("message of more than %d bytes: must have at most as many", maxMessageBytes)
	}
	var m protobufs.ServerToAgent
	if err := proto.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("message of %d bytes: must be a ServerToAgent: %w", len(data), err)
	}
	return a.receive(&m)
}

// receive takes a message. After an error it was no answer.
func (a *agent) receive(m *protobufs.ServerToAgent) error {
	if uid := m.InstanceUid; len(uid) > 0 && string(uid) != string(a.uid[:]) {
		return fmt.Errorf("message for instance %.40x: must be for %x", uid, a.uid[:])
	}
	if e := m.ErrorResponse; e != nil {
		return refused(e)
	}
	a.decline(m)
	if m.Flags&uint64(protobufs.ServerToAgentFlags_ServerToAgentFlags_ReportFullState) != 0 {
		a.forget()
	}
	if m.AgentIdentification != nil {
		a.identify(m.AgentIdentification.NewInstanceUid)
	}
	if m.RemoteConfig == nil {
		a.unchanged()
		return nil
	}
	a.configure(m.RemoteConfig)
	return nil
}

// unchanged takes the answer that all is as it was. A server that has no configuration sends none;
// one that has one may send it behind its first answer.
func (a *agent) unchanged() {
	if a.asked && !a.received {
		a.to.None("the server has no plan")
		return
	}
	a.to.Unchanged()
}

func refused(e *protobufs.ServerErrorResponse) *refusal {
	r := &refusal{text: fmt.Sprintf("the server's error %s: %.200q", e.Type, e.ErrorMessage)}
	if e.Type == protobufs.ServerErrorResponseType_ServerErrorResponseType_Unavailable {
		r.after = time.Duration(min(e.GetRetryInfo().GetRetryAfterNanoseconds(), math.MaxInt64))
	}
	return r
}

// configure puts the plan of a configuration in force. It ignores the other entries.
func (a *agent) configure(c *protobufs.AgentRemoteConfig) {
	files := c.GetConfig().GetConfigMap()
	a.received, a.hash = true, c.ConfigHash
	document := files[naming.OpAMPPlan].GetBody()
	if a.plan = len(document) > 0; !a.plan {
		a.outcome = nil
		a.to.None("the server has no plan")
		return
	}
	a.outcome = a.to.Document(document, files[naming.OpAMPSignature].GetBody())
}

// identify takes the ID that the server has given the client.
func (a *agent) identify(uid []byte) {
	id, err := uuid.FromBytes(uid)
	if err != nil || id == uuid.Nil {
		a.to.Warn(fmt.Errorf("new instance uid of %d bytes: must have 16, not all zero", len(uid)))
		return
	}
	if id != a.uid {
		a.uid = id
		a.forget()
	}
}

// decline logs what was offered in spite of the client's capabilities.
func (a *agent) decline(m *protobufs.ServerToAgent) {
	for what, offered := range map[string]bool{
		"a command":           m.Command != nil,
		"connection settings": m.ConnectionSettings != nil,
		"packages":            m.PackagesAvailable != nil,
		"a custom message":    m.CustomMessage != nil,
	} {
		if offered {
			a.to.Warn(fmt.Errorf("the server sends %s: ignored, only plans are taken", what))
		}
	}
}
