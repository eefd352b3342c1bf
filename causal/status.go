package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// State is what a Controller is doing.
type State string

// The states of a [Controller].
const (
	StateIdle    State = "idle"    // no plan
	StateWaiting State = "waiting" // a plan is valid, its time has not come
	StateRunning State = "running" // experiments run; delays may be inserted
	StateStopped State = "stopped" // by StopPlan, a kill switch or an invalid plan
	StateExpired State = "expired" // the plan's time is over
	StateSpent   State = "spent"   // limits.total is used up
	StateAborted State = "aborted" // the breaker opened; latched until a new plan id
	// StateWithheld: all numbers would be withheld, for that reason, so nothing more is
	// delayed.
	StateWithheld State = "withheld"
)

// Status is what a Controller is doing, why, and at what cost.
type Status struct {
	// Enabled is whether the application opted in to experiments.
	Enabled bool  `json:"enabled"`
	State   State `json:"state"`
	// Handover is how experiments of mode overlap see which goroutine waits for which.
	Handover profile.Handover `json:"handover"`
	// Reason is why, in plain words, "" while running as planned.
	Reason string `json:"reason,omitempty"`
	// Since is when State was entered.
	Since time.Time `json:"since"`
	// Plan is the plan in force, or the last one; nil if there was none.
	Plan *plan.Plan `json:"plan,omitempty"`
	// PlanHash is the SHA-256 of the plan document, in hexadecimal.
	PlanHash string `json:"plan_hash,omitempty"`
	// Source is where the plan came from: a file name, "api".
	Source string `json:"source,omitempty"`
	// PlanFile is the file that the plan came from, "" if it came from elsewhere.
	PlanFile string `json:"plan_file,omitempty"`
	// Sources are those that have been heard of, at most 16, by name.
	Sources []SourceStatus `json:"sources,omitempty"`
	// LeaseEnds is when the plan ends if its source does not answer, zero if it need not.
	LeaseEnds time.Time `json:"lease_ends,omitzero"`
	// Limits are those in force: the plan's, tightened to the local caps, which are Caps.
	Limits plan.Limits `json:"limits"`
	Caps   plan.Limits `json:"caps"`
	// BreakerCaps are the program's on the rules of the breaker, see [WithBreaker].
	BreakerCaps plan.Abort `json:"breaker_caps"`
	// Allowed are the program's caps on what plans ask for, see [WithAllowed].
	Allowed plan.Allowed `json:"allowed"`
	// Spent is the sum of the delays inserted under this plan.
	Spent time.Duration `json:"spent_ns"`
	// Late is the part of it by which delays took longer than the limits had granted: about 25 µs
	// for each sleep, and what the operating system let their threads wait.
	Late time.Duration `json:"late_ns"`
	// Duty is the delay per second of wall time and processor over the last 10 s, to be held
	// against Limits.Duty; 0 when no plan is in force.
	Duty float64 `json:"duty"`
	// Breaker is what the breaker saw at its last look; nil before a plan was in force.
	Breaker *BreakerStatus `json:"breaker,omitempty"`
	// Experiment is the one now running, "" between two.
	Experiment string `json:"experiment,omitempty"`
	// Withheld counts delays owed and not inserted, by the rule that forbade them.
	Withheld map[string]uint64 `json:"withheld,omitempty"`
	// Recording is the state of the recordings for replay.
	Recording RecordingStatus `json:"recording"`
	// LastError is why the last plan document was rejected, "" if it was not.
	LastError string `json:"last_error,omitempty"`
	// Audit is what happened last, at most 32 events, the oldest first.
	Audit []AuditEvent `json:"audit,omitempty"`
	// AuditDropped counts events that were not delivered to the logger or to a listener of
	// [WithAudit], since it was too slow, or panicked.
	AuditDropped uint64 `json:"audit_dropped,omitempty"`
}

// A BreakerStatus is what the breaker sees of the local roots, and what opens it. The percentiles
// are exact to 1 %.
type BreakerStatus struct {
	// BaseRoots is how many roots ended before anything was delayed, BaseP99 and BaseFailed what is
	// normal since; zero until there are MinRoots of them, and until then nothing is delayed.
	BaseRoots  uint64        `json:"base_roots"`
	BaseP99    time.Duration `json:"base_p99_ns"`
	BaseFailed float64       `json:"base_failed"`
	// Roots is how many ended within Window, P99 and Failed what they look like. With less than
	// MinRoots there is no verdict.
	Roots  uint64        `json:"roots"`
	P99    time.Duration `json:"p99_ns"`
	Failed float64       `json:"failed"`
	// MinRoots and Window are the plan's.
	MinRoots uint64        `json:"min_roots"`
	Window   plan.Duration `json:"window"`
	// MostP99 and MostFailed are what opens the breaker when it is exceeded, and not by chance;
	// zero as long as it is not known.
	MostP99    time.Duration `json:"most_p99_ns"`
	MostFailed float64       `json:"most_failed"`
}

// Status returns what the controller is doing.
func (c *Controller) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{
		Enabled:   c.enabled,
		Handover:  engine.Handover(),
		State:     c.state,
		Reason:    c.reason,
		Since:     c.since,
		Plan:      c.plan,
		Source:    c.source,
		PlanFile:  c.file,
		LastError: c.lastError,
		Limits:    c.Caps,
		Caps:      c.Caps,

		BreakerCaps: c.Breaker,
		Allowed:     c.Allowed,
	}
	s.Audit, s.AuditDropped, s.Sources = c.audit.latest()
	s.Recording = c.recording()
	if c.plan != nil {
		s.PlanHash = c.plan.Hash()
	}
	if r := c.last; r != nil && r.Plan == c.plan {
		s.Limits = r.Guard.Limits
		s.Spent, s.Late = time.Duration(r.Guard.Spent.Load()), time.Duration(r.Guard.Late.Load())
		s.Withheld = r.Guard.Counts().ByName()
		s.Breaker = (*BreakerStatus)(r.Breaker.Status())
		if c.run.Load() == r {
			s.LeaseEnds = r.Guard.LeaseEnds()
			s.Duty = r.Pace.Now()
		}
		s.Experiment = r.Doing()
		if s.State == StateWaiting && time.Now().After(r.Plan.NotBefore) {
			s.State = StateRunning
		}
	}
	return s
}
