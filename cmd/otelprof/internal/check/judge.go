package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/stats"
)

// A Row is what became of one metric of a region.
type Row struct {
	Scope  string  `json:"scope"`
	Region string  `json:"span"`
	Metric string  `json:"metric"`
	Base   float64 `json:"base"` // medians over runs: ns, of the rate spans in a second
	New    float64 `json:"new"`
	// Change is that of a pair, in parts of the base, Lo and Hi its interval: those of all rows
	// that are judged hold together with 99.5 %.
	Change float64 `json:"change"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	// Noise is how far the old version seems to differ from itself.
	Noise   float64 `json:"noise"`
	Verdict string  `json:"verdict"`
}

// The verdicts of a row.
const (
	slower  = "slower" // surely, and by more than the machine's noise
	faster  = "faster"
	same    = "same" // within 1 %, surely
	unclear = "unclear"
)

// A report is the outcome.
type report struct {
	What   string  `json:"what"`
	Pairs  int     `json:"pairs"`
	EachNs int64   `json:"each_ns"`
	Rows   []Row   `json:"rows"`
	Failed []ruled `json:"failed"`
	// Unclear are conditions that may hold.
	Unclear []ruled `json:"unclear"`
}

// ruled is a condition, and the row that it is about.
type ruled struct {
	Rule string `json:"rule"`
	Row  Row    `json:"row"`
}

// byDefault is by how much a region may be slower where no condition is given: its mean, which a
// few slow calls move, or a quantile, which they do not. Where a processor has two speeds the 90th
// percentile is less disturbed than the median.
const byDefault = 0.01

func asked(metric string) bool { return metric == "mean" || metric == "p50" || metric == "p90" }

const (
	exitFailed  = 1
	exitUnclear = 2
)

// status is the exit status. Without conditions what is not clear does not count: any region may
// be.
func (r report) status() int {
	switch {
	case len(r.Failed) > 0:
		return exitFailed
	case len(r.Unclear) > 0 || len(r.Rows) == 0:
		return exitUnclear
	}
	return 0
}

func judge(runs duets, rules []rule) report {
	cells := commonCells(runs)
	usual := 0
	for _, c := range cells {
		if asked(c.metric) {
			usual++
		}
	}
	out := report{Rows: []Row{}, Failed: []ruled{}, Unclear: []ruled{}}
	compared := usual
	if len(rules) > 0 {
		compared = judgedBy(rules, cells)
	}
	each, enough := confidence(max(1, compared), len(runs.both))
	for _, c := range cells {
		out.Rows = append(out.Rows, rowOf(c, runs, each))
	}
	if len(rules) == 0 {
		for i, row := range out.Rows {
			if asked(row.Metric) && row.Verdict == slower && row.Change > byDefault {
				out.Failed = append(out.Failed, ruled{fmt.Sprintf("%s of %s is slower", row.Metric, row.Region), out.Rows[i]})
			}
		}
	}
	for _, r := range rules {
		out.apply(r)
	}
	if !enough { // more pairs would tell it from chance
		out.Failed, out.Unclear = []ruled{}, append(out.Unclear, out.Failed...)
	}
	return out
}

// judgedBy is how many comparisons conditions make.
func judgedBy(rules []rule, cells []cell) (n int) {
	for _, r := range rules {
		for _, c := range cells {
			if r.about(c) {
				n++
			}
		}
	}
	return n
}

// apply holds all rows against a condition. One that is about no row cannot fail, and is marked so.
func (r *report) apply(of rule) {
	found := false
	for _, row := range r.Rows {
		if !of.about(cell{row.Scope, row.Region, row.Metric}) {
			continue
		}
		found = true
		switch holds, never := of.surely(row); {
		case holds:
			r.Failed = append(r.Failed, ruled{of.text, row})
		case !never:
			r.Unclear = append(r.Unclear, ruled{of.text, row})
		}
	}
	if !found {
		r.Unclear = append(r.Unclear, ruled{of.text + ": no region has that, or too few spans in a run", Row{}})
	}
}

// together is how often all intervals of a check hold: of 200 checks of equal versions one has an
// interval that does not.
const together = 0.995

// confidence is that of one interval, so that so many hold together (Bonferroni), or as much as so
// many pairs can give, where that is not enough.
func confidence(compared, pairs int) (each float64, enough bool) {
	most := 1 - math.Exp2(1-float64(pairs)) // of the interval from the least to the largest
	each = 1 - (1-together)/float64(compared)
	return min(each, most), each <= most
}

// commonCells are the metrics that all runs have.
func commonCells(runs duets) (cells []cell) {
	all := append(slices.Clone(runs.both), runs.same...)
	if len(all) == 0 {
		return nil
	}
	for c := range all[0].first {
		if !slices.ContainsFunc(all, func(d duet) bool { return d.first[c] == 0 || d.second[c] == 0 }) {
			cells = append(cells, c)
		}
	}
	slices.SortFunc(cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.region, b.region), cmp.Compare(a.scope, b.scope), cmp.Compare(metricOrder(a.metric), metricOrder(b.metric)))
	})
	return cells
}

func rowOf(c cell, runs duets, confidence float64) Row {
	row := Row{Scope: c.scope, Region: c.region, Metric: c.metric, Base: median(runs.both, c, first), New: median(runs.both, c, second)}
	row.Change, row.Lo, row.Hi = changeOf(runs.both, c, confidence)
	// How far the old version is from itself, at the usual confidence of one interval.
	noise, lo, hi := changeOf(runs.same, c, 0.95)
	row.Noise = max(math.Abs(noise), (hi-lo)/2)
	row.Verdict = unclear
	switch {
	case row.Lo > 0 && row.Change > row.Noise:
		row.Verdict = slower
	case row.Hi < 0 && -row.Change > row.Noise:
		row.Verdict = faster
	case max(row.Hi, -row.Lo) <= byDefault:
		row.Verdict = same
	}
	if c.metric == "rate" { // of spans in a second, not of time for each
		row.Base, row.New = 1e9/row.Base, 1e9/row.New
		row.Change, row.Lo, row.Hi = 1/(1+row.Change)-1, 1/(1+row.Hi)-1, 1/(1+row.Lo)-1
	}
	return row
}

func first(d duet) sample  { return d.first }
func second(d duet) sample { return d.second }

func median(all []duet, c cell, of func(duet) sample) float64 {
	values := make([]float64, len(all))
	for i, d := range all {
		values[i] = of(d)[c]
	}
	return stats.Median(values)
}

// changeOf is the change from the first to the second of each pair, with its interval.
func changeOf(all []duet, c cell, confidence float64) (change, lo, hi float64) {
	ratios := make([]float64, len(all))
	for i, d := range all {
		ratios[i] = math.Log(d.second[c] / d.first[c])
	}
	change, lo, hi = hodgesLehmann(ratios, confidence)
	return math.Exp(change) - 1, math.Exp(lo) - 1, math.Exp(hi) - 1
}
