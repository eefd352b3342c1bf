package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// What if the program were built in another way? A simulation decides anew which goroutine has a
// lock, a place in a channel or a processor. So there may be others of these: a lock less, a lock
// in parts, a channel with more room, another GOMAXPROCS. VPPB and Palladio predict the last one,
// see docs/accuracy.md. Bounds are weaker than for regions: no theorem keeps another structure from
// being slower, or faster by any part.

// QuestionScope is the scope of the [trace.Region] that stands for a [Question] in an [Answer]; its
// name is the question in words, [Question.String].
const QuestionScope = "question"

// A Question asks what would be if the program were built in another way. Locks and channels are
// named by patterns of where goroutines wait for them: a function, function:line or file.go:line,
// in which * stands for any characters. A name that several have means all of them. Exactly one of
// the fields is used, and Number with Split, Capacity and Workers: of several that are set it is
// the first one of Procs, Free, Split, Capacity and Workers. Nothing is checked: what is not in the
// program is not answered.
type Question struct {
	// Faster are regions that are faster at the same time, or slower where By is below 0.
	Faster []Speedup
	// Procs is another GOMAXPROCS, above 0, on as many processors of the machine. Two hyper-threads
	// of a core are not two of them.
	Procs int
	// Free names locks for which nothing waits any more, as if each goroutine had its own: the most
	// that any better locking could bring.
	Free string
	// Split names locks that become Number locks each, of which an operation takes any. Each
	// operation on them must be in the recording, or be inferred by package hidden.
	Split string
	// Capacity names channels that have room for Number elements. Where the elements are what
	// goroutines take and give back, as connections of a pool, these are as many. Each operation on
	// them must be in the recording.
	Capacity string
	// Workers names channels whose elements Number goroutines work on, each from a receive to the
	// next, as in a pool of workers.
	Workers string
	Number  int
}

// String returns the change in words. It identifies the question: two with the same words are one.
func (q Question) String() string {
	switch {
	case q.Procs > 0:
		return fmt.Sprintf("%d processors", q.Procs)
	case q.Free != "":
		return "no wait for the lock at " + q.Free
	case q.Split != "":
		return fmt.Sprintf("the lock at %s split in %d", q.Split, q.Number)
	case q.Capacity != "":
		return fmt.Sprintf("the channel at %s with room for %d", q.Capacity, q.Number)
	case q.Workers != "":
		return fmt.Sprintf("%d workers for the channel at %s", q.Number, q.Workers)
	}
	parts := make([]string, len(q.Faster))
	for i, f := range q.Faster {
		parts[i] = fmt.Sprintf("%s %.3g %% faster", f.Region, 100*f.By)
		if f.By < 0 {
			parts[i] = fmt.Sprintf("%s %.3g %% slower", f.Region, -100*f.By)
		}
	}
	return strings.Join(parts, " and ")
}

// byOf is how much faster regions are, of several the most; less than 0 where any is slower. Alike
// means that there are some, and all are faster or all are slower.
func byOf(changed []Speedup) (by float64, alike bool) {
	least, most := 0.0, 0.0
	for _, f := range changed {
		least, most = min(least, f.By), max(most, f.By)
	}
	if least < 0 {
		return least, most == 0
	}
	return most, len(changed) > 0
}

// changed returns the regions that are faster, or slower where By is below 0, in an ask: none where
// the program is built in another way.
func (s *Study) changed(a ask) []Speedup {
	if a.region.Scope != QuestionScope {
		return []Speedup{{a.region, a.speedup}}
	}
	for _, q := range s.config.Questions {
		if len(q.Faster) > 0 && q.ask() == a {
			return q.Faster
		}
	}
	return nil
}

// on returns the program and the change that the question is about, false if there is no such thing
// in the program. P is not changed: where operations are others the program returned is a copy.
func (q Question) on(p *model.Program) (*model.Program, sim.Change, bool) {
	switch {
	case q.Procs > 0:
		return p, sim.Change{Procs: q.Procs}, p.Rec.Processes == nil // of which there is one
	case q.Free != "":
		x, ok := freed(p, q.Free)
		return x, sim.Change{}, ok
	case q.Split != "":
		x, ok := doubt.Split(p, q.Split, q.Number)
		return x, sim.Change{}, ok
	case q.Capacity != "":
		x, ok := doubt.Roomier(p, q.Capacity, q.Number)
		return x, sim.Change{}, ok
	case q.Workers != "":
		x, ok := doubt.Staffed(p, q.Workers, q.Number)
		return x, sim.Change{}, ok
	}
	c := sim.Change{Factors: map[int32]float64{}}
	for _, f := range q.Faster {
		i := slices.Index(p.Rec.Regions, f.Region)
		if i < 0 {
			return p, c, false
		}
		c.Factors[int32(i)] = 1 - f.By
	}
	return p, c, true
}

// freed returns a copy of the program without what is done on locks where the pattern is, and
// reports whether there is any. A lock has one of three forms: operations of its own, where they
// are recorded or completed; an inferred channel whose one element is the lock; or single waits,
// each for a token that the goroutine gives which gave the lock back. Goroutines take no time where
// they waited. A receive whose goroutine serves stays, as its element is work, and no lock.
func freed(p *model.Program, pattern string) (*model.Program, bool) {
	x := p.Rewritten()
	objects, at := p.ObjectsAt(pattern), p.SitesAt(pattern)
	tokens := map[int32]bool{}
	found := false
	for _, o := range x.All() {
		switch o.Kind {
		case model.OpLock, model.OpUnlock, model.OpWriteLock, model.OpWriteUnlock, model.OpReadLock, model.OpReadUnlock:
			if objects[o.Arg] {
				o.Nothing()
				found = true
			}
		case model.OpReceive: // of a lock that is inferred
			if objects[o.Arg] && p.Objects[o.Arg].Inferred && o.Reason == trace.WaitMutex && !o.Head {
				o.Nothing()
				found = true
			}
		case model.OpSend:
			if objects[o.Arg] && p.Objects[o.Arg].Inferred && o.Reason == trace.WaitMutex {
				o.Nothing()
			}
		case model.OpWait:
			if o.Reason == trace.WaitMutex && at[o.Site] && p.Rec.Sites[o.Site].Locks() {
				tokens[o.Arg] = true
				o.Nothing()
				found = true
			}
		}
	}
	// Tokens that nothing waits for any more are not given; the lists before may have done so.
	for _, o := range x.All() {
		if o.Kind == model.OpWake && tokens[o.Arg] {
			o.Nothing()
		}
	}
	return x, found
}

// usualQuestions are the questions that would change most, as far as that shows beforehand: twice
// the processors, and no wait for the locks that goroutines wait for most often, the line of code
// that locks being the lock. Locks that are waited for less often than any inference takes are left
// out.
func usualQuestions(p *model.Program) []Question {
	waited := map[trace.Frame]int64{}
	for e := range p.Rec.All() {
		if e.Kind != trace.EvWait || e.Arg != trace.WaitMutex || !p.Rec.Sites[e.Site].Locks() {
			continue
		}
		if f, ok := p.Rec.Sites[e.Site].Caller(); ok {
			waited[f]++
		}
	}
	maps.DeleteFunc(waited, func(_ trace.Frame, n int64) bool { return n < hidden.LeastHandovers })
	frames := slices.SortedFunc(maps.Keys(waited), func(a, b trace.Frame) int {
		return cmp.Or(cmp.Compare(waited[b], waited[a]), cmp.Compare(a.Func, b.Func), cmp.Compare(a.Line, b.Line))
	})
	questions := []Question{{Procs: 2 * p.Rec.Procs}}
	for _, f := range frames[:min(len(frames), usualLocks)] {
		questions = append(questions, Question{Free: fmt.Sprint(f.Func, ":", f.Line)})
	}
	return questions
}

// usualLocks is how many locks are asked about without being named. Each costs a simulation, and
// one for each alternative, of every window.
const usualLocks = 3
