package planserver

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otelprof/otelprof/internal/naming"
)

// How an instance asks.
type How string

// The ways to ask.
const (
	HowHTTP      How = "http"
	HowWebSocket How = "websocket"
	HowOpAMPHTTP How = "opamp-http"
)

// Status is what an instance reports about the plan that it was given.
type Status string

// The statuses, those of OpAMP. An instance that has not reported one yet, or polls over HTTP
// without Otelprof-State, is [StatusUnset].
const (
	StatusApplied  Status = naming.PlanApplied
	StatusFailed   Status = naming.PlanFailed
	StatusApplying Status = naming.PlanApplying
	StatusUnset    Status = "unset"
)

// An Instance is a process that asks for the plan. The texts are its own, cut off at 256 bytes, its
// error at 1024.
type Instance struct {
	Service    string `json:"service"`
	InstanceID string `json:"instance_id"`
	How        How    `json:"how"`
	// Connected reports that a WebSocket is open.
	Connected bool      `json:"connected,omitempty"`
	LastSeen  time.Time `json:"last_seen"`
	Status    Status    `json:"status"`
	// Hash is the hash of the plan that it was given and has read, in hexadecimal; "" if none.
	Hash string `json:"hash,omitempty"`
	// Current reports that Hash is the hash of the plan that is handed out now.
	Current bool `json:"current"`
	// Error is why it refused the plan.
	Error string `json:"error,omitempty"`
	// State is what its controller is doing: "running", "stopped", see [causal.State].
	State string `json:"state,omitempty"`
}

// A Fleet is what GET /v1/instances answers.
type Fleet struct {
	// Plan is what is handed out, nil if nothing.
	Plan *PlanInfo `json:"plan"`
	// Withdrawn is the plan that the server took back because an instance had aborted it, nil if
	// another was pushed since.
	Withdrawn *Withdrawal `json:"withdrawn,omitempty"`
	// Generation is the generation of the last plan pushed, which the next one's must be above.
	Generation uint64 `json:"generation"`
	// Instances are those seen in the last 15 minutes, at most 4096, by service and instance.
	Instances []Instance `json:"instances"`
	// Forgotten counts the instances that were removed from the list.
	Forgotten uint64 `json:"forgotten"`
}

// A PlanInfo describes the plan handed out. All but Hash, Signed and Since are zero for a document
// that is not a valid plan.
type PlanInfo struct {
	ID         string    `json:"id,omitempty"`
	Generation uint64    `json:"generation,omitempty"`
	Author     string    `json:"author,omitempty"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	// Hash is the SHA-256 of the document, and of its signature if there is one, in hexadecimal.
	Hash   string    `json:"hash"`
	Signed bool      `json:"signed"`
	Since  time.Time `json:"since"`
}

const (
	// maxInstances bounds the list, and the WebSockets.
	maxInstances = 4096
	// forgetAfter is how long an instance that has gone is listed.
	forgetAfter = 15 * time.Minute
	// maxLines bounds the log lines about instances in a minute.
	maxLines = 1000
	// maxName and maxReason bound texts that instances send, in bytes.
	maxName   = 256
	maxReason = 1024
)

type instance struct {
	Instance
	key       string
	hash      string        // of what it has, that of nothing included
	agent     *agent        // its WebSocket, nil without one
	place     *list.Element // in Server.idle, nil with one
	accepts   bool          // a remote configuration
	described bool          // the agent has described itself
	sequence  uint64        // of the last message
	seen      bool          // is in the audit
}

// public returns the instance as others see it.
func (i *instance) public(o *offer) Instance {
	out := i.Instance
	out.Connected, out.Current = i.agent != nil, i.hash == o.hex()
	if i.hash != nothing.hex() {
		out.Hash = i.hash
	}
	return out
}

func (i *instance) attrs() []any {
	return []any{slog.String("service", i.Service), slog.String("instance", i.InstanceID), slog.String("how", string(i.How))}
}

// instance returns the entry for a key, which may be new. s.mu is held.
func (s *Server) instance(key string, how How) *instance {
	i := s.instances[key]
	if i == nil {
		s.forget()
		if len(s.instances) >= maxInstances && s.idle.Len() > 0 {
			s.drop(s.idle.Front().Value.(*instance))
		}
		i = &instance{key: key, Instance: Instance{Status: StatusUnset}}
		i.place = s.idle.PushBack(i)
		s.instances[key] = i
	}
	i.How, i.LastSeen = how, time.Now()
	if i.place != nil {
		s.idle.MoveToBack(i.place)
	}
	return i
}

// speaks notes over which WebSocket an instance speaks, nil for none any more. s.mu is held.
func (s *Server) speaks(i *instance, a *agent) {
	i.agent, i.LastSeen = a, time.Now()
	switch {
	case a == nil && i.place == nil:
		i.place = s.idle.PushBack(i)
	case a != nil && i.place != nil:
		s.idle.Remove(i.place)
		i.place = nil
	}
}

// forget drops those long gone. s.mu is held.
func (s *Server) forget() {
	for first := s.idle.Front(); first != nil; first = s.idle.Front() {
		i := first.Value.(*instance)
		if time.Since(i.LastSeen) <= forgetAfter {
			return
		}
		s.drop(i)
	}
}

// drop removes an instance without a WebSocket.
func (s *Server) drop(i *instance) {
	s.idle.Remove(i.place)
	delete(s.instances, i.key)
	s.forgotten++
}

// polled notes the instance that asked over HTTP, and what became of the plan that it has. One that
// does not report a plan is taken to have the one that it is about to get. It returns what to
// answer.
func (s *Server) polled(r *http.Request) *offer {
	service, id := shown(r.Header.Get(naming.HeaderServiceName), maxName), shown(r.Header.Get(naming.HeaderServiceInstanceID), maxName)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.offer
	if service == "" && id == "" {
		return o // to a reader that is no instance
	}
	i := s.instance("http\x00"+service+"\x00"+id, HowHTTP)
	i.Service, i.InstanceID = service, id
	was := *i
	i.hash, i.Status, i.Error, i.State = o.hex(), StatusUnset, "", shown(r.Header.Get(naming.HeaderState), maxName)
	if i.State != "" {
		i.hash = nothing.hex()
		switch status := Status(r.Header.Get(naming.HeaderPlanStatus)); status {
		case StatusApplied, StatusApplying, StatusFailed:
			i.hash, i.Status = hashOf(r.Header.Get("If-None-Match")), status
			i.Error = shown(r.Header.Get(naming.HeaderPlanError), maxReason)
		}
	}
	s.audit(i, was.hash != i.hash || was.Status != i.Status || was.Error != i.Error)
	s.heed(i)
	return s.offer
}

// hashOf is the hash in an ETag of this server, "" in another.
func hashOf(etag string) string {
	hash := strings.Trim(etag, `"`)
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha256.Size {
		return ""
	}
	return hash
}

// audit logs an instance that is new, and what has become of its plan. s.mu is held.
func (s *Server) audit(i *instance, changed bool) {
	if !i.seen {
		i.seen = true
		s.say(slog.LevelInfo, "planserver: instance seen", i.attrs())
	}
	attrs := append(i.attrs(), slog.String("hash", i.hash))
	switch {
	case !changed:
	case i.Status == StatusFailed:
		s.say(slog.LevelWarn, "planserver: instance failed", append(attrs, slog.String("error", i.Error)))
	case i.hash == nothing.hex():
		s.say(slog.LevelInfo, "planserver: instance without plan", i.attrs())
	case i.Status == StatusApplied:
		s.say(slog.LevelInfo, "planserver: instance applied", attrs)
	case i.How == HowHTTP && i.Status == StatusUnset:
		s.say(slog.LevelInfo, "planserver: instance given", attrs)
	}
}

// say logs a line about an instance. A client with the instances' token can make up any number of
// them, but not fill the log. s.mu is held.
func (s *Server) say(level slog.Level, line string, attrs []any) {
	if now := time.Now(); now.Sub(s.saidSince) >= time.Minute {
		if s.unsaid > 0 {
			s.log.Warn("planserver: more instances than are logged in a minute", slog.Uint64("lines", s.unsaid))
		}
		s.saidSince, s.said, s.unsaid = now, 0, 0
	}
	if s.said == maxLines {
		s.unsaid++
		return
	}
	s.said++
	s.log.Log(context.Background(), level, line, attrs...)
}

// Fleet returns the instances that ask and what they have.
func (s *Server) Fleet() Fleet {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := Fleet{Instances: []Instance{}, Generation: s.generation, Withdrawn: s.withdrawn}
	if o := s.offer; len(o.document) > 0 {
		info := o.info()
		f.Plan = &info
	}
	s.forget()
	for _, i := range s.instances {
		f.Instances = append(f.Instances, i.public(s.offer))
	}
	f.Forgotten = s.forgotten
	slices.SortFunc(f.Instances, func(a, b Instance) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.InstanceID, b.InstanceID), strings.Compare(string(a.How), string(b.How)))
	})
	return f
}

func (s *Server) getInstances(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(s.Fleet()) // the client has gone: the error cannot be reported
}

// shown makes untrusted text fit for logs, terminals and memory.
func shown(text string, atMost int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text[:min(len(text), atMost)])
	return strings.ToValidUTF8(text[:min(len(text), atMost)], "")
}
