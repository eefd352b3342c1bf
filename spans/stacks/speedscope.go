package stacks

import (
	"encoding/json"
	"io"
	"slices"
)

// speedscopeFile is the format of speedscope.app, in as much as it is needed here.
type speedscopeFile struct {
	Schema   string `json:"$schema"`
	Exporter string `json:"exporter"`
	Name     string `json:"name"`
	Shared   struct {
		Frames []speedscopeFrame `json:"frames"`
	} `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

type speedscopeProfile struct {
	Type       string  `json:"type"`
	Name       string  `json:"name"`
	Unit       string  `json:"unit"`
	StartValue int64   `json:"startValue"`
	EndValue   int64   `json:"endValue"`
	Samples    [][]int `json:"samples"` // outermost call first
	Weights    []int64 `json:"weights"`
}

// WriteSpeedscope writes the tree for speedscope, as one profile in nanoseconds.
func (t *Tree) WriteSpeedscope(w io.Writer, name string) error {
	file := speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "otelprof", Name: name}
	file.Shared.Frames = []speedscopeFrame{}
	p := speedscopeProfile{Type: "sampled", Name: name, Unit: "nanoseconds", Samples: [][]int{}, Weights: []int64{}}
	ids := map[Frame]int{}
	t.Leaves(func(stack []Frame, w Weight) {
		sample := make([]int, 0, len(stack))
		for _, f := range slices.Backward(stack) {
			id, ok := ids[f]
			if !ok {
				id = len(ids)
				ids[f] = id
				file.Shared.Frames = append(file.Shared.Frames, speedscopeFrame{Name: f.Func, File: f.File, Line: f.Line})
			}
			sample = append(sample, id)
		}
		p.Samples = append(p.Samples, sample)
		p.Weights = append(p.Weights, w.Nanos)
		p.EndValue += w.Nanos
	})
	file.Profiles = []speedscopeProfile{p}
	return json.NewEncoder(w).Encode(file)
}
