package schedule

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/spans"
)

const (
	// slowEvery is how much time passes at least between two reports on slow sessions.
	slowEvery = time.Minute
	// slowTimeout ends a report that does not come to an end.
	slowTimeout = 10 * time.Second
)

// slow makes reports on sessions above the threshold, on a goroutine of its own.
type slow struct {
	threshold            time.Duration
	sessions, suppressed atomic.Uint64
	due                  atomic.Int64 // when the next report may be made, after begin
	begin                time.Time
	triggers             chan Trigger
	report               atomic.Pointer[Report]
	watching             sync.WaitGroup
}

func newSlow(threshold time.Duration) *slow {
	return &slow{threshold: threshold, begin: time.Now(), triggers: make(chan Trigger, 1)}
}

// ended is called for each local root. It never waits.
func (s *slow) ended(region *spans.Span) {
	d := region.Duration()
	if d <= s.threshold {
		return
	}
	s.sessions.Add(1)
	due, now := s.due.Load(), int64(time.Since(s.begin))
	if now < due || !s.due.CompareAndSwap(due, now+int64(slowEvery)) {
		s.suppressed.Add(1)
		return
	}
	select {
	case s.triggers <- Trigger{Scope: region.Scope().Name, Name: region.Name(), Duration: d, Session: region.SessionID()}:
	default: // the last report is still being made
		s.suppressed.Add(1)
	}
}

// watch makes the reports until the recorder is switched off.
func (s *slow) watch(recording context.Context, r *Recorder) {
	select {
	case <-s.triggers: // of the last recording, whose events are gone
		s.suppressed.Add(1)
	default:
	}
	s.watching.Go(func() {
		for {
			select {
			case trigger := <-s.triggers:
				s.make(recording, r, trigger)
			case <-recording.Done():
				return
			}
		}
	})
}

func (s *slow) make(recording context.Context, r *Recorder, trigger Trigger) {
	ctx, cancel := context.WithTimeout(recording, slowTimeout)
	defer cancel()
	report, err := r.Snapshot(ctx)
	if err != nil {
		if recording.Err() == nil {
			otel.Handle(fmt.Errorf("report on slow session %s: %w", trigger.Session, err))
		}
		return
	}
	report.Trigger = &trigger
	s.report.Store(report)
}
