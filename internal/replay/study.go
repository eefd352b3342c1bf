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
	rest    func() error // of the last recording, nil for none
	// held are the regions that slow-downs by these levels are simulated of, see Hold.
	held   []Region
	levels []float64
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
	// LeastVisits in a window, for its period to mean anything.
	LeastVisits = 10
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
	origin   *origin // nil for a recording of its own
	length   time.Duration
	goes     int // goroutines
	checks   map[string]Check
	effects  map[question]sample
	asked    map[ask]bool
	regions  []Region
	stock    bool // it is of a program that marks no operations on locks and channels
	inferred bool
	whole    bool // the operations that the trace does not show were inferred
	conditions
	stalled time.Duration // in which the program stood still, and which is left out
	shares  map[Region]float64
	// ordered is which part of the time goroutines waited in an order that is kept.
	ordered float64
	harm    map[string]float64 // by progress point: by which part of the period any region that is faster makes it longer, at most
	loops   map[string]float64 // by progress point: by which part the time between visits shrinks if all is faster
	// unhurried are those of nothing changed in which processors that are woken up come back sooner, and later; see vary.
	unhurried []outcome
	// unruled is which part of the time they waited for condition variables without a rule for when they have to.
	unruled float64
	// undecided is, by progress point, which part of the time goroutines waited for a timer or another goroutine, whichever was
	// first; of a stock program.
	undecided map[string]float64
	// refused has the progress points of goroutines whose offers are refused, in a stock program.
	refused map[string]bool
	// paused is, by progress point, how much longer requests are since some of them have pauses.
	paused map[string]delay
	// batched has the progress points of goroutines that wait for batches whose size is decided by time.
	batched map[string]bool
	// buckets are of tokens, nil for none.
	buckets *buckets
	// stampedes are work that goroutines begin since others are at it.
	stampedes []stampede
}

// A question is a cell of the table of answers.
type question struct {
	region  Region
	speedup float64
	point   string
	metric  Metric
	held    bool // for a part of its own time behind each span, of which speedup is the negative
}

// A sample is one window's answer: the mean time between visits or the quantile of durations, before and after the change, ns,
// and how many visits that is. Least and most are what the alternatives say, or NaN.
type sample struct {
	before, after float64
	least, most   float64
	visits        int
	// strayed is which part of the select statements ended in ways of which the recording has no example, more or less than with
	// nothing changed.
	strayed float64
	// later is by how much the part of the select statements is larger that timers ended: what is done then is known from fewer examples.
	later float64
	// roused is by how many more processors were woken up for each visit than with nothing changed.
	roused float64
	// soon and late are the largest and the smallest reduction if processors that are woken up come back sooner or later, or other programs leave
	// other processors alone; NaN where that does not matter.
	soon, late float64
	// broken means that the replay went on only since waits were given up, more than with nothing changed.
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

// A Check is how well the replay of nothing changed meets the recording at a progress point: an A/A test.
type Check struct {
	Point     string
	Visits    int     // in the recording
	Period    float64 // recorded, ns
	Replayed  float64 // ns
	Stuck     bool    // the replay came to a state in which nothing could go on
	Deviation float64 // Replayed/Period - 1
}

// Add reads one recording. It simulates the window once for each region and speed-up, as far as Steps allow, on the calling
// goroutine, and gives up when ctx ends. A window of which the replay of nothing changed is far off at all progress points is not simulated further.
func (s *Study) Add(ctx context.Context, rec *Recording) (err error) {
	defer contain(&err)
	w, err := s.analyze(ctx, rec)
	if err != nil {
		return err
	}
	s.windows, s.rest = append(s.windows, w), rec.rest
	if n := len(s.windows) - s.config.Windows; n > 0 {
		s.windows = slices.Delete(s.windows, 0, n)
	}
	return nil
}

func (s *Study) analyze(ctx context.Context, rec *Recording) (*window, error) {
	w := &window{origin: rec.origin, stock: !rec.operated(), length: time.Duration(rec.End - rec.Start), checks: map[string]Check{}, effects: map[question]sample{}, harm: map[string]float64{}, asked: map[ask]bool{}, goes: int(rec.count)}
	if !rec.telling() {
		w.conditions = rec.conditions
		return w, nil
	}
	whole := rec.completed()
	p, plain, base := faithful(rec, whole, w)
	w.conditions, w.shares = p.rec.conditions, p.rec.shares()
	d := p.rec.End - p.rec.Start
	p, base, openly := p.ofClients(base)
	w.ordered, w.loops = p.ordered(), p.loops(&base, d)
	w.unruled = p.unruled()
	if w.stock {
		w.undecided, w.refused = p.undecided(), p.refused()
	}
	w.undecided = p.addUncalled(w.undecided)
	work := p.occasional()
	w.paused, w.batched, w.stampedes = p.pauses(), p.batched(), p.stampedes(work)
	translated := p
	p, base, others := p.bothWays(base, work)
	for i, v := range p.recorded() {
		if c := check(p.points[i].name, v, base.visits[i], base.stuck, d); c.Visits >= LeastVisits {
			w.checks[c.Point] = c
		}
	}
	for _, r := range p.busiest(s.config.Regions, s.config.Only) {
		w.regions = append(w.regions, rec.regions[r])
	}
	if !w.isNear() {
		s.leave(w, p, &base)
		return w, nil
	}
	others = slices.Concat(alternatives(rec, whole, translated, plain, w, min(max(MaxDeviation, p.misses(&base, d)), mostMissed)), openly, others)
	for _, other := range p.resized() {
		others = append(others, alternative{p: other, base: simulate(other, change{}, d)})
	}
	all := append(slices.Clip(others), p.undisturbed(w, d)...)
	steps, err := s.simulate(ctx, w, p, &base, all)
	if err != nil {
		return nil, err
	}
	if err := s.hold(ctx, w, p, all, steps); err != nil {
		return nil, err
	}
	return w, s.restructure(ctx, w, p, &base, others)
}

// known reports whether the recording has what goroutines waited for, but for a small part of the time.
func (w *window) known() bool { return !w.stock && w.ordered <= mostOrdered }

// isNear reports whether the replay of nothing changed comes near to what was recorded of any progress point.
func (w *window) isNear() bool {
	for _, c := range w.checks {
		if !c.Stuck && c.miss() <= mostMissed {
			return true
		}
	}
	return false
}

// leave takes all that is asked of a window for asked, and simulates nothing: where nothing changed was far off at all progress points, the
// window has no part in the answers, other than that it missed.
func (s *Study) leave(w *window, p *program, base *outcome) {
	all := s.asks(w.regions)
	for _, q := range s.questions(p) {
		if _, _, ok := q.on(p); ok {
			all = append(all, ask{q.region(), 0, false})
		}
	}
	for _, a := range all {
		w.asked[a] = true
		for i := range p.points {
			if _, ok := w.checks[p.points[i].name]; ok {
				w.sample(question{region: a.region, speedup: a.speedup, point: p.points[i].name}, base, base, i, p.rec.End-p.rec.Start)
			}
		}
	}
}

// telling reports whether any progress point has visits enough for an answer. Where each request has a name of its own, none has, and all
// that would be computed is not asked for.
func (r *Recording) telling() bool {
	p := program{rec: r}
	p.findPoints()
	return slices.ContainsFunc(p.recorded(), func(v []int64) bool { return len(v) >= LeastVisits })
}

// faithful translates a recording so that the replay of nothing changed meets it as well as can be: with shared objects
// inferred from which goroutine woke which, or without, and if need be without the time in which the program stood still. Plain is
// the same translation without what is inferred, which may have to be settled; nil where the operations are recorded or completed.
func faithful(rec *Recording, whole *completion, w *window) (chosen, plain *program, base outcome) {
	if whole != nil {
		d := rec.End - rec.Start
		for _, r := range append([]*Recording{whole.likely}, whole.others...) {
			p := newProgram(r, true)
			known, _ := p.shareConnections() // where requests come to a pool only then as they did
			for _, p := range []*program{p, known} {
				if p == nil {
					continue
				}
				if o := simulate(p, change{}, d); p.misses(&o, d) <= MaxDeviation {
					w.inferred, w.whole = true, true
					return p, nil, o
				}
			}
		}
	}
	best := math.Inf(1)
	for _, r := range []func() *Recording{func() *Recording { return rec }, rec.moving} {
		r := r()
		if r == nil {
			break
		}
		var draft *program // where the other translation is mostly asked for, too: a copy takes memory
		if !rec.operated() {
			draft = translate(r)
		}
		for _, infer := range []bool{true, false} {
			p := draft
			switch {
			case draft == nil:
				p = translate(r)
			case infer:
				p = draft.rewritten()
			}
			p.settle(infer)
			if !infer && p.ordered() > mostOrdered { // an order is met in any case
				continue
			}
			o := simulate(p, change{}, r.End-r.Start)
			missed := p.misses(&o, r.End-r.Start)
			if missed < best || chosen == nil {
				best, chosen, plain, base, w.inferred = missed, p, draft, o, infer
				w.stalled = time.Duration((rec.End - rec.Start) - (r.End - r.Start))
			}
			if missed <= MaxDeviation {
				return chosen, plain, base
			}
			p.compiled, p.spare = nil, nil // to have less in memory
			if infer && !p.inferred {      // it would be the same without
				break
			}
		}
	}
	return chosen, plain, base
}

// mostOrdered is which part of the window goroutines may wait in an order that is kept since nothing else met the recording.
const mostOrdered = 0.1

// misses returns by which part an outcome of nothing changed misses the recording, at the progress point where that is most.
func (p *program) misses(o *outcome, d int64) float64 {
	worst := 0.0
	for i, v := range p.recorded() {
		if c := check("", v, o.visits[i], o.stuck, d); c.Visits >= LeastVisits {
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
			p.rec.restsAt(i)
			e := &p.rec.events[i]
			k := int32(-1)
			switch e.kind {
			case evVisit:
				k = e.ref
			case evClose:
				k = p.pointOf[e.ref]
			}
			if k >= 0 {
				p.visited[k] = append(p.visited[k], e.at-p.rec.Start)
			}
		}
	}
	return p.visited
}

// operated reports whether operations on locks and channels are in the recording.
func (r *Recording) operated() bool {
	return slices.ContainsFunc(r.events, func(e event) bool { return e.kind == evOperate })
}

func (w *window) sample(q question, base, o *outcome, i int, d int64) {
	strayed := o.straying(base)
	q.metric = Throughput
	w.effects[q] = sample{before: period(base.visits[i], d), after: period(o.visits[i], d), least: math.NaN(), most: math.NaN(), soon: math.NaN(), late: math.NaN(), visits: len(base.visits[i]), strayed: strayed, later: o.later(base), roused: o.rousing(base, i), broken: o.broken > base.broken}
	if x := w.effects[q]; q.speedup > 0 && !x.broken && !math.IsNaN(x.after) && !o.crowdsOut(base) {
		w.harm[q.point] = max(w.harm[q.point], -x.reduction()-max(0, o.lagging(i)-base.lagging(i))/x.before)
	}
	before, after := base.settled(i), o.settled(i)
	for _, l := range quantiles {
		if len(base.durations[i]) < l.least {
			continue
		}
		q.metric = l.metric
		w.effects[q] = sample{before: quantile(before, l.at), after: quantile(after, l.at), least: math.NaN(), most: math.NaN(), soon: math.NaN(), late: math.NaN(), visits: len(base.durations[i]), strayed: strayed, later: o.later(base), broken: o.broken > base.broken}
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

// settled returns the durations at a progress point but for the first tenth of them.
func (o *outcome) settled(point int) []int64 {
	return o.durations[point][len(o.durations[point])/10:]
}

// busiest returns the regions with the most time of their own.
func (p *program) busiest(n int, only func(Region) bool) []int32 {
	own := make([]int64, len(p.rec.regions))
	for i := range p.lists {
		for k := range p.lists[i].ops {
			if o := &p.lists[i].ops[k]; o.kind == opRun || o.kind == opOut || o.kind == opSend {
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
