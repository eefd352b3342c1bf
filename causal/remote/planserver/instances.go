package planserver

import (
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

	"github.com/otelprof/otelprof/causal/remote"
)

// How an instance asks.
type How string

// The ways to ask.
const (
	HowHTTP      How = "http"
	HowWebSocket How = "websocket"
	HowOpAMPHTTP How = "opamp-http"
)

// Status is what an instance says about the plan that it was given.
type Status string

// The statuses, those of OpAMP. One that has not said so yet, or polls over HTTP without [remote.HeaderState],
// is [StatusUnset].
const (
	StatusApplied  Status = remote.PlanApplied
	StatusFailed   Status = remote.PlanFailed
	StatusApplying Status = remote.PlanApplying
	StatusUnset    Status = "unset"
)

// An Instance is a process that asks for the plan. The texts are its own, cut off at 256 bytes, its error at 1024.
type Instance struct {
	Service    string `json:"service"`
	InstanceID string `json:"instance_id"`
	How        How    `json:"how"`
	// Connected tells that a WebSocket is open.
	Connected bool      `json:"connected,omitempty"`
	LastSeen  time.Time `json:"last_seen"`
	Status    Status    `json:"status"`
	// Hash is that of what it was given and has read, in hexadecimal; "" if nothing.
	Hash string `json:"hash,omitempty"`
	// Current tells that Hash is that of what is handed out now.
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
	// Generation is that of the last plan pushed, which the next one's must be above.
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
	// maxName and maxReason bound texts that instances send, in bytes.
	maxName   = 256
	maxReason = 1024
)

type instance struct {
	Instance
	key       string
	hash      string // of what it has, that of nothing included
	agent     *agent // its WebSocket, nil without one
	accepts   bool   // a remote configuration
	described bool   // the agent has said what it is
	sequence  uint64 // of the last message
	seen      bool   // is in the audit
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
		if len(s.instances) >= maxInstances {
			s.forget()
		}
		i = &instance{key: key, Instance: Instance{Status: StatusUnset}}
		s.instances[key] = i
	}
	i.How, i.LastSeen = how, time.Now()
	return i
}

// forget drops those long gone and, if there is no room for one more then, the one seen least
// lately. s.mu is held.
func (s *Server) forget() {
	var oldest *instance
	for _, i := range s.instances {
		switch {
		case i.agent != nil:
		case time.Since(i.LastSeen) > forgetAfter:
			s.drop(i)
		case oldest == nil || i.LastSeen.Before(oldest.LastSeen):
			oldest = i
		}
	}
	if len(s.instances) >= maxInstances && oldest != nil {
		s.drop(oldest)
	}
}

func (s *Server) drop(i *instance) {
	delete(s.instances, i.key)
	s.forgotten++
}

// polled notes who asked over HTTP, and what became of the plan that it has. One that does not tell is taken
// to have what it is about to get.
func (s *Server) polled(r *http.Request, o *offer) {
	service, id := shown(r.Header.Get(remote.HeaderServiceName), maxName), shown(r.Header.Get(remote.HeaderServiceInstanceID), maxName)
	if service == "" && id == "" {
		return // somebody looks
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.instance("http\x00"+service+"\x00"+id, HowHTTP)
	i.Service, i.InstanceID = service, id
	was := *i
	i.hash, i.Status, i.Error, i.State = o.hex(), StatusUnset, "", shown(r.Header.Get(remote.HeaderState), maxName)
	if i.State != "" {
		i.hash = nothing.hex()
		switch status := Status(r.Header.Get(remote.HeaderPlanStatus)); status {
		case StatusApplied, StatusApplying, StatusFailed:
			i.hash, i.Status = hashOf(r.Header.Get("If-None-Match")), status
			i.Error = shown(r.Header.Get(remote.HeaderPlanError), maxReason)
		}
	}
	s.audit(i, was.hash != i.hash || was.Status != i.Status || was.Error != i.Error)
}

// hashOf is the hash in an ETag of ours, "" in another.
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
		s.log.Info("planserver: instance seen", i.attrs()...)
	}
	attrs := append(i.attrs(), slog.String("hash", i.hash))
	switch {
	case !changed:
	case i.Status == StatusFailed:
		s.log.Warn("planserver: instance failed", append(attrs, slog.String("error", i.Error))...)
	case i.hash == nothing.hex():
		s.log.Info("planserver: instance without plan", i.attrs()...)
	case i.Status == StatusApplied:
		s.log.Info("planserver: instance applied", attrs...)
	case i.How == HowHTTP && i.Status == StatusUnset:
		s.log.Info("planserver: instance given", attrs...)
	}
}

// Fleet returns who asks and what they have.
func (s *Server) Fleet() Fleet {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := Fleet{Instances: []Instance{}, Generation: s.generation}
	if o := s.offer; len(o.document) > 0 {
		f.Plan = &PlanInfo{Hash: o.hex(), Signed: o.signature != "", Since: o.since}
		if p := o.plan; p != nil {
			f.Plan.ID, f.Plan.Generation, f.Plan.Author, f.Plan.ExpiresAt = p.ID, p.Generation, p.Author, p.ExpiresAt
		}
	}
	for _, i := range s.instances {
		if i.agent == nil && time.Since(i.LastSeen) > forgetAfter {
			s.drop(i)
			continue
		}
		f.Instances = append(f.Instances, i.public(s.offer))
	}
	f.Forgotten = s.forgotten
	slices.SortFunc(f.Instances, func(a, b Instance) int {
		if c := strings.Compare(a.Service, b.Service); c != 0 {
			return c
		}
		return strings.Compare(a.InstanceID, b.InstanceID)
	})
	return f
}

func (s *Server) getInstances(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(s.Fleet()) // the client has gone: there is nobody to tell
}

// shown makes text of anybody's fit for logs, terminals and memory.
func shown(text string, atMost int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text[:min(len(text), atMost)])
	return strings.ToValidUTF8(text[:min(len(text), atMost)], "")
}
