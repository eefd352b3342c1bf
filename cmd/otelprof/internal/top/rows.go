package top

// topRegion is one region in the viewer's JSON.
type topRegion struct {
	topKey
	topFigures
	SelfShare float64 `json:"self_share"`
	Pmu       struct {
		IPC *float64 `json:"ipc"`
	} `json:"pmu"`
	Cumulative topDistribution `json:"cumulative"`
}

type topDistribution struct {
	Buckets topBuckets `json:"buckets"`
}

type topKey struct {
	Scope        string `json:"scope"`
	ScopeVersion string `json:"scope_version,omitempty"`
	SchemaURL    string `json:"scope_schema_url,omitempty"`
	Name         string `json:"name"`
}

// topFigures are counts, and times in ns.
type topFigures struct {
	Count  uint64 `json:"count"`
	Errors uint64 `json:"errors"`
	P50    uint64 `json:"p50_ns"`
	P90    uint64 `json:"p90_ns"`
	P99    uint64 `json:"p99_ns"`
	Max    uint64 `json:"max_ns"`
	Self   int64  `json:"self_ns"`
}

// A topRow is a region as it was in a window.
type topRow struct {
	topRegion
	rate   float64 // a second; negative where it is not known
	window float64 // share of the self time in the window, or of all where there was none
	effect *topEffect
}

// rows returns the regions as they were since an earlier poll; since the start of the program if
// that is none, with rates since the poll before.
func (p topPoll) rows(from, last topPoll) []topRow {
	index := func(p topPoll) map[topKey]topRegion {
		known := make(map[topKey]topRegion, len(p.Regions))
		for _, r := range p.Regions {
			known[r.topKey] = r
		}
		return known
	}
	begins, rated := index(from), index(last)
	seconds := p.at.Sub(last.at).Seconds()
	rows := make([]topRow, 0, len(p.Regions))
	var whole float64
	for _, r := range p.Regions {
		row := topRow{topRegion: r, rate: -1}
		if was := rated[r.topKey]; seconds > 0 && !last.at.IsZero() && r.Count >= was.Count {
			row.rate = float64(r.Count-was.Count) / seconds
		}
		if was := begins[r.topKey]; !from.at.IsZero() && r.Count >= was.Count && r.Self >= was.Self {
			row.topRegion = r.over(was)
		}
		row.window = float64(row.Self)
		whole += row.window
		if e, ok := p.effects[topKey{Scope: r.Scope, Name: r.Name}]; ok {
			row.effect = &e
		}
		rows = append(rows, row)
	}
	for i := range rows {
		if rows[i].window /= whole; whole == 0 { // nothing has happened since
			rows[i].window = rows[i].SelfShare
		}
	}
	return rows
}

// over returns the region as it was between an earlier poll and this one.
func (r topRegion) over(before topRegion) topRegion {
	out := r
	out.Count -= before.Count
	out.Errors -= min(out.Errors, before.Errors)
	out.Self -= before.Self
	d := r.Cumulative.Buckets.since(before.Cumulative.Buckets)
	out.P50, out.P90, out.P99 = d.percentile(50, r.Max), d.percentile(90, r.Max), d.percentile(99, r.Max)
	out.Max = d.percentile(100, r.Max)
	return out
}
