package replay

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A Study holds windows of one program against each other: the answer of each is one sample of the
// answer of all. It keeps the answers of each window, some 200 bytes for each question, and not its
// events. It is not safe for concurrent use.
type Study struct {
	config  StudyConfig
	windows []*window
	rest    func() error // of the last recording, nil for none
	// held are the regions that slow-downs by these levels are simulated of, see Hold. Levels are
	// parts of a span's own time, above 0.
	held   []trace.Region
	levels []float64
}

// A StudyConfig is what is asked of each window. The zero value asks for the usual.
type StudyConfig struct {
	// Speedups to ask about, each below 1; nil for 0.1, 0.25, 0.5, 0.75 and 0.95.
	Speedups []float64
	// Regions is the number of regions that are asked about in each window, those with the most
	// time of their own first; 0 for 16. A region among the first in some windows only has fewer
	// samples.
	Regions int
	// Only reports whether a region is asked about at all; nil for any.
	Only func(trace.Region) bool
	// Questions are asked about in each window, besides. Structure asks some more: about twice the
	// processors, and about the locks that goroutines wait for most often. Steps do not bound them.
	Questions []Question
	Structure bool
	// Steps is after how many steps of simulations, some 10 ns each, no further question is asked
	// of a window but left to the next ones; 0 for 64 million. A recording of a million events
	// takes about a million steps each time. One question is asked in any case.
	Steps int
	// Windows is how many windows are kept, the latest; 0 for 20. More make intervals narrower, and
	// older: a program whose load changes is no longer what they recorded.
	Windows int
	// Without has the names of rules to leave out, see [Rules].
	Without map[string]bool
}

// The usual questions, from what a release may bring to what all but takes the region away. At 0.1
// an answer can be held against a slow-down (docs/design/0010-slow-down.md).
var usualSpeedups = []float64{0.1, 0.25, 0.5, 0.75, 0.95}

// NewStudy returns a study without windows. A speed-up that is not below 1 is an error: at 1 a
// goroutine could go round and round in no time (see sim.MaxAtOnce).
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
		c.Regions = doubt.UsualRegions
	}
	if c.Steps == 0 {
		c.Steps = usualSteps
	}
	if c.Windows == 0 {
		c.Windows = doubt.UsualWindows
	}
	return &Study{config: c}, nil
}

// A window is what was found out about one recording. All of it is known once analyze is over, and
// answer (doubts.go) only reads it. Parts of the time are in [0, 1] of the window.
type window struct {
	origin   *trace.Origin // nil for a recording of its own
	length   time.Duration
	checks   map[string]doubt.Check
	effects  map[question]sample
	asked    map[ask]bool
	regions  []trace.Region
	stock    bool // it is of a program that marks no operations on locks and channels
	inferred bool
	whole    bool // the operations that the trace does not show were inferred
	trace.Conditions
	clock   int64         // how far clocks of several processes may be off, ns
	stalled time.Duration // in which the program stood still, and which is left out
	chosen  bool          // by how much is under way
	shares  map[trace.Region]float64
	unseen  map[trace.Region]float64 // of these, what spans that moved may have waited for
	// ordered is which part of the time goroutines waited in an order that is kept: see orderedIn;
	// or for locks of which it is not known which one each wait was for.
	ordered float64
	harm    map[string]float64 // by progress point: by which part of the period any region that is faster makes it longer, at most
	loops   map[string]float64 // by progress point: by which part the time between visits shrinks if all is faster
	// unhurried are replays of nothing changed in which processors that are woken up come back
	// sooner, and later; nil until one matters. See rouse.
	unhurried []sim.Outcome
	// uncalled is, by progress point, which part of the time goroutines waited for what timers call
	// that others have set.
	uncalled map[string]float64
	// refused has the progress points of goroutines whose offers are refused (load shedding).
	refused map[string]bool
	// balanced is, by progress point, which part of the time goroutines waited for servers that
	// they choose by their load.
	balanced map[string]float64
	// paused is, by progress point, how much longer requests are since some of them have pauses
	// (back-off, polling, deadlines).
	paused map[string]doubt.Delay
	// buckets are of tokens, nil for none.
	buckets *doubt.Buckets
	// timely is which part of the rounds' time work takes that is or may be done per time.
	timely float64
}

// A question is a cell of the table of answers: an ask, and where its effect is looked at.
type question struct {
	ask
	point  string
	metric Metric
}

// A sample is one window's answer: the mean time between visits or the quantile of durations,
// before and after the change, ns, and how many visits that is. Least and most are the smallest and
// the largest reduction of the alternatives, NaN without any.
type sample struct {
	before, after float64
	least, most   float64
	visits        int
	// strayed is which part of the select statements ended in ways of which the recording has no
	// example, more or less than with nothing changed. What the goroutine would do then is a guess.
	strayed float64
	// later is by how much the part of the select statements is larger that timers ended: what is
	// done then is known from fewer examples.
	later float64
	// rerouted is by which part there are more of the region's spans for each visit.
	rerouted float64
	// roused is by how many more processors were woken up for each visit than with nothing changed;
	// 0 for latencies.
	roused float64
	// soon and late are the largest and the smallest reduction if processors that are woken up come
	// back sooner or later, or other programs leave other processors alone; NaN where that does not
	// matter.
	soon, late float64
	// broken means that the replay went on only since waits were given up, more than with nothing
	// changed.
	broken bool
}

// reduction is by which part what is looked at shrinks: below 0 where it grows, NaN where either
// side has too few visits.
func (s *sample) reduction() float64 { return 1 - s.after/s.before }

// A Metric is what of a progress point changes. Latencies are those of the spans that end there,
// but for the first tenth: as with throughput, a replay has to settle first.
type Metric string

// The metrics of a progress point.
const (
	Throughput Metric = "throughput" // the mean time between visits
	LatencyP50 Metric = "latency_p50"
	LatencyP90 Metric = "latency_p90"
	LatencyP99 Metric = "latency_p99"
)

// quantiles are of durations. Least is how many of these there must be in the replay of nothing
// changed: 20 have 10 beyond the median, 50 have 5 beyond the p90, 200 have 2 beyond the p99.
var quantiles = []struct {
	metric Metric
	at     float64
	least  int
}{{LatencyP50, 0.5, 20}, {LatencyP90, 0.9, 50}, {LatencyP99, 0.99, 200}}

// beyond returns which part of the durations is longer than a metric's quantile, no part limits
// throughput.
func beyond(m Metric) float64 {
	for _, l := range quantiles {
		if l.metric == m {
			return 1 - l.at
		}
	}
	return math.Inf(1)
}

// Add reads one recording. It simulates the window once for each region and speed-up, as far as
// Steps allow, on the calling goroutine, and gives up when ctx ends. A window of which the replay
// of nothing changed is far off at all progress points is not simulated further. After an error the
// study is as it was before. Rec must not be changed meanwhile; its Without is set. If there are
// too many windows the oldest one goes.
func (s *Study) Add(ctx context.Context, rec *trace.Recording) (err error) {
	defer trace.Catch(&err)
	w, err := s.analyze(ctx, rec)
	if err != nil {
		return err
	}
	s.windows, s.rest = append(s.windows, w), rec.Rest
	if n := len(s.windows) - s.config.Windows; n > 0 {
		s.windows = slices.Delete(s.windows, 0, n)
	}
	return nil
}

// analyze finds out about one recording. The order of the steps matters: each program that may
// answer takes the place of the one before, and what bounds it must be made from that.
func (s *Study) analyze(ctx context.Context, rec *trace.Recording) (*window, error) {
	rec.Without = s.config.Without
	w := &window{origin: rec.Origin, stock: !rec.Operated(), length: time.Duration(rec.End - rec.Start), checks: map[string]doubt.Check{}, effects: map[question]sample{}, harm: map[string]float64{}, asked: map[ask]bool{}, clock: rec.ClockError()}
	// Where each request has a name of its own no progress point has visits enough for an answer,
	// and what would be computed is not asked for (TestAnalysisOfNamesThatDoNotComeAgain).
	if Visits(rec) < doubt.LeastVisits {
		w.Conditions = rec.Conditions
		return w, nil
	}
	// 1. A program that meets the recording: from marks of its own, with marks that are inferred,
	// with objects that are inferred from waits, or with the recorded order.
	near := nearest(rec, w)
	rec, p, base := near.rec, near.p, near.base
	w.Conditions, w.shares, w.unseen = p.Rec.Conditions, sharesOfRegions(p.Rec), unseenIn(p)
	// 2. The same with the clients of another process in place of their connections, where their
	// number is known. Else requests as they came are a bound: openly.
	d := p.Rec.End - p.Rec.Start
	var openly []doubt.Alternative
	if rec.Uses(ruleClients) {
		p, base, openly = doubt.OfClients(p, base)
	}
	// 3. What speaks against its answers.
	w.ordered, w.loops = orderedIn(p), findLoops(p, &base, d)
	work := w.doubtful(p)
	// 4. The same with occasional work done per time, where that is known. Marks of that are by the
	// places of ops, so that what is rewritten for alternatives is the translation before.
	translated := p
	var others []doubt.Alternative
	p, base, others, w.timely = doubt.BothWays(p, base, work)
	// 5. The self-check of the program that answers now.
	for i, v := range p.Recorded() {
		if c := doubt.CheckPoint(p.Points[i].Name, v, base.Visits[i], base.Stuck, d); c.Visits >= doubt.LeastVisits {
			w.checks[c.Point] = c
		}
	}
	for _, r := range busiest(p, s.config.Regions, s.config.Only) {
		w.regions = append(w.regions, rec.Regions[r])
	}
	if !w.isNear() {
		s.leave(w, p, &base)
		return w, nil
	}
	// 6. Bounds: other programs that meet the recording as well, or are as far off as this one.
	others = slices.Concat(alternatives(rec, near.whole, translated, near.plain, w, min(max(doubt.MaxDeviation, doubt.Misses(p, &base, d)), mostMissed)), openly, others)
	if rec.Uses(ruleBatchCost) {
		for _, other := range cond.Resized(p) {
			others = append(others, doubt.Alternative{P: other, Base: sim.Simulate(other, sim.Change{}, d)})
		}
	}
	// 7. The questions. Those about other builds have their own way to leave other programs alone.
	all := append(slices.Clip(others), undisturbed(p, w, d)...)
	steps, err := s.simulate(ctx, w, p, &base, all)
	if err != nil {
		return nil, err
	}
	if err := s.hold(ctx, w, p, all, steps); err != nil {
		return nil, err
	}
	return w, s.restructure(ctx, w, p, &base, all)
}

// doubtful notes what speaks against the answers of a window, and returns the work that only some
// rounds have.
func (w *window) doubtful(p *model.Program) (work []doubt.Occasional) {
	trace.Apply(p.Rec, doubtable{w, p}, doubts)
	if !p.Rec.Uses(ruleOccasional) {
		return nil
	}
	return doubt.FindOccasional(p)
}

// known reports whether the recording has what goroutines waited for, but for a small part of the
// time. Then a faster region that makes the replay slower makes the program slower.
func (w *window) known() bool { return !w.stock && w.ordered <= mostOrdered }

// isNear reports whether the replay of nothing changed comes near to what was recorded of any
// progress point.
func (w *window) isNear() bool {
	for _, c := range w.checks {
		if !c.Stuck && c.Miss() <= mostMissed {
			return true
		}
	}
	return false
}

// checked yields the progress points of a program that have visits enough in the window, with their
// names.
func (w *window) checked(p *model.Program) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i := range p.Points {
			if _, ok := w.checks[p.Points[i].Name]; ok && !yield(i, p.Points[i].Name) {
				return
			}
		}
	}
}

// leave takes all that is asked of a window for asked, and simulates nothing: where nothing changed
// was far off at all progress points, the window has no part in the answers, other than that it
// missed.
func (s *Study) leave(w *window, p *model.Program, base *sim.Outcome) {
	all := s.asks(w.regions)
	for _, r := range s.held {
		for _, level := range s.levels {
			if slices.Contains(p.Rec.Regions, r) {
				all = append(all, ask{r, -level, true})
			}
		}
	}
	for _, q := range s.questions(p) {
		if _, _, ok := q.on(p); ok {
			all = append(all, q.ask())
		}
	}
	for _, a := range all {
		w.asked[a] = true
		for i, point := range w.checked(p) {
			w.sample(question{ask: a, point: point}, base, base, i, p.Rec.End-p.Rec.Start)
		}
	}
}

// sample books the answer of a change at progress point i, in all metrics, from the replays base
// and o without and with it, of d ns. Bounds are none yet: what was booked for the question before
// is gone. The order of durations in both changes.
func (w *window) sample(q question, base, o *sim.Outcome, i int, d int64) {
	none := math.NaN()
	x := sample{least: none, most: none, soon: none, late: none, strayed: o.Straying(base), later: o.Later(base), roused: o.Rousing(base, i), broken: o.Broken > base.Broken || stops(base, o, i)}
	q.metric, x.before, x.after, x.visits = Throughput, doubt.Period(base.Visits[i], d), doubt.Period(o.Visits[i], d), len(base.Visits[i])
	w.effects[q] = x
	// What only comes of later wake-ups is bounded by itself, and no contradiction.
	if q.speedup > 0 && !x.broken && !math.IsNaN(x.after) && !o.CrowdsOut(base) {
		w.harm[q.point] = max(w.harm[q.point], -x.reduction()-max(0, o.Lagging(i)-base.Lagging(i))/x.before)
	}
	before, after := base.Settled(i), o.Settled(i)
	x.roused, x.visits = 0, len(base.Durations[i])
	for _, l := range quantiles {
		if x.visits >= l.least {
			q.metric, x.before, x.after = l.metric, trace.Quantile(before, l.at), trace.Quantile(after, l.at)
			// Where part of the durations may be any other the quantile is between these.
			if part := w.paused[q.point].Missed; part > 0 {
				x.least, x.most = 1-trace.Quantile(after, min(1, l.at+part))/x.before, 1-trace.Quantile(after, max(0, l.at-part))/x.before
			}
			w.effects[q] = x
		}
	}
}

// stops reports whether a replay comes to a stop at progress point i where that of nothing changed
// goes on: goroutines wait for each other in an order that the change contradicts. A program whose
// lists are over sooner has no fewer visits.
func stops(base, o *sim.Outcome, i int) bool {
	return o.Stuck && 10*len(o.Visits[i]) < 9*len(base.Visits[i])
}

// busiest returns the n regions with the most time of their own, the most first: computing, waiting
// outside, and sending, together in all goroutines, while none of their spans has another one
// within. Those without any are left out, and those for which only reports false; nil is any.
func busiest(p *model.Program, n int, only func(trace.Region) bool) []int32 {
	own := make([]int64, len(p.Rec.Regions))
	for _, o := range p.All() {
		if o.Kind == model.OpRun || o.Kind == model.OpOut || o.Kind == model.OpSend {
			if set := p.Sets[o.Set]; len(set) > 0 {
				own[set[0]] += o.D
			}
			for _, x := range p.SharesOf(int(o.Set)) {
				own[x.Region] += int64(x.Part * float64(o.D))
			}
		}
	}
	for _, f := range p.Rec.Functions { // asked about, though a short window may have no sample of it
		own[f.Region] = max(own[f.Region], 1)
	}
	all := make([]int32, 0, len(own))
	for r, d := range own {
		if d > 0 && (only == nil || only(p.Rec.Regions[r])) {
			all = append(all, int32(r))
		}
	}
	slices.SortStableFunc(all, func(a, b int32) int { return cmp.Compare(own[b], own[a]) })
	return all[:min(n, len(all))]
}
