package viewer

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/otelprof/otelprof/spans/stacks/schedule"
)

// scheduled is what the viewer needs of a schedule.Recorder.
type scheduled interface {
	Snapshot(ctx context.Context) (*schedule.Report, error)
}

const (
	// reportAge is how old a report may be, so that asking for all regions takes one snapshot.
	reportAge = 2 * time.Second
	// reportTimeout is less than a browser waits for.
	reportTimeout = 6 * time.Second
)

// A reportCache takes one snapshot for all who ask at about the same time. The zero value is ready
// for use.
type reportCache struct {
	mu    sync.Mutex // held while a snapshot is taken: whoever comes second waits for the first
	until time.Time
	last  *schedule.Report
}

// get returns a report that nobody may change.
func (c *reportCache) get(ctx context.Context, s scheduled) (*schedule.Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.last, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	report, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	c.last, c.until = report, time.Now().Add(reportAge)
	return report, nil
}

// scheduleJSON answers GET /api/v1/regions/{name}/schedule?scope=.
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
		writeError(w, http.StatusNotFound, "schedule recorder: must be set in the viewer's Sources")
		return
	}
	report, err := h.splits.get(r.Context(), h.schedule)
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
	name, query := r.PathValue("name"), r.URL.Query()
	for _, region := range report.Regions {
		if region.Name == name && (!query.Has("scope") || query.Get("scope") == region.Scope) {
			out.Regions = append(out.Regions, region)
		}
	}
	writeJSON(w, http.StatusOK, out)
}
