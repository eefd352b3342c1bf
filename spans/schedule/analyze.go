package schedule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
)

// maxNames bounds a report; regions of further names stand under "other".
const maxNames = 2000

// Analyze reads an execution trace, of a [Recorder] or of package runtime/trace. It ends with ctx.
// Besides the trace's own size it takes memory for each region and goroutine in it.
func Analyze(ctx context.Context, r io.Reader) (*Report, error) {
	a := newAnalysis()
	if err := a.read(ctx, r); err != nil {
		return nil, err
	}
	return a.finish(), nil
}

func (a *analysis) read(ctx context.Context, r io.Reader) error {
	counted := &countingReader{r: r}
	events, err := trace.NewReader(counted)
	if err != nil {
		return fmt.Errorf("schedule: trace: %w", err)
	}
	for {
		if a.report.Events%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("schedule: analysis of %d events: %w", a.report.Events, context.Cause(ctx))
			}
		}
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("schedule: trace: event %d: %w", a.report.Events, err)
		}
		a.event(&e)
	}
	a.report.Bytes = counted.n
	return nil
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

type regionKey struct{ scope, name string }

// sums are of the ended regions of one scope and name.
type sums struct {
	Region      // whose splits finish sets
	total, self times
}

// An analysis follows all goroutines and the regions that are open on them.
type analysis struct {
	report      Report
	first, last trace.Time
	goroutines  map[trace.GoID]*goroutine
	open        map[uint64]*region
	sums        map[regionKey]*sums
	moves       map[regionKey]*Region
	processors  processors
	senders     map[trace.Stack]bool // whether system calls there write to the network
	answered    map[line]bool        // select statements in which who had started others got answers
	waits       *waitTimes           // nil where they are not asked for
	// wall is what the clock on the wall showed at atWall, zero if that is not known.
	wall   time.Time
	atWall trace.Time
}

func newAnalysis() *analysis {
	return &analysis{
		goroutines: map[trace.GoID]*goroutine{},
		open:       map[uint64]*region{},
		sums:       map[regionKey]*sums{},
		moves:      map[regionKey]*Region{},
		senders:    map[trace.Stack]bool{},
		answered:   map[line]bool{},
	}
}

func (a *analysis) event(e *trace.Event) {
	if a.report.Events == 0 {
		a.first = e.Time()
	}
	a.report.Events++
	a.last = e.Time()
	switch e.Kind() {
	case trace.EventSync:
		if clocks := e.Sync().ClockSnapshot; clocks != nil && a.wall.IsZero() {
			a.wall, a.atWall = clocks.Wall, clocks.Trace
		}
	case trace.EventStateTransition:
		switch s := e.StateTransition(); s.Resource.Kind {
		case trace.ResourceGoroutine:
			a.transition(e.Time(), e.Goroutine(), s)
		case trace.ResourceProc:
			a.processors.transition(e.Time(), s)
		}
	case trace.EventMetric:
		a.processors.metric(e.Time(), e.Metric())
	case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
		// What a goroutine allocates it helps to collect.
		if r := e.Range(); r.Name == "GC mark assist" && r.Scope.Kind == trace.ResourceGoroutine {
			g := a.goroutine(r.Scope.Goroutine())
			g.advance(e.Time())
			g.assists = e.Kind() != trace.EventRangeEnd
		}
	case trace.EventLog:
		l := e.Log()
		if e.Goroutine() == trace.NoGoroutine {
			break
		}
		switch m, ok := mark.Parse(l.Category, l.Message, uint64(l.Task)); {
		case ok && m.Kind == mark.Start:
			g := a.goroutine(e.Goroutine())
			g.advance(e.Time())
			a.start(e.Time(), g, m.Span, l.Category)
		case ok && m.Kind == mark.End:
			g := a.goroutine(e.Goroutine())
			g.advance(e.Time())
			a.end(e.Time(), g, m.Span)
		case ok && m.Kind == mark.Progress:
			a.goroutine(e.Goroutine()).passes()
		}
	}
}

func (a *analysis) goroutine(id trace.GoID) *goroutine {
	g := a.goroutines[id]
	if g == nil {
		g = &goroutine{since: a.last}
		a.goroutines[id] = g
	}
	return g
}

func (a *analysis) transition(at trace.Time, by trace.GoID, s trace.StateTransition) {
	id := s.Resource.Goroutine()
	g := a.goroutine(id)
	from, to := s.Goroutine()
	if from == to && g.class != unknown {
		return // each generation of a trace, about a second, repeats all states, without their reasons
	}
	g.advance(at)
	switch other := a.goroutines[by]; {
	case by == trace.NoGoroutine && from == trace.GoNotExist:
		g.byTimer = true
	case by == trace.NoGoroutine:
		a.expire(g)
	case other == nil || by == id:
	case from == trace.GoNotExist:
		g.within = slices.Clone(other.serves())
		g.join(other)
	default:
		if other.byTimer {
			a.expire(g)
		}
		a.answer(other, g)
		if g.waitsForOthers() {
			other.advance(at)
			other.helps(g, int64(at-g.waits))
			other.ends(g, at)
		}
	}
	if g.class = classAfter(s); g.class >= firstReason {
		g.waits, g.site = at, line{}
	}
	if g.class == forSelect && g.starts != nil {
		g.site = lineOf(s.Stack)
	}
	switch {
	case g.class == inSyscall && len(g.open) > 0 && a.sends(s.Stack):
		g.wrote = at
	case slices.Contains(forAnswers, g.class):
		g.wrote = 0
	}
	if a.waits != nil {
		a.waits.turn(g, at, s.Stack, g.class)
	}
	if to == trace.GoNotExist {
		g.passes()
		delete(a.goroutines, id) // a region that is open on it can only end elsewhere
	}
}

func (a *analysis) start(at trace.Time, g *goroutine, s mark.Span, scope string) {
	if lost := a.open[s.ID]; lost != nil {
		// Its memory is used again, so it has ended while the recorder was off.
		a.close(lost, at)
		lost.lost = true
		a.report.Partial++
	}
	a.open[s.ID] = g.start(at, regionKey{scope, s.Name}, s)
}

// close takes a region off its goroutine, whose clocks must have been advanced.
func (a *analysis) close(r *region, at trace.Time) (total, self times) {
	total, self = r.close()
	if a.waits != nil {
		a.waits.closed(r, at)
	}
	return total, self
}

func (a *analysis) end(at trace.Time, g *goroutine, s mark.Span) {
	r := a.open[s.ID]
	if r == nil {
		a.report.Partial++
		return
	}
	delete(a.open, s.ID)
	if s.Name != "" {
		r.key.name = s.Name
	}
	r.goroutine.advance(at)
	interleaved := r.goroutine.open[len(r.goroutine.open)-1] != r
	total, self := a.close(r, at)
	if r.goroutine != g {
		a.move(r, g, at)
		return
	}
	if a.sums[r.key] == nil && len(a.sums) >= maxNames {
		r.key = regionKey{name: "other"}
		a.report.Folded++
	}
	of := a.sums[r.key]
	if of == nil {
		of = &sums{Region: Region{Scope: r.key.scope, Name: r.key.name}}
		a.sums[r.key] = of
	}
	of.Count++
	of.total.add(&total)
	of.self.add(&self)
	of.Awaited += time.Duration(r.awaited + r.sent())
	of.Helped += time.Duration(r.helped)
	of.Served += time.Duration(r.served)
	if r.overtaken() {
		of.Overtaken++
	}
	if r.timedOut() {
		of.TimedOut++
		g.timedOut = &of.Region
	}
	if interleaved {
		of.Interleaved++
	}
}

// move counts a region that another goroutine has ended than the one that began it.
func (a *analysis) move(r *region, by *goroutine, at trace.Time) {
	a.report.Moved++
	if last := by.moved; last.of != nil && r.began < last.at && at < last.held {
		last.of.HoldsUp++
	}
	if a.moves[r.key] == nil && len(a.moves) >= maxNames {
		r.key = regionKey{name: "other"}
	}
	of := a.moves[r.key]
	if of == nil {
		of = &Region{Scope: r.key.scope, Name: r.key.name}
		a.moves[r.key] = of
	}
	of.Count++
	const part = 10 // of its time
	by.moved = moved{of: of, at: at, held: at + (at-r.began)/part}
}

func (a *analysis) finish() *Report {
	report := &a.report
	report.Window = time.Duration(a.last - a.first)
	a.processors.finish(report, a.last)
	report.Open = uint64(len(a.open))
	report.Regions = make([]Region, 0, len(a.sums))
	for _, s := range a.sums {
		s.Total, s.Self = s.total.split(), s.self.split()
		report.Regions = append(report.Regions, s.Region)
	}
	for _, r := range a.moves {
		report.Moves = append(report.Moves, *r)
	}
	sortRegions(report.Regions)
	sortRegions(report.Moves)
	return report
}
