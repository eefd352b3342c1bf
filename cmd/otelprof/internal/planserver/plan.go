package planserver

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/internal/naming"
)

// An offer is what instances are given: a plan, or that there is none. It is immutable.
type offer struct {
	document  []byte // empty for no plan
	signature string
	hash      [sha256.Size]byte
	plan      *plan.Plan // nil if there is none, or none that can be read
	since     time.Time
}

// newOffer hashes the document and, if there is one, the signature: an instance that refused
// a plan for its signature is to be given it anew with another.
func newOffer(document []byte, signature string) *offer {
	o := &offer{document: document, signature: signature, since: time.Now()}
	o.hash = sha256.Sum256(document)
	if signature != "" {
		o.hash = sha256.Sum256(append(o.hash[:], signature...))
	}
	return o
}

// nothing is handed out where there is no plan.
var nothing = newOffer(nil, "")

func (o *offer) hex() string  { return hex.EncodeToString(o.hash[:]) }
func (o *offer) etag() string { return `"` + o.hex() + `"` }

func (o *offer) contentType() string {
	if bytes.HasPrefix(bytes.TrimSpace(o.document), []byte("{")) {
		return "application/json"
	}
	return "text/yaml"
}

func (o *offer) info() PlanInfo {
	info := PlanInfo{Hash: o.hex(), Signed: o.signature != "", Since: o.since}
	if p := o.plan; p != nil {
		info.ID, info.Generation, info.Author, info.ExpiresAt = p.ID, p.Generation, p.Author, p.ExpiresAt
	}
	return info
}

// attrs describe the plan in the audit.
func (o *offer) attrs() []any {
	if len(o.document) == 0 {
		return nil
	}
	attrs := []any{slog.String("hash", o.hex())}
	if p := o.plan; p != nil {
		attrs = append(attrs, slog.String("id", p.ID), slog.Uint64("generation", p.Generation),
			slog.String("author", p.Author), slog.String("plan_reason", p.Reason), slog.Time("expires_at", p.ExpiresAt))
	}
	return append(attrs, slog.Bool("signed", o.signature != ""))
}

// Push gives a plan to all instances in place of the one before; by names, for the audit, the
// client that wants it. Its signature is text as from [remote.Sign], or empty. If the document is
// not a valid plan, or its generation is neither 0 nor above the last one, the plan before stays;
// the error wraps [plan.ErrInvalid], [causal.ErrGeneration] or [remote.ErrSignature].
func (s *Server) Push(document, signature []byte, by string) error {
	plan, err := plan.Parse(document)
	return s.push(document, signature, plan, true, err, by)
}

// pushUnchecked is Push for a document that need not be a plan: instances refuse it then, and end
// what they have. Up to [plan.MaxBytes] are taken.
func (s *Server) pushUnchecked(document, signature []byte, by string) error {
	p, _ := plan.Parse(document)
	var err error
	if len(document) == 0 || len(document) > plan.MaxBytes {
		err = fmt.Errorf("%w: document of %d bytes: must have 1 to %d", plan.ErrInvalid, len(document), plan.MaxBytes)
	}
	return s.push(document, signature, p, false, err, by)
}

// push takes the plan that the document is, nil if it is none, and what is wrong with it.
func (s *Server) push(document, signature []byte, plan *plan.Plan, checked bool, err error, by string) error {
	sign, errSign := signatureText(signature)
	err = errors.Join(err, errSign)
	o := newOffer(bytes.Clone(document), sign)
	o.plan = plan

	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && o.hash == s.offer.hash {
		return nil
	}
	another := !bytes.Equal(document, s.offer.document) // and not the same with a signature at last
	if checked && another && plan != nil && plan.Generation != 0 && plan.Generation <= s.generation {
		err = errors.Join(err, fmt.Errorf("%w: generation %d: must be above %d, the last one pushed, or 0", causal.ErrGeneration, plan.Generation, s.generation))
	}
	if s.closed {
		err = errors.Join(err, errClosed)
	}
	if err != nil {
		s.log.Warn("planserver: plan refused", append(o.attrs(), slog.String("by", by), slog.Any("error", err))...)
		return err
	}
	if plan != nil {
		s.generation = max(s.generation, plan.Generation)
	}
	s.withdrawn = nil
	s.log.Info("planserver: plan pushed", append(o.attrs(), slog.String("by", by), slog.Bool("checked", checked))...)
	s.set(o)
	return nil
}

// signatureText checks the form only: the keys are with the instances.
func signatureText(signature []byte) (string, error) {
	text := bytes.TrimSpace(signature)
	if len(text) == 0 {
		return "", nil
	}
	raw, err := base64.StdEncoding.DecodeString(string(text[:min(len(text), 1024)]))
	if err != nil || len(raw) != ed25519.SignatureSize || len(text) != base64.StdEncoding.EncodedLen(len(raw)) { // line breaks would decode
		return "", fmt.Errorf("%w: %.20q: must be %d bytes as base64", remote.ErrSignature, text, ed25519.SignatureSize)
	}
	return string(text), nil
}

// StopPlan ends the plan on all instances; by names, for the audit, the client that asked for it.
func (s *Server) StopPlan(by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offer == nothing {
		return // again and again, by an instance that may: nothing for the audit
	}
	s.log.Info("planserver: plan stopped", append(s.offer.attrs(), slog.String("by", by))...)
	s.set(nothing)
}

// set makes o what instances are given, and wakes the agents that listen. s.mu is held.
func (s *Server) set(o *offer) {
	s.offer = o
	if s.expiry != nil {
		s.expiry.Stop()
	}
	if o.plan != nil {
		s.expiry = time.AfterFunc(time.Until(o.plan.ExpiresAt), func() { s.expire(o) })
	}
	for a := range s.agents {
		a.poke()
	}
}

// expire withdraws a plan whose time is over, so that no new instance refuses it for that.
func (s *Server) expire(o *offer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offer == o {
		s.log.Info("planserver: plan expired", o.attrs()...)
		s.set(nothing)
	}
}

func (s *Server) current() *offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

func (s *Server) getPlan(w http.ResponseWriter, r *http.Request) {
	known := r.Header.Get("If-None-Match")
	o := s.polled(r)
	if len(o.document) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	head := w.Header()
	head.Set("ETag", o.etag())
	if known == o.etag() {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	head.Set("Content-Type", o.contentType())
	if o.signature != "" {
		head.Set(naming.HeaderSignature, o.signature)
	}
	_, _ = w.Write(o.document) // the client has gone: the error cannot be reported
}

func (s *Server) putPlan(w http.ResponseWriter, r *http.Request) {
	if s.fixed != "" {
		problem(w, http.StatusConflict, "plan: is taken from %s: must be changed there", s.fixed)
		return
	}
	document, err := io.ReadAll(http.MaxBytesReader(w, r.Body, plan.MaxBytes))
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		s.refuse(w, r, http.StatusRequestEntityTooLarge, fmt.Errorf("plan: must have at most %d bytes", tooLarge.Limit))
		return
	}
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, fmt.Errorf("plan: must be sent whole: %w", err))
		return
	}
	push := s.Push
	if r.URL.Query().Has("force") {
		push = s.pushUnchecked
	}
	switch err := push(document, []byte(r.Header.Get(naming.HeaderSignature)), by(r)); {
	case errors.Is(err, errClosed):
		problem(w, http.StatusServiceUnavailable, "%v", err)
	case errors.Is(err, plan.ErrInvalid), errors.Is(err, remote.ErrSignature):
		problem(w, http.StatusUnprocessableEntity, "%v", err)
	case err != nil:
		problem(w, http.StatusConflict, "%v", err)
	default:
		w.Header().Set("ETag", s.current().etag())
		w.WriteHeader(http.StatusNoContent)
	}
}

// refuse is for what is not even a document.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	s.log.Warn("planserver: plan refused", slog.String("by", by(r)), slog.Any("error", err))
	problem(w, status, "%v", err)
}

func (s *Server) deletePlan(w http.ResponseWriter, r *http.Request) {
	s.StopPlan(by(r))
	w.WriteHeader(http.StatusNoContent)
}

// problem answers with the reason as plain text.
func problem(w http.ResponseWriter, status int, format string, args ...any) {
	http.Error(w, fmt.Sprintf(format, args...), status)
}
