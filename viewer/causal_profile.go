package viewer

import (
	"context"
	"io"
	"net/http"
	"slices"
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
	// fleetAge is that of the profile of all instances, and fleetPatience how long their Prometheus
	// may take.
	fleetAge      = 10 * time.Second
	fleetPatience = 5 * time.Second
)

// causalProfile answers GET /api/v1/causal/profile. The samples behind the numbers take
// most of the room and are for merging: JSON has them only where samples=1 asks for them. With
// of=fleet it is the profile of all instances, see WithPrometheus.
func (h *Handler) causalProfile(w http.ResponseWriter, r *http.Request) {
	if !h.withCausal(w) {
		return
	}
	query := r.URL.Query()
	samples, err := isSet(query, "samples")
	if err != nil {
		writeError(w, http.StatusBadRequest, "%s", err)
		return
	}
	format := query.Get("format")
	if !slices.Contains([]string{"", "json", "coz", "svg"}, format) {
		writeError(w, http.StatusBadRequest, "format %q: must be json, coz or svg", format)
		return
	}
	p := profile.Profile{}
	switch of := query.Get("of"); {
	case of == "":
		p = h.profile()
	case of != "fleet" || h.config.fleet == nil:
		writeError(w, http.StatusBadRequest, "of %q: must be absent, or fleet where the viewer has a Prometheus", of)
		return
	default:
		if p, err = h.fleetProfile(r.Context()); err != nil {
			writeError(w, http.StatusBadGateway, "Prometheus: %v", err)
			return
		}
	}
	switch format {
	case "coz":
		render(w, "profile.coz", "text/plain; charset=utf-8", func(w io.Writer) error { return p.WriteCoz(w) })
	case "svg":
		render(w, "profile.svg", "image/svg+xml", func(w io.Writer) error { return p.WriteSVG(w) })
	default:
		if !samples {
			p = withoutSamples(p)
		}
		if p.Curves == nil {
			p.Curves = []profile.Curve{}
		}
		writeJSON(w, http.StatusOK, p)
	}
}

// profile is the profile as it was computed last, or a moment ago.
func (h *Handler) profile() profile.Profile {
	p, _ := h.profiles.get(profileAge, profileRest, func() (profile.Profile, error) { return h.causal.Profile(), nil })
	return p
}

// A fleetLook is what Prometheus has of all instances, or why it has not answered.
type fleetLook struct {
	profile profile.Profile
	err     error
}

// fleetProfile is what Prometheus has of all instances, or had a moment ago. That it could not
// answer stands as long, also where the one who asked has gone meanwhile.
func (h *Handler) fleetProfile(ctx context.Context) (profile.Profile, error) {
	look, _ := h.fleets.get(fleetAge, 1, func() (look fleetLook, _ error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fleetPatience)
		defer cancel()
		look.profile, look.err = h.config.fleet.Profile(ctx)
		return look, nil
	})
	return look.profile, look.err
}

// withoutSamples returns a copy of the profile that shares none of what it leaves out: samples, and
// the waits of regions, which have a request of their own.
func withoutSamples(p profile.Profile) profile.Profile {
	p.Waits, p.Tails, p.Epochs = nil, nil, nil
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
	p.Changes = slices.Clone(p.Changes)
	for i := range p.Changes {
		p.Changes[i].Effect.Reductions = nil
	}
	return p
}
