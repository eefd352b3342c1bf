package remote

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/asynclog"
)

// A Sink takes what a source hears. Each answer is one call of Document, None, Unchanged or
// Missed. Its methods are for one goroutine at a time, that of [Source.Run].
type Sink struct {
	controller *causal.Controller
	source     causal.Source
	keys       []ed25519.PublicKey
	log        *slog.Logger // nil for otel.Handle

	seen    bool
	last    [sha256.Size]byte // of document and signature
	outcome error             // of the last document
	broken  error             // after a panic

	missing bool
	said    asynclog.Causes
}

func newSink(c *causal.Controller, name string, opts []Option) *Sink {
	s := &Sink{controller: c, source: causal.Source{Name: name}}
	for _, o := range opts {
		if o != nil {
			o.apply(s)
		}
	}
	return s
}

// Document takes a plan document and its detached signature, nil if there is none. The
// plan is put in force, or the one before ends and the error has the reason; one that comes again
// is not applied again, and gives the same error again. An empty document is none.
func (s *Sink) Document(document, signature []byte) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.latch(v)
			err = s.broken
		}
	}()
	if s.broken != nil {
		return s.broken
	}
	if len(document) == 0 {
		s.None("the plan is empty")
		return nil
	}
	s.answered()
	if sum := sumOf(document, signature); !s.seen || sum != s.last {
		s.seen, s.last = true, sum
		s.outcome = s.apply(document, signature)
	}
	s.controller.Renew(s.source) // the plan in force may have come with another signature
	return s.outcome
}

// sumOf depends on where the document ends.
func sumOf(document, signature []byte) [sha256.Size]byte {
	d, s := sha256.Sum256(document), sha256.Sum256(signature)
	return sha256.Sum256(append(d[:], s[:]...))
}

func (s *Sink) apply(document, signature []byte) error {
	plan, err := s.parse(document, signature)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.source.Name, err)
		s.controller.Reject(s.source, err)
		return err
	}
	return s.controller.ApplyFrom(s.source, plan)
}

func (s *Sink) parse(document, signature []byte) (*plan.Plan, error) {
	if len(document) > plan.MaxBytes { // sources cut it, so that it would fit no signature
		_, err := plan.Parse(document)
		return nil, err
	}
	if s.source.Signed {
		if err := Verify(document, signature, s.keys...); err != nil {
			return nil, err
		}
	}
	return plan.Parse(document)
}

// Unchanged takes the answer that all is as it was, which renews the plan's lease.
func (s *Sink) Unchanged() {
	s.answered()
	s.controller.Renew(s.source)
}

// None takes the answer that there is no plan any more; the one in force ends for this reason.
func (s *Sink) None(reason string) {
	s.answered()
	s.seen, s.outcome = false, nil
	s.controller.StopPlanFrom(s.source, reason)
}

// Missed notes that no answer came, or one that cannot be parsed. The lease is not renewed.
func (s *Sink) Missed(err error) {
	s.missing = true
	s.controller.Heard(s.source, err)
	s.Warn(err)
}

// Warn logs err, once per cause and ten minutes.
func (s *Sink) Warn(err error) {
	if s.due(err) {
		s.say(slog.LevelWarn, fmt.Errorf("%s: %w", s.source.Name, err))
	}
}

// Status returns what the controller is doing.
func (s *Sink) Status() causal.Status { return s.controller.Status() }

func (s *Sink) answered() {
	s.controller.Heard(s.source, nil)
	if s.missing {
		s.missing = false
		if err := errors.New("answers again"); s.due(err) {
			s.say(slog.LevelInfo, fmt.Errorf("%s: %w", s.source.Name, err))
		}
	}
}

// due reports whether an error is to be logged now, and notes that it is.
func (s *Sink) due(err error) bool { return s.said.Due(asynclog.CauseOf(err.Error()), time.Now()) }

func (s *Sink) say(level slog.Level, err error) {
	if s.log == nil {
		otel.Handle(err)
		return
	}
	s.log.Log(context.Background(), level, err.Error())
}

// end follows the end of the source.
func (s *Sink) end() {
	if v := recover(); v != nil {
		s.latch(v)
		return
	}
	s.controller.StopPlanFrom(s.source, "the plan's source has ended")
}

// latch ends the plan after a panic, for good. What panicked may be a logger, so the plan ends
// before anything is logged, and a further panic is dropped.
func (s *Sink) latch(v any) {
	stack := make([]byte, 4096)
	stack = stack[:runtime.Stack(stack, false)]
	s.broken = fmt.Errorf("%s: panic: %v: its plans are refused until the program starts anew", s.source.Name, v)
	s.controller.StopPlanFrom(s.source, s.broken.Error())
	s.controller.Heard(s.source, s.broken)
	defer func() { _ = recover() }()
	s.controller.Reject(s.source, s.broken)
	s.say(slog.LevelError, fmt.Errorf("%w\n%s", s.broken, stack))
}
