package viewer

import "github.com/otelprof/otelprof/pmuattrs"

// pmuJSON is what was counted in those spans of a region that were in the sample.
type pmuJSON struct {
	Source string `json:"source"` // "hw" or "rusage"
	// Spans were counted; Invalid ones were in the sample and could not be.
	Spans   uint64 `json:"spans"`
	Invalid uint64 `json:"invalid"`
	// IPC is the number of instructions per cycle in all of them together.
	IPC   *float64       `json:"ipc,omitempty"`
	Means []pmuCountJSON `json:"means"`
}

// pmuCountJSON is one event's mean in a span.
type pmuCountJSON struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"` // in the notation of UCUM
	Mean float64 `json:"mean"`
}

type regionKey struct{ scope, version, name string }

func (h *Handler) countersByRegion() map[regionKey]*pmuJSON {
	out := map[regionKey]*pmuJSON{}
	for _, c := range h.counters() {
		out[regionKey{c.Scope.Name, c.Scope.Version, c.Name}] = pmuOf(c)
	}
	return out
}

func pmuOf(c pmuattrs.RegionCounters) *pmuJSON {
	p := &pmuJSON{Source: string(c.Source), Spans: c.Spans, Invalid: c.Invalid, Means: []pmuCountJSON{}}
	if ipc, ok := c.IPC(); ok {
		p.IPC = &ipc
	}
	if c.Spans == 0 {
		return p
	}
	for _, e := range c.Counts {
		p.Means = append(p.Means, pmuCountJSON{e.Event.Name(), e.Event.Unit(), e.Mean()})
	}
	return p
}
