// Package viewer serves what this process has measured as a web page and as JSON, with no
// backend: the latency and self time of every region, the tree-timeline of single
// sessions, merged call stacks, and the causal profile.
//
// [NewHandler] makes an http.Handler that can be mounted at any prefix of an existing server;
// [NewServer] serves one on a loopback address of its own.
//
// # Safety
//
// The page shows names, SQL texts and all other span attributes. So a request is answered only
// if its Host header is exactly the loopback address that the connection came in on, localhost
// with that port, or one given to [WithHosts]; anything else gets status 403, which prevents
// DNS rebinding. Access control for a host given to [WithHosts], or for a reverse proxy on the
// same machine, is that server's. Writes from other origins are refused (CSRF), and so is
// replacing the causal plan without the token of [WithToken].
//
// # Cost
//
// Nothing runs between requests. A request for the regions copies and sorts their statistics and
// looks up five percentiles of each; a request for sessions walks over the spans of those it
// returns, and with a name over up to 500,000. An open page asks every two seconds, and not at all
// while its tab is hidden. Comparing asks once for the whole distribution of all regions, some 40
// kB and 0.5 ms for each, and then for those of the regions that are open. The causal profile takes
// up to 0.5 ms for each of its numbers; it is computed once a second at most, and in no more than a
// twentieth of the time. A request for the timeline takes microseconds for each experiment that has
// run. A request for call stacks merges some minutes of trees, which takes milliseconds. One for
// all goroutines takes some microseconds of a processor for each of them, a tenth of the time at
// most, and stops the program for some microseconds in all.
package viewer

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/stacks"
)

// Sources are where the viewer reads from. Their methods are called by any number of
// goroutines.
type Sources struct {
	// Regions returns the statistics of all regions. It must not be nil.
	Regions func() []spans.RegionStats
	// Dropped returns what was left out; nil for nothing.
	Dropped func() spans.Dropped
	// Store keeps the finished sessions. It must not be nil.
	Store spans.Store
	// Counters returns what was counted in the regions; nil for nothing.
	Counters func() []pmuattrs.RegionCounters
	// Causal runs the experiments; nil for a process without any.
	Causal *causal.Controller
	// Stacks takes samples of call stacks; nil for a process without any.
	Stacks *stacks.Profiler
	// Saved is shown where Causal, Stacks and Schedule are nil; nil for a process that runs.
	Saved *Saved
	// Schedule shows where the time of regions went; nil for a process without it.
	Schedule *schedule.Recorder
	// Outcomes returns what was foretold of versions before, and what came; nil for nothing.
	Outcomes func() []profile.Outcome
	// Service is the name shown in the page's title, usually service.name.
	Service string
}

// Handler serves the page and the JSON API. Any goroutine may call it. To mount it below
// a prefix, wrap it in http.StripPrefix.
type Handler struct {
	regions    func() []spans.RegionStats
	dropped    func() spans.Dropped
	counters   func() []pmuattrs.RegionCounters
	store      spans.Store
	causal     experiments // nil without a controller
	stacks     sampled     // nil without a profiler
	sampling   sync.Mutex  // held while samples are taken at a high rate
	highRate   atomic.Pointer[stacks.Recording]
	tracing    sync.Mutex    // held while a trace is recorded and sent
	filing     sync.Mutex    // held while the page is put into one file
	detailed   chan struct{} // full while all distributions are collected and sent
	schedule   scheduled     // nil without a recorder
	goroutines cached[goroutineLook]
	splits     cached[*schedule.Report]
	profiles   cached[profile.Profile]
	fleets     cached[fleetLook] // of all instances
	foretold   cached[[]profile.Outcome]
	outcomes   func() []profile.Outcome // nil for none
	service    string
	saved      bool
	since      time.Time // when the handler was made
	runs       []Run
	// leastError is the least relative error shown for percentiles; 0 but for saved data.
	leastError float64

	config  config
	origins *http.CrossOriginProtection
	mux     *http.ServeMux
	page    []byte
	broken  sync.Once // one report for all panics of the sources
}

// NewHandler returns the handler for these sources. It returns an error that wraps [ErrConfig]
// if a source is missing or an option's value is not allowed.
func NewHandler(src Sources, opts ...Option) (*Handler, error) {
	var problems []error
	if src.Regions == nil {
		problems = append(problems, fmt.Errorf("%w: Sources.Regions nil: must be set", ErrConfig))
	}
	if src.Store == nil {
		problems = append(problems, fmt.Errorf("%w: Sources.Store nil: must be set", ErrConfig))
	}
	c, err := newConfig(opts)
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, err
	}
	h := &Handler{
		regions:  src.Regions,
		dropped:  src.Dropped,
		counters: src.Counters,
		store:    src.Store,
		outcomes: src.Outcomes,
		service:  src.Service,
		since:    time.Now().UTC(),
		detailed: make(chan struct{}, 1),
		config:   c,
		origins:  http.NewCrossOriginProtection(),
		mux:      http.NewServeMux(),
	}
	if h.dropped == nil {
		h.dropped = func() spans.Dropped { return spans.Dropped{} }
	}
	if h.counters == nil {
		h.counters = func() []pmuattrs.RegionCounters { return nil }
	}
	if src.Saved != nil {
		h.useSaved(*src.Saved)
	}
	if src.Causal != nil {
		h.causal = src.Causal
	}
	if src.Stacks != nil {
		h.stacks = src.Stacks
	}
	if src.Schedule != nil {
		h.schedule = src.Schedule
	}
	if err := h.routes(); err != nil {
		return nil, err
	}
	return h, nil
}

// ServeHTTP answers one request. A panic in a source becomes status 500, and is reported
// to the OpenTelemetry error handler once.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer h.recoverSource(w)
	if !h.guard(w, r) {
		return
	}
	switch escaped := r.URL.EscapedPath(); {
	case escaped == "": // mounted below a prefix, and asked for the prefix alone
		redirectToSlash(w, r)
	case escaped != "/" && path.Clean(escaped) != strings.TrimSuffix(escaped, "/"):
		// The mux would redirect to a path that lacks the prefix.
		writeError(w, http.StatusNotFound, "path %q: must be one of the API's", r.URL.Path)
	default:
		h.mux.ServeHTTP(w, r)
	}
}

func (h *Handler) recoverSource(w http.ResponseWriter) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares the panic value in the same way
		panic(p)
	}
	h.broken.Do(func() { otel.Handle(fmt.Errorf("viewer: panic in a source: %v: must not panic", p)) })
	writeError(w, http.StatusInternalServerError, "internal error: a source panicked: see the application's log")
}

func serveHealth(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}
