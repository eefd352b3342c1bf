package top

import (
	"encoding/json"
	"io"

	"github.com/otelprof/otelprof/causal/profile"
)

// tableJSON is what -json prints: the rows of one table.
type tableJSON struct {
	Window  string       `json:"window"` // 10s, 1m or start
	Regions []regionJSON `json:"regions"`
}

type regionJSON struct {
	Scope        string      `json:"scope"`
	ScopeVersion string      `json:"scope_version,omitempty"`
	Name         string      `json:"name"`
	Rate         *float64    `json:"rate"` // spans in a second, null where it is not known
	Count        uint64      `json:"count"`
	Errors       uint64      `json:"errors"`
	P50          uint64      `json:"p50_ns"`
	P90          uint64      `json:"p90_ns"`
	P99          uint64      `json:"p99_ns"`
	Max          uint64      `json:"max_ns"`
	Self         int64       `json:"self_ns"`
	SelfShare    float64     `json:"self_share"` // of the self time of all regions, in [0, 1]
	IPC          *float64    `json:"ipc,omitempty"`
	Effect       *effectJSON `json:"effect,omitempty"`
}

// effectJSON is the effect of the region's table cell.
type effectJSON struct {
	Progress string `json:"progress"`
	profile.Effect
}

func (t topTable) writeJSON(w io.Writer, window string) error {
	out := tableJSON{window, []regionJSON{}}
	for _, r := range t.sorted() {
		row := regionJSON{
			Scope: r.Scope, ScopeVersion: r.ScopeVersion, Name: r.Name, Count: r.Count, Errors: r.Errors,
			P50: r.P50, P90: r.P90, P99: r.P99, Max: r.Max, Self: r.Self, SelfShare: r.window, IPC: r.Pmu.IPC,
		}
		if r.rate >= 0 {
			row.Rate = &r.rate
		}
		if r.effect != nil {
			row.Effect = &effectJSON{r.effect.progress, r.effect.Effect}
		}
		out.Regions = append(out.Regions, row)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
