package replay

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/glob"
)

// QuestionScope is the scope of the [Region] that stands for a [Question] in an [Answer]; its name is what the question says.
const QuestionScope = "question"

// A Question asks what would be if the program were built in another way. Locks and channels are named by patterns of where
// goroutines wait for them: a function, function:line or file.go:line, in which * stands for any characters. A name that several
// have means all of them. Exactly one of the fields is used.
type Question struct {
	// Faster are regions that are faster at the same time, or slower where By is below 0.
	Faster []Speedup
	// Procs is another GOMAXPROCS, on as many processors.
	Procs int
	// Free names locks for which nothing waits any more, as if each goroutine had its own.
	Free string
	// Split names locks that become Into locks each, of which an operation takes any. Each operation on them must be in the recording.
	Split string
	Into  int
	// Capacity names channels that have room for Room elements. Where the elements are what goroutines take and give back, as
	// connections of a pool, Room is their number. Each operation on them must be in the recording.
	Capacity string
	Room     int
}

// String says the change in words.
func (q Question) String() string {
	switch {
	case q.Procs > 0:
		return fmt.Sprintf("%d processors", q.Procs)
	case q.Free != "":
		return "no wait for the lock at " + q.Free
	case q.Split != "":
		return fmt.Sprintf("the lock at %s split in %d", q.Split, q.Into)
	case q.Capacity != "":
		return fmt.Sprintf("the channel at %s with room for %d", q.Capacity, q.Room)
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

// on returns the program and the change that the question is about, false if there is no such thing in the program.
func (q Question) on(p *program) (*program, change, bool) {
	switch {
	case q.Procs > 0:
		return p, change{procs: q.Procs}, true
	case q.Free != "":
		x, ok := p.freed(q.Free)
		return x, change{}, ok
	case q.Split != "":
		x, ok := p.split(q.Split, q.Into)
		return x, change{}, ok
	case q.Capacity != "":
		x, ok := p.roomier(q.Capacity, q.Room)
		return x, change{}, ok
	}
	c := change{factors: map[int32]float64{}}
	for _, f := range q.Faster {
		i := slices.Index(p.rec.regions, f.Region)
		if i < 0 {
			return p, c, false
		}
		c.factors[int32(i)] = 1 - f.By
	}
	return p, c, true
}

// caller returns the frame that uses a lock or a channel, be it of package sync or of package causal.
func (s Site) caller() (Frame, bool) {
	for _, f := range s.Frames {
		if !slices.ContainsFunc(wrappers, func(prefix string) bool { return strings.HasPrefix(f.Func, prefix) }) {
			return f, true
		}
	}
	return Frame{}, false
}

var wrappers = []string{
	"runtime.", "sync.", "internal/sync.",
	"github.com/otelprof/otelprof/causal.", "github.com/otelprof/otelprof/causal/internal/", "github.com/otelprof/otelprof/internal/traced.",
}

// locks reports whether that is a wait for a lock, and not for a group of goroutines.
func (s Site) locks() bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool {
		return glob.Match("sync.(*Mutex).Lock*", f.Func) || glob.Match("sync.(*RWMutex).*Lock*", f.Func) || glob.Match("internal/sync.(*Mutex).*", f.Func)
	})
}

// isAt reports whether a site is where a pattern says.
func (p *program) isAt(site int32, pattern string) bool {
	f, ok := p.rec.sites[site].caller()
	line := fmt.Sprint(":", f.Line)
	return ok && (glob.Match(pattern, f.Func) || glob.Match(pattern, f.Func+line) || glob.Match(pattern, path.Base(f.File)+line))
}

// objectsAt returns which objects goroutines wait for where a pattern says.
func (p *program) objectsAt(pattern string) map[int32]bool {
	all := map[int32]bool{}
	for i := range p.lists {
		for k := range p.lists[i].ops {
			if o := &p.lists[i].ops[k]; o.site > 0 && o.kind >= opLock && p.isAt(o.site, pattern) {
				all[o.arg] = true
			}
		}
	}
	return all
}

// rewritten returns a copy of the program whose ops may be changed, and which may be settled.
func (p *program) rewritten() *program {
	x := *p
	x.compiled, x.spare = nil, nil
	x.lists = slices.Clone(p.lists)
	for i := range x.lists {
		p.rec.rests()
		x.lists[i].ops = slices.Clone(x.lists[i].ops)
	}
	x.objects, x.segments, x.sets = slices.Clone(p.objects), slices.Clip(p.segments), slices.Clip(p.sets)
	x.stations = slices.Clone(p.stations)
	for i := range x.stations {
		p.rec.restsAt(i)
		x.stations[i].objects = slices.Clone(x.stations[i].objects)
	}
	return &x
}

// nothing makes an op one that takes no time.
func (o *op) nothing() { o.kind, o.d, o.once, o.never = opRun, 0, false, false }

// freed leaves out what is done on locks.
func (p *program) freed(pattern string) (*program, bool) {
	x := p.rewritten()
	objects := p.objectsAt(pattern)
	tokens := map[int32]bool{}
	found := false
	for i := range x.lists {
		for k := range x.lists[i].ops {
			switch o := &x.lists[i].ops[k]; o.kind {
			case opLock, opUnlock, opWriteLock, opWriteUnlock, opReadLock, opReadUnlock:
				if objects[o.arg] {
					o.nothing()
					found = true
				}
			case opReceive: // of a lock that is inferred
				if objects[o.arg] && p.objects[o.arg].inferred && o.reason == waitMutex && !o.head {
					o.nothing()
					found = true
				}
			case opSend:
				if objects[o.arg] && p.objects[o.arg].inferred && o.reason == waitMutex {
					o.nothing()
				}
			case opWait:
				if o.reason == waitMutex && p.rec.sites[o.site].locks() && p.isAt(o.site, pattern) {
					tokens[o.arg] = true
					o.nothing()
					found = true
				}
			}
		}
	}
	for i := range x.lists {
		for k := range x.lists[i].ops {
			if o := &x.lists[i].ops[k]; o.kind == opWake && tokens[o.arg] {
				o.nothing()
			}
		}
	}
	return x, found
}

// usualQuestions are the questions that would change most, as far as that shows beforehand: twice the processors, and no wait for the
// locks that goroutines wait for longest.
func (p *program) usualQuestions() []Question {
	waited := map[Frame]int64{}
	for i := range p.rec.events {
		p.rec.restsAt(i)
		e := &p.rec.events[i]
		if e.kind != evWait || e.arg != waitMutex || !p.rec.sites[e.site].locks() {
			continue
		}
		if f, ok := p.rec.sites[e.site].caller(); ok {
			waited[f]++
		}
	}
	frames := make([]Frame, 0, len(waited))
	for f, n := range waited {
		if n >= leastHandovers {
			frames = append(frames, f)
		}
	}
	slices.SortFunc(frames, func(a, b Frame) int {
		return cmp.Or(cmp.Compare(waited[b], waited[a]), cmp.Compare(a.Func, b.Func), cmp.Compare(a.Line, b.Line))
	})
	questions := []Question{{Procs: 2 * p.rec.Procs}}
	for _, f := range frames[:min(len(frames), usualLocks)] {
		questions = append(questions, Question{Free: fmt.Sprint(f.Func, ":", f.Line)})
	}
	return questions
}

// usualLocks is how many locks are asked about without being named.
const usualLocks = 3
