package viewer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
)

// scheduled is what the viewer needs of a schedule.Recorder.
type scheduled interface {
	Snapshot(ctx context.Context) (*schedule.Report, error)
}

const (
	// reportAge is how old a report may be, so that asking for all regions takes one snapshot, and
	// reportRest how many times as long as taking it took it stands at least.
	reportAge  = 2 * time.Second
	reportRest = 10
	// reportTimeout is less than a browser waits for.
	reportTimeout = 6 * time.Second
)

// scheduleJSON answers GET /api/v1/regions/schedule?name=&scope=.
type scheduleJSON struct {
	// Taken is when the window ended.
	Taken    time.Time `json:"taken"`
	WindowNs int64     `json:"window_ns"`
	// Regions of the name, one for each scope; none if none ended within the window.
	Regions []schedule.Region `json:"regions"`
	// What is left out of them, over all names: see schedule.Report.
	Open    uint64 `json:"open"`
	Partial uint64 `json:"partial"`
	Moved   uint64 `json:"moved"`
	Folded  uint64 `json:"folded"`
}

// regionSchedule takes a snapshot of the recorder, which costs some hundred milliseconds of a CPU.
func (h *Handler) regionSchedule(w http.ResponseWriter, r *http.Request) {
	if h.schedule == nil {
		writeError(w, http.StatusNotFound, "schedule recorder: must be on: start the program with OTELPROF_SCHEDULE=on, or set it in the viewer's Sources")
		return
	}
	report, err := h.splits.get(reportAge, reportRest, func() (*schedule.Report, error) {
		ctx, cancel := context.WithTimeout(r.Context(), reportTimeout)
		defer cancel()
		return h.schedule.Snapshot(ctx)
	})
	if err != nil {
		code := http.StatusServiceUnavailable
		if errors.Is(err, schedule.ErrNotRecording) {
			code = http.StatusConflict
		}
		writeError(w, code, "%s", err)
		return
	}
	out := scheduleJSON{
		Taken: report.Taken, WindowNs: int64(report.Window), Regions: []schedule.Region{},
		Open: report.Open, Partial: report.Partial, Moved: report.Moved, Folded: report.Folded,
	}
	name, query := h.nameAsked(r), r.URL.Query()
	for _, region := range report.Regions {
		if region.Name == name && (!query.Has("scope") || query.Get("scope") == region.Scope) {
			out.Regions = append(out.Regions, region)
		}
	}
	writeJSON(w, http.StatusOK, out)
}

// statesJSON is the sum of what spans of one region say in their attributes otelprof.running_ns,
// otelprof.runnable_ns and otelprof.blocked_ns.
type statesJSON struct {
	// Spans that have one of the attributes, of the newest sessions.
	Spans      uint64 `json:"spans"`
	RunningNs  int64  `json:"running_ns"`
	RunnableNs int64  `json:"runnable_ns"`
	BlockedNs  int64  `json:"blocked_ns"`
}

// stateSessions is how many sessions are looked at; for sessions of 200 spans that takes up to 30
// ms, while a page shows the region.
const stateSessions = 1000

// statesOf returns nil if no span has any.
func statesOf(store spans.Store, of regionKey) *statesJSON {
	var sum statesJSON
	for _, session := range store.Sessions(spans.Query{Limit: stateSessions}) {
		for i := range session.Spans {
			s := &session.Spans[i]
			if s.Name == of.name && s.Scope.Name == of.scope && s.Scope.Version == of.version {
				sum.add(s.Attributes)
			}
		}
	}
	if sum.Spans == 0 {
		return nil
	}
	return &sum
}

func (s *statesJSON) add(attributes []attribute.KeyValue) {
	var has uint64
	for _, kv := range attributes {
		var to *int64
		switch kv.Key {
		case "otelprof.running_ns":
			to = &s.RunningNs
		case "otelprof.runnable_ns":
			to = &s.RunnableNs
		case "otelprof.blocked_ns":
			to = &s.BlockedNs
		default:
			continue
		}
		if kv.Value.Type() == attribute.INT64 {
			*to += max(0, kv.Value.AsInt64())
			has = 1
		}
	}
	s.Spans += has
}
