package replay

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Study holds windows of one program against each other: what each says of a change is one sample of the answer. It keeps
// the answers of each window, not its events. It is not safe for concurrent use.
type Study struct {
	config  StudyConfig
	windows []*window
}

// A StudyConfig says what is asked. The zero value asks for the usual.
type StudyConfig struct {
	// Speedups to ask about, each below 1; nil for 0.1, 0.25, 0.5, 0.75 and 0.95.
	Speedups []float64
	// Regions is the number of regions that are asked about in each window, those with the most time of their own first; 0
	// for 16.
	Regions int
	// Only says which regions are asked about at all; nil for any.
	Only func(Region) bool
	// Questions are asked about in each window, besides. Structure asks some more: about twice the processors, and about the locks
	// that goroutines wait for most often.
	Questions []Question
	Structure bool
	// Steps is after how many steps of simulations, some 10 ns each, no further question is asked of a window but left to the next
	// ones; 0 for 64 million. A recording of a million events takes about a million steps each time.
	Steps int
	// Windows is how many windows are kept, the latest; 0 for 20.
	Windows int
}

// The usual questions.
var usualSpeedups = []float64{0.1, 0.25, 0.5, 0.75, 0.95}

const (
	usualRegions = 16
	usualWindows = 20
	maxPoints    = 8
	// LeastWindows is how many windows a number takes: an interval comes from between them.
	LeastWindows = 5
	// leastVisits in a window, for its period to mean anything.
	leastVisits = 10
	// MaxDeviation is by which part the replay of nothing changed may miss the recorded period.
	MaxDeviation = 0.03
)

// NewStudy returns a study without windows. A speed-up that is not below 1 is an error.
func NewStudy(c StudyConfig) (*Study, error) {
	if c.Speedups == nil {
		c.Speedups = usualSpeedups
	}
	for _, s := range c.Speedups {
		if !(s < 1) || math.IsInf(s, 0) {
			return nil, fmt.Errorf("replay: speed-up %v: must be below 1", s)
		}
	}
	if c.Regions == 0 {
		c.Regions = usualRegions
	}
	if c.Steps == 0 {
		c.Steps = usualSteps
	}
	if c.Windows == 0 {
		c.Windows = usualWindows
	}
	return &Study{config: c}, nil
}

// A window is what one recording says.
type window struct {
	length   time.Duration
	goes     int // goroutines
	checks   map[string]Check
	effects  map[question]sample
	asked    map[ask]bool
	regions  []Region
	inferred bool
	// ordered is which part of the time goroutines waited in an order that is kept.
	ordered float64
}

// A question is a cell of the table of answers.
type question struct {
	region  Region
	speedup float64
	point   string
	metric  Metric
}

// A sample is one window's answer: the mean time between visits or the quantile of durations, before and after the change, ns,
// and how many visits that is. Kept is the reduction with the recorded order of all waits kept, where locks and channels are
// only inferred, or NaN.
type sample struct {
	before, after float64
	kept          float64
	visits        int
	// broken tells that the replay went on only since waits were given up, more than with nothing changed.
	broken bool
}

func (s *sample) reduction() float64 { return 1 - s.after/s.before }

// A Metric is what of a progress point changes.
type Metric string

// The metrics of a progress point.
const (
	Throughput Metric = "throughput" // the mean time between visits
	LatencyP50 Metric = "latency_p50"
	LatencyP90 Metric = "latency_p90"
	LatencyP99 Metric = "latency_p99"
)

var quantiles = []struct {
	metric Metric
	at     float64
	least  int
}{{LatencyP50, 0.5, 20}, {LatencyP90, 0.9, 50}, {LatencyP99, 0.99, 200}}

// A Check is how well the replay of nothing changed meets the recording at a progress point.
type Check struct {
	Point     string
	Visits    int     // in the recording
	Period    float64 // recorded, ns
	Replayed  float64 // ns
	Stuck     bool    // the replay came to a state in which nothing could go on
	Deviation float64 // Replayed/Period - 1
}

// Add reads one recording. It simulates the window once for each region and speed-up, as far as Steps allow, on the calling
// goroutine, and gives up when ctx ends.
func (s *Study) Add(ctx context.Context, rec *Recording) (err error) {
	defer contain(&err)
	w, err := s.analyze(ctx, rec)
	if err != nil {
		return err
	}
	s.windows = append(s.windows, w)
	if n := len(s.windows) - s.config.Windows; n > 0 {
		s.windows = slices.Delete(s.windows, 0, n)
	}
	return nil
}

func (s *Study) analyze(ctx context.Context, rec *Recording) (*window, error) {
	d := rec.End - rec.Start
	w := &window{length: time.Duration(d), checks: map[string]Check{}, effects: map[question]sample{}, asked: map[ask]bool{}, goes: int(rec.count)}
	p, base := faithful(rec, w)
	w.ordered = p.ordered()
	kept := keptOrder(rec, w)
	for i, v := range p.recorded() {
		if c := check(p.points[i].name, v, base.visits[i], base.stuck, d); c.Visits >= leastVisits {
			w.checks[c.Point] = c
		}
	}
	for _, r := range p.busiest(s.config.Regions, s.config.Only) {
		w.regions = append(w.regions, rec.regions[r])
	}
	if err := s.simulate(ctx, w, p, &base, kept); err != nil {
		return nil, err
	}
	return w, s.restructure(ctx, w, p, &base, kept)
}

// faithful translates a recording so that the replay of nothing changed meets it as well as can be: with shared objects
// inferred from who woke whom, or without.
func faithful(rec *Recording, w *window) (*program, outcome) {
	d := rec.End - rec.Start
	p := newProgram(rec, true)
	o := simulate(p, change{}, d)
	w.inferred = true
	missed := p.misses(&o, d)
	if missed <= MaxDeviation {
		return p, o
	}
	p = newProgram(rec, false) // one at a time: they are large
	if other := simulate(p, change{}, d); p.misses(&other, d) < missed {
		w.inferred = false
		return p, other
	}
	return newProgram(rec, true), o
}

// misses returns by which part an outcome of nothing changed misses the recording, at the progress point where that is most.
func (p *program) misses(o *outcome, d int64) float64 {
	worst := 0.0
	for i, v := range p.recorded() {
		if c := check("", v, o.visits[i], o.stuck, d); c.Visits >= leastVisits {
			if c.Stuck || math.IsNaN(c.Deviation) {
				return math.Inf(1)
			}
			worst = max(worst, math.Abs(c.Deviation))
		}
	}
	return worst
}

func check(name string, recorded, replayed []int64, stuck bool, d int64) Check {
	c := Check{Point: name, Visits: len(recorded), Period: period(recorded, d), Replayed: period(replayed, d), Stuck: stuck}
	c.Deviation = c.Replayed/c.Period - 1
	return c
}

// recorded returns when each progress point was visited, since the window's beginning.
func (p *program) recorded() [][]int64 {
	if p.visited == nil {
		p.visited = make([][]int64, len(p.points))
		for i := range p.rec.events {
			e := &p.rec.events[i]
			k := int32(-1)
			switch e.kind {
			case evVisit:
				k = e.ref
			case evClose:
				k = p.pointOf[p.rec.spans[e.ref].region]
			}
			if k >= 0 {
				p.visited[k] = append(p.visited[k], e.at-p.rec.Start)
			}
		}
	}
	return p.visited
}

// An alternative is another translation of the same recording, and its replay of nothing changed.
type alternative struct {
	p    *program
	base outcome
}

// keptOrder returns the translation that keeps the order of all waits, if locks and channels are only inferred and it meets the
// recording as well; else nil. The truth lies between what the two say, mostly.
func keptOrder(rec *Recording, w *window) *alternative {
	if !w.inferred || rec.operated() {
		return nil
	}
	p := newProgram(rec, false)
	base := simulate(p, change{}, rec.End-rec.Start)
	if p.misses(&base, rec.End-rec.Start) > MaxDeviation {
		return nil
	}
	return &alternative{p, base}
}

// operated reports whether operations on locks and channels are in the recording.
func (r *Recording) operated() bool {
	return slices.ContainsFunc(r.events, func(e event) bool { return e.kind == evOperate })
}

// ordered returns which part of the window the goroutines of spans spent in waits whose order is kept, at most 1.
func (p *program) ordered() float64 {
	var total int64
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opWait && (o.reason == waitMutex || o.reason == waitSend || o.reason == waitReceive || o.reason == waitSelect) {
				total += o.d
			}
		}
	}
	return min(1, float64(total)/float64(max(1, p.rec.End-p.rec.Start)))
}

func (w *window) sample(q question, base, o *outcome, i int, d int64) {
	q.metric = Throughput
	w.effects[q] = sample{before: period(base.visits[i], d), after: period(o.visits[i], d), kept: math.NaN(), visits: len(base.visits[i]), broken: o.broken > base.broken}
	before, after := base.settled(i), o.settled(i)
	for _, l := range quantiles {
		if len(base.durations[i]) < l.least {
			continue
		}
		q.metric = l.metric
		w.effects[q] = sample{before: quantile(before, l.at), after: quantile(after, l.at), kept: math.NaN(), visits: len(base.durations[i]), broken: o.broken > base.broken}
	}
}

// bound adds what the translation with kept order says.
func (w *window) bound(q question, base, o *outcome, i int, d int64) {
	q.metric = Throughput
	if x, ok := w.effects[q]; ok {
		x.kept = 1 - period(o.visits[i], d)/period(base.visits[i], d)
		w.effects[q] = x
	}
	before, after := base.settled(i), o.settled(i)
	for _, l := range quantiles {
		q.metric = l.metric
		if x, ok := w.effects[q]; ok {
			x.kept = 1 - quantile(after, l.at)/quantile(before, l.at)
			w.effects[q] = x
		}
	}
}

// period returns the mean time between visits in the last nine tenths of the time.
func period(v []int64, d int64) float64 {
	for len(v) > 0 && v[0] < d/10 {
		v = v[1:]
	}
	if len(v) < 2 {
		return math.NaN()
	}
	return float64(v[len(v)-1]-v[0]) / float64(len(v)-1)
}

// settled returns the durations at a progress point but for the first tenth of them, shortest first.
func (o *outcome) settled(point int) []int64 {
	v := o.durations[point][len(o.durations[point])/10:]
	if !slices.IsSorted(v) {
		slices.Sort(v)
	}
	return v
}

// quantile of durations, shortest first.
func quantile(v []int64, at float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return float64(v[min(len(v)-1, int(at*float64(len(v))))])
}

// busiest returns the regions with the most time of their own.
func (p *program) busiest(n int, only func(Region) bool) []int32 {
	own := make([]int64, len(p.rec.regions))
	for i := range p.lists {
		for k := range p.lists[i].ops {
			if o := &p.lists[i].ops[k]; o.kind == opRun || o.kind == opOut {
				for _, r := range p.sets[o.set] {
					own[r] += o.d
				}
				for _, x := range p.sharesOf(int(o.set)) {
					own[x.region] += int64(x.part * float64(o.d))
				}
			}
		}
	}
	for _, f := range p.rec.functions { // asked about, though a short window may have no sample of it
		own[f.region] = max(own[f.region], 1)
	}
	all := make([]int32, 0, len(own))
	for r, d := range own {
		if d > 0 && (only == nil || only(p.rec.regions[r])) {
			all = append(all, int32(r))
		}
	}
	slices.SortStableFunc(all, func(a, b int32) int { return cmp.Compare(own[b], own[a]) })
	return all[:min(n, len(all))]
}
