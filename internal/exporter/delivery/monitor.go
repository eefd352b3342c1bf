package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/internal/asynclog"
)

// Stats counts what has become of the items of one pipeline since it was made. It is
// exporter.Stats, field by field, which says what they are.
type Stats struct {
	Name                          string
	Exported, Failed, Rejected    uint64
	QueueFull, Unfinished, Queued uint64
	FailedExports, Repaired       uint64
	Outage                        string
}

// Ended is the number of items given to the pipeline: the sum of what was exported, was lost or is
// queued.
func (s Stats) Ended() uint64 {
	return s.Exported + s.Failed + s.Rejected + s.QueueFull + s.Unfinished + s.Queued
}

// A Config describes a pipeline to [NewMonitor].
type Config struct {
	// Name begins every message, Unit ends the counts in it: "spans".
	Name, Unit string
	// Cause maps an error to its cause: errors of the same cause are logged once. Nil takes the
	// text of the error, without its digits.
	Cause func(error) string
	// Rejected returns how many items an error names as refused in an export that was
	// otherwise accepted. Nil takes every error as a failed export.
	Rejected func(error) (items int, ok bool)
	// Refused reports whether an error is about what was to be exported, and not about the way or
	// the other side. Nil takes none so.
	Refused func(error) bool
	// Explain makes the error of a failed export readable; it wraps it. Nil leaves it.
	Explain func(error) error
	// Logger gets failures (Warn) and recoveries (Info), on a goroutine that no export waits for.
	// Nil stands for otel.Handle.
	Logger *slog.Logger
}

// A Monitor counts what becomes of a pipeline's exports. It logs the first failure of a
// cause, counts later ones, and logs when exports succeed again. Any goroutine may
// use it.
type Monitor struct {
	cfg      Config
	messages messages

	mu     sync.Mutex
	stats  Stats // without the queue's part
	said   asynclog.Causes
	outage *outage
}

// An outage is a run of failed exports.
type outage struct {
	since   time.Time
	exports uint64
	items   uint64
	last    error
	causes  map[string]bool
	said    bool
}

// NewMonitor returns a monitor without counts.
func NewMonitor(cfg Config) *Monitor {
	if cfg.Cause == nil {
		cfg.Cause = func(err error) string { return asynclog.CauseOf(err.Error()) }
	}
	m := &Monitor{cfg: cfg, stats: Stats{Name: cfg.Name}}
	m.messages = newMessages(m.log)
	return m
}

// Stats returns the counts so far.
func (m *Monitor) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	if m.outage != nil {
		s.Outage = m.outage.last.Error()
	}
	return s
}

// Err returns nil while exports succeed, otherwise an error that wraps the last failure
// and has the number of items lost since.
func (m *Monitor) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.outage == nil {
		return nil
	}
	return fmt.Errorf("%s: %d %s not delivered: %w", m.cfg.Name, m.outage.items, m.cfg.Unit, m.outage.last)
}

// Observe takes the outcome of one export.
func (m *Monitor) Observe(ctx context.Context, items int, err error) {
	if _, part := m.rejected(err); err == nil || part {
		m.took(ctx, items, err)
		m.recovered(ctx)
		return
	}
	m.failed(ctx, uint64(items), m.explained(err))
}

func (m *Monitor) explained(err error) error {
	if m.cfg.Explain == nil {
		return err
	}
	return m.cfg.Explain(err)
}

// Repair counts items whose bytes had to be replaced, of which the first is named.
func (m *Monitor) Repair(ctx context.Context, items int, name string) {
	m.mu.Lock()
	m.stats.Repaired += uint64(items)
	say := m.said.Due("repaired", time.Now())
	m.mu.Unlock()
	if say {
		m.report(ctx, slog.LevelWarn, fmt.Errorf("%s: %s is not UTF-8, sent with U+FFFD: more of this kind are only counted", m.cfg.Name, name))
	}
}

// refused takes the outcome of one item alone, among others that were taken.
func (m *Monitor) refused(ctx context.Context, r refused) {
	m.mu.Lock()
	m.stats.Rejected++
	say := m.said.Due("alone: "+m.cfg.Cause(r.err), time.Now())
	m.mu.Unlock()
	if say {
		m.report(ctx, slog.LevelWarn, fmt.Errorf("%s: %s is left out, more of this kind are only counted: %w", m.cfg.Name, r.name, m.explained(r.err)))
	}
}

// rejected returns how many items the other side refused, if it took the others.
func (m *Monitor) rejected(err error) (items int, ok bool) {
	if m.cfg.Rejected == nil {
		return 0, false
	}
	return m.cfg.Rejected(err)
}

// took takes the outcome of a part of an export, of which err gives how much was rejected.
func (m *Monitor) took(ctx context.Context, items int, err error) {
	n, _ := m.rejected(err)
	n = min(max(n, 0), items)
	m.mu.Lock()
	m.stats.Exported += uint64(items - n)
	m.stats.Rejected += uint64(n)
	say := err != nil && m.said.Due(m.cfg.Cause(err), time.Now())
	m.mu.Unlock()
	if say {
		m.report(ctx, slog.LevelWarn, fmt.Errorf("%s: %d of %d %s refused, more of this kind are only counted: %w", m.cfg.Name, n, items, m.cfg.Unit, err))
	}
}

// recovered ends an outage: an export has succeeded, all parts of it.
func (m *Monitor) recovered(ctx context.Context) {
	m.mu.Lock()
	over := m.outage
	m.outage = nil
	m.mu.Unlock()
	if over != nil && over.said {
		m.report(ctx, slog.LevelInfo, fmt.Errorf("%s: delivering again after %s, %d exports and %d %s lost",
			m.cfg.Name, time.Since(over.since).Round(time.Millisecond), over.exports, over.items, m.cfg.Unit))
	}
}

func (m *Monitor) failed(ctx context.Context, items uint64, err error) {
	now := time.Now()
	m.mu.Lock()
	m.stats.Failed += items
	m.stats.FailedExports++
	if ctx.Err() == context.Canceled {
		// The caller has cancelled; that is no fault of the endpoint.
		m.mu.Unlock()
		return
	}
	if m.outage == nil {
		m.outage = &outage{since: now, causes: map[string]bool{}}
	}
	o := m.outage
	o.exports++
	o.items += items
	o.last = err
	say := false
	if cause := m.cfg.Cause(err); !o.causes[cause] && len(o.causes) < asynclog.MaxCauses {
		o.causes[cause] = true
		say = m.said.Due(cause, now)
		o.said = o.said || say
	}
	m.mu.Unlock()

	if say {
		m.report(ctx, slog.LevelWarn, fmt.Errorf("%s: %d %s not delivered, more of this kind are only counted: %w",
			m.cfg.Name, items, m.cfg.Unit, err))
	}
}

// warn logs an error that is no export's outcome; nil does nothing.
func (m *Monitor) warn(err error) {
	if err != nil {
		m.report(context.Background(), slog.LevelWarn, fmt.Errorf("%s: %w", m.cfg.Name, err))
	}
}

// report returns at once. A message must not be lost with the context of the export that failed;
// one that has no room is: the same is in [Monitor.Stats].
func (m *Monitor) report(ctx context.Context, level slog.Level, err error) {
	m.messages.Put(message{context.WithoutCancel(ctx), level, err})
}

func (m *Monitor) log(ctx context.Context, level slog.Level, err error) {
	if m.cfg.Logger == nil {
		otel.Handle(err)
		return
	}
	m.cfg.Logger.Log(ctx, level, err.Error())
}
