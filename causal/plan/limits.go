package plan

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/validate"
)

// Limits bound what a plan may cost. A plan can tighten the local ones, never loosen them.
type Limits struct {
	// PerSpan is the longest delay inserted at the end of one span.
	PerSpan Duration `json:"per_span" yaml:"per_span"`
	// PerTrace is the most delay inserted in one session.
	PerTrace Duration `json:"per_trace" yaml:"per_trace"`
	// Duty is the most delay per second of wall time and processor, in (0, 1].
	Duty Percent `json:"duty" yaml:"duty"`
	// Total is the most delay inserted altogether.
	Total Duration `json:"total" yaml:"total"`
}

// DefaultLimits are the limits of a plan that names none: 5 ms a span, 25 ms a trace, 5 % of
// the processors' time, 60 s altogether.
func DefaultLimits() Limits {
	return Limits{
		PerSpan:  Duration(5 * time.Millisecond),
		PerTrace: Duration(25 * time.Millisecond),
		Duty:     0.05,
		Total:    Duration(60 * time.Second),
	}
}

// Validate checks every value; prefix stands before its key.
func (l Limits) Validate(v *validate.Errors, prefix string) {
	v.In(prefix+"per_span", time.Duration(l.PerSpan), time.Microsecond, time.Second)
	v.In(prefix+"per_trace", time.Duration(l.PerTrace), time.Microsecond, time.Minute)
	v.That(l.Duty > 0 && l.Duty <= 1, prefix+"duty", l.Duty, "must be in (0%%, 100%%]")
	v.In(prefix+"total", time.Duration(l.Total), time.Microsecond, 24*time.Hour)
}

// Tighten returns the smaller of each limit.
func (l Limits) Tighten(caps Limits) Limits {
	return Limits{
		PerSpan:  min(l.PerSpan, caps.PerSpan),
		PerTrace: min(l.PerTrace, caps.PerTrace),
		Duty:     min(l.Duty, caps.Duty),
		Total:    min(l.Total, caps.Total),
	}
}
