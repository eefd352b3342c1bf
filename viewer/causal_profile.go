package viewer

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

const (
	// profileAge is how long a profile is served before it is computed anew.
	profileAge = time.Second
	// profileRest is how many times as long as computing it took a profile is served at
	// least: with thousands of cells that takes a second, and must not fill a processor
	// while a page is open.
	profileRest = 20
)

// A profileCache computes the profile once for concurrent requests. The
// zero value is ready for use.
type profileCache struct {
	mu    sync.Mutex // held while computing: the second request waits for the first
	until time.Time
	last  profile.Profile
}

// get returns a profile that must not be changed.
func (c *profileCache) get(compute func() profile.Profile) profile.Profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	if began := time.Now(); began.After(c.until) {
		c.last = compute()
		done := time.Now()
		c.until = done.Add(max(profileAge, profileRest*done.Sub(began)))
	}
	return c.last
}

// expire makes the next profile a new one.
func (c *profileCache) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}

// causalProfile answers GET /api/v1/causal/profile. The samples behind the numbers take
// most of the room and are for merging: JSON has them only where samples=1 asks for them.
func (h *Handler) causalProfile(w http.ResponseWriter, r *http.Request) {
	if !h.withCausal(w) {
		return
	}
	query := r.URL.Query()
	samples := query.Get("samples")
	if samples != "" && samples != "0" && samples != "1" {
		writeError(w, http.StatusBadRequest, "samples %q: must be 0 or 1", samples)
		return
	}
	format := query.Get("format")
	if !slices.Contains([]string{"", "json", "coz", "svg"}, format) {
		writeError(w, http.StatusBadRequest, "format %q: must be json, coz or svg", format)
		return
	}
	p := h.profiles.get(h.causal.Profile)
	switch format {
	case "coz":
		download(w, "profile.coz", "text/plain; charset=utf-8", p, writeCoz)
	case "svg":
		download(w, "profile.svg", "image/svg+xml", p, writeSVG)
	default:
		if samples != "1" {
			p = withoutSamples(p)
		}
		if p.Curves == nil {
			p.Curves = []profile.Curve{}
		}
		writeJSON(w, http.StatusOK, p)
	}
}

// withoutSamples returns a copy of the profile that shares none of what it leaves out.
func withoutSamples(p profile.Profile) profile.Profile {
	p.Curves = slices.Clone(p.Curves)
	for i := range p.Curves {
		effects := slices.Clone(p.Curves[i].Effects)
		for k := range effects {
			effects[k].Reductions = nil
		}
		slopes := slices.Clone(p.Curves[i].Slopes)
		for k := range slopes {
			slopes[k].Elasticities = nil
		}
		p.Curves[i].Effects, p.Curves[i].Slopes = effects, slopes
	}
	return p
}

// download answers with a rendering of the profile under a file name.
func download(w http.ResponseWriter, name, contentType string, p profile.Profile,
	render func(io.Writer, profile.Profile) error,
) {
	var b bytes.Buffer
	if err := render(&b, p); err != nil {
		writeError(w, http.StatusInternalServerError, "%s: %s", name, err)
		return
	}
	w.Header().Set("Content-Disposition", `inline; filename="`+name+`"`)
	writeBody(w, http.StatusOK, contentType, b.Bytes())
}
