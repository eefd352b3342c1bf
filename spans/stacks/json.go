package stacks

import "encoding/json"

// jsonTree is a tree as JSON. A node is as long as its whole, of which a part is its own.
type jsonTree struct {
	Samples     int64 `json:"samples"`
	CPUNs       int64 `json:"cpu_ns"`
	SelfSamples int64 `json:"self_samples"`
	SelfNs      int64 `json:"self_ns"`
	// TooFew reports that shares mean little yet, and MinSamples is how many samples they need.
	TooFew     bool  `json:"too_few"`
	MinSamples int64 `json:"min_samples"`
	// Folded samples are of stacks that were cut short for lack of room.
	Folded   int64       `json:"folded"`
	Nodes    int         `json:"nodes"`
	Children []*jsonNode `json:"children"`
}

type jsonNode struct {
	Func        string      `json:"func"`
	File        string      `json:"file,omitempty"`
	Line        int         `json:"line,omitempty"`
	Samples     int64       `json:"samples"`
	CPUNs       int64       `json:"cpu_ns"`
	SelfSamples int64       `json:"self_samples"`
	SelfNs      int64       `json:"self_ns"`
	Children    []*jsonNode `json:"children,omitempty"`
}

// maxJSONDepth is how deep JSON may nest; package encoding/json reads 10,000. What is below is
// self weight of the last node.
const maxJSONDepth = 1000

// MarshalJSON implements json.Marshaler: nested nodes, the heaviest first.
func (t *Tree) MarshalJSON() ([]byte, error) {
	root := t.nodes[0]
	out := jsonTree{
		Samples: root.whole.Samples, CPUNs: root.whole.Nanos,
		SelfSamples: root.asLeaf.Samples, SelfNs: root.asLeaf.Nanos,
		TooFew: t.TooFew(), MinSamples: minSamples, Folded: t.folded.Samples, Nodes: t.Len(), Children: []*jsonNode{},
	}
	lists := []*[]*jsonNode{&out.Children}
	t.Visit(func(n Node) bool {
		deeper := n.Depth+1 < maxJSONDepth
		if !deeper {
			n.AsLeaf = n.Whole
		}
		j := &jsonNode{
			Func: n.Func, File: n.File, Line: n.Line,
			Samples: n.Whole.Samples, CPUNs: n.Whole.Nanos,
			SelfSamples: n.AsLeaf.Samples, SelfNs: n.AsLeaf.Nanos,
		}
		lists = lists[:n.Depth+1]
		*lists[n.Depth] = append(*lists[n.Depth], j)
		lists = append(lists, &j.Children)
		return deeper
	}, nil)
	return json.Marshal(out)
}
