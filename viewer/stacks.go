package viewer

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// sampled is what the viewer needs of a stacks.Profiler.
type sampled interface {
	Snapshot(last time.Duration) *stacks.Recording
	Session(id spans.SessionID) (*stacks.Tree, bool)
	Stats() stacks.Stats
}

// stacksJSON answers GET /api/v1/stacks and GET /api/v1/regions/stacks?name=.
type stacksJSON struct {
	// Region is the name, and empty for the process.
	Region string       `json:"region"`
	Status stacks.Stats `json:"status"`
	// Start, DurationNs and CPUNs are of the time that was asked for.
	Start      time.Time `json:"start"`
	DurationNs int64     `json:"duration_ns"`
	Hz         int       `json:"hz"`     // samples in a second of processor time
	CPUNs      int64     `json:"cpu_ns"` // of the process, 0 if it is not known
	Lost       int64     `json:"lost"`
	// Regions are what the tree is merged from: several scopes may have a region of one name.
	Regions []stacksRegionJSON `json:"regions"`
	Tree    *stacks.Tree       `json:"tree"`
}

type stacksRegionJSON struct {
	Name    string `json:"name"`
	Scope   string `json:"scope"`
	Number  int    `json:"number"` // the label, 0 for what is outside of all regions
	Samples int64  `json:"samples"`
	CPUNs   int64  `json:"cpu_ns"`
}

// withStacks reports whether there is a profiler, and answers 404 if not.
func (h *Handler) withStacks(w http.ResponseWriter) bool {
	if h.stacks == nil {
		writeError(w, http.StatusNotFound, "stacks profiler: must be on: start the program with OTELPROF_STACKS=on, or set it in the viewer's Sources")
	}
	return h.stacks != nil
}

// stacksAsked returns what a request asks for, and false if it has been answered with an error.
func (h *Handler) stacksAsked(w http.ResponseWriter, r *http.Request) (stacksRequest, bool) {
	if !h.withStacks(w) {
		return stacksRequest{}, false
	}
	q, err := stacksQuery(r.URL.Query())
	if err != nil {
		writeError(w, http.StatusBadRequest, "%s", err)
		return q, false
	}
	return q, true
}

func (h *Handler) processStacks(w http.ResponseWriter, r *http.Request) {
	q, ok := h.stacksAsked(w, r)
	if !ok {
		return
	}
	writeStacks(w, q, "", h.stacks.Snapshot(q.last), h.stacks.Stats())
}

func (h *Handler) regionStacks(w http.ResponseWriter, r *http.Request) {
	q, ok := h.stacksAsked(w, r)
	if !ok {
		return
	}
	name := h.nameAsked(r)
	all := h.stacks.Snapshot(q.last)
	found := slices.DeleteFunc(all.Find(name), func(t stacks.RegionTree) bool { return q.scoped && t.Scope.Name != q.scope })
	if len(found) == 0 && !h.measured(name, q) {
		writeError(w, http.StatusNotFound, "region %q: must be the name of a measured region", name)
		return
	}
	of := *all
	of.Regions = found
	writeStacks(w, q, name, &of, h.stacks.Stats())
}

// measured reports whether a region without samples is one all the same.
func (h *Handler) measured(name string, q stacksRequest) bool {
	return slices.ContainsFunc(h.regions(), func(r spans.RegionStats) bool {
		return r.Name == name && (!q.scoped || r.Scope.Name == q.scope)
	})
}

// sessionStacks answers GET /api/v1/sessions/{id}/stacks, for the few that were asked for.
func (h *Handler) sessionStacks(w http.ResponseWriter, r *http.Request) {
	q, ok := h.stacksAsked(w, r)
	if !ok {
		return
	}
	id, err := spans.ParseSessionID(r.PathValue("id"))
	if err != nil {
		writeError(w, http.StatusBadRequest, "session %q: must be 32 hexadecimal digits, not all zero", r.PathValue("id"))
		return
	}
	tree, ok := h.stacks.Session(id)
	if !ok {
		writeError(w, http.StatusNotFound, "session %s: must be one begun with stacks.ContextWithSession, of the last ones", id)
		return
	}
	total := tree.Total()
	name := "session " + id.String()
	writeStacks(w, q, name, &stacks.Recording{
		Hz: h.stacks.Stats().Hz, CPU: time.Duration(total.Nanos), Origin: h.origin(),
		Regions: []stacks.RegionTree{{Region: spans.Region{Name: name}, Tree: tree}},
	}, h.stacks.Stats())
}

// origin is that of what is recorded in this process.
func (h *Handler) origin() stacks.Origin {
	host, _ := os.Hostname() // there is none, then
	return stacks.Origin{Service: h.service, Host: host, PID: os.Getpid()}
}

func writeStacks(w http.ResponseWriter, q stacksRequest, name string, r *stacks.Recording, status stacks.Stats) {
	title := name
	if name == "" {
		title = "process"
	}
	tree := r.Process()
	merged := tree
	if !q.lines {
		merged = tree.WithoutLines()
	}
	switch q.format {
	case "pprof":
		render(w, "stacks.pprof", "application/octet-stream", r.WritePprof)
	case "speedscope":
		render(w, "stacks.speedscope.json", "application/json; charset=utf-8", func(w io.Writer) error { return tree.WriteSpeedscope(w, title) })
	case "folded":
		render(w, "stacks.folded", "text/plain; charset=utf-8", tree.WriteFolded)
	case "svg":
		render(w, "stacks.svg", "image/svg+xml", func(w io.Writer) error { return merged.WriteSVG(w, title) })
	default:
		out := stacksJSON{
			Region: name, Status: status, Start: r.Start.UTC(), DurationNs: int64(r.Duration), Hz: r.Hz, CPUNs: int64(r.CPU), Lost: r.Lost,
			Regions: make([]stacksRegionJSON, len(r.Regions)), Tree: merged,
		}
		for i, region := range r.Regions {
			total := region.Tree.Total()
			out.Regions[i] = stacksRegionJSON{region.Name, region.Scope.Name, region.Number, total.Samples, total.Nanos}
		}
		writeJSON(w, http.StatusOK, out)
	}
}

// stacksRequest is what a request for stacks asks for.
type stacksRequest struct {
	format string
	last   time.Duration // 0 for all that is kept
	lines  bool
	scope  string
	scoped bool
}

var stacksFormats = []string{"json", "pprof", "speedscope", "folded", "svg"}

func stacksQuery(v url.Values) (stacksRequest, error) {
	q := stacksRequest{format: v.Get("format"), scope: v.Get("scope"), scoped: v.Has("scope")}
	if q.format != "" && !slices.Contains(stacksFormats, q.format) {
		return q, fmt.Errorf("format %q: must be one of %v", q.format, stacksFormats)
	}
	if s := v.Get("seconds"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 3600 {
			return q, fmt.Errorf("seconds %q: must be an integer in [0, 3600], 0 for all", s)
		}
		q.last = time.Duration(n) * time.Second
	}
	var err error
	q.lines, err = isSet(v, "lines")
	return q, err
}

// isSet reads a parameter that is 1, 0 or not there.
func isSet(v url.Values, key string) (bool, error) {
	s := v.Get(key)
	if s != "" && s != "0" && s != "1" {
		return false, fmt.Errorf("%s %q: must be 0 or 1", key, s)
	}
	return s == "1", nil
}

// render answers with a file.
func render(w http.ResponseWriter, name, contentType string, write func(io.Writer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		writeError(w, http.StatusInternalServerError, "%s: %s", name, err)
		return
	}
	w.Header().Set("Content-Disposition", `inline; filename="`+name+`"`)
	writeBody(w, http.StatusOK, contentType, b.Bytes())
}
