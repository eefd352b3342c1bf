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
	topKey
	Rate *float64 `json:"rate"` // spans in a second, null where it is not known
	topFigures
	SelfShare float64     `json:"self_share"` // of the self time of all regions, in [0, 1]
	IPC       *float64    `json:"ipc,omitempty"`
	Effect    *effectJSON `json:"effect,omitempty"`
}

// effectJSON is the effect of the region's table cell.
type effectJSON struct {
	Progress string `json:"progress"`
	profile.Effect
}

func (t topTable) writeJSON(w io.Writer, window string) error {
	out := tableJSON{window, []regionJSON{}}
	for _, r := range t.sorted() {
		row := regionJSON{topKey: r.topKey, topFigures: r.topFigures, SelfShare: r.window, IPC: r.Pmu.IPC}
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
