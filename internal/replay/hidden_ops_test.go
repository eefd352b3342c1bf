package replay

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// A stockProgram runs while a trace is recorded that has no marks but those of spans.
type stockProgram struct {
	ids atomic.Uint64
	ops atomic.Int64 // acquisitions, or sends
}

func (p *stockProgram) span(name string, d time.Duration) {
	id := p.ids.Add(1)
	mark.LogStart("shop", mark.Span{ID: id, SpanID: id, Name: name})
	time.Sleep(d)
	mark.LogEnd("shop", id, "")
}

func (p *stockProgram) recorded(t testing.TB, run func()) *replaytrace.Recording {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	run()
	trace.Stop()
	rec, err := replaytrace.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// side runs n goroutines and waits for them.
func side(n int, run func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { run(i) })
	}
	all.Wait()
}

const tenth = 100 * time.Microsecond

// unseenPrograms are programs of which each operation on a lock or a channel can be inferred,
// though most do not wait.
var unseenPrograms = map[string]func(p *stockProgram){
	"a lock": func(p *stockProgram) {
		var mu sync.Mutex
		side(3, func(i int) {
			for n := range 80 {
				p.span("outside", tenth*time.Duration(3+(n+i)%5))
				mu.Lock()
				p.ops.Add(1)
				p.span("inside", 2*tenth)
				mu.Unlock()
				mark.LogProgress("done")
			}
		})
	},
	"places": func(p *stockProgram) {
		places := make(chan int, 2)
		side(5, func(i int) {
			for n := range 60 {
				p.span("outside", tenth*time.Duration(2+(n+i)%6))
				places <- i
				p.ops.Add(1)
				p.span("inside", 2*tenth)
				<-places
				mark.LogProgress("done")
			}
		})
	},
	"connections": func(p *stockProgram) {
		free := make(chan int, 2)
		free <- 1
		free <- 2
		side(5, func(i int) {
			for n := range 60 {
				p.span("outside", tenth*time.Duration(2+(n+i)%6))
				c := <-free
				p.span("inside", 2*tenth)
				p.ops.Add(1)
				free <- c
				mark.LogProgress("done")
			}
		})
	},
	"places for goroutines to be started": func(p *stockProgram) {
		for range 40 {
			places := make(chan bool, 2)
			var all sync.WaitGroup
			for i := range 5 {
				places <- true
				p.ops.Add(1)
				all.Go(func() {
					p.span("task", tenth*time.Duration(1+i))
					<-places
				})
			}
			all.Wait()
			mark.LogProgress("done")
		}
	},
	"a lock for readers and writers": func(p *stockProgram) {
		var mu sync.RWMutex
		side(5, func(i int) {
			for n := range 80 {
				mu.RLock()
				p.ops.Add(1)
				p.span("read", tenth*time.Duration(2+(n+i)%4))
				mu.RUnlock()
				if (n+i)%3 == 0 {
					p.span("load", 3*tenth)
					mu.Lock()
					p.ops.Add(1)
					p.span("write", 2*tenth)
					mu.Unlock()
				}
				mark.LogProgress("done")
			}
		})
	},
	"a lock for one writer": func(p *stockProgram) {
		var mu sync.RWMutex
		var over atomic.Bool
		side(5, func(i int) {
			if i == 0 {
				for range 60 {
					p.span("rest", 20*tenth)
					mu.Lock()
					p.ops.Add(1)
					p.span("write", 20*tenth)
					mu.Unlock()
				}
				over.Store(true)
				return
			}
			for n := 0; !over.Load(); n++ {
				mu.RLock()
				p.ops.Add(1)
				p.span("read", 10*tenth*time.Duration(2+(n+i)%3))
				mu.RUnlock()
				p.span("answer", 10*tenth)
				mark.LogProgress("done")
			}
		})
	},
	"once": func(p *stockProgram) {
		for range 40 {
			var once sync.Once
			side(3, func(i int) {
				p.span("before", tenth*time.Duration(1+3*i))
				once.Do(func() { p.span("make", 20*tenth) })
				p.ops.Add(1)
				p.span("after", tenth)
			})
			mark.LogProgress("done")
		}
	},
}

// slow skips a test that takes seconds: traces are recorded one after the other.
func slow(t *testing.T, why string) {
	t.Helper()
	if !*thorough.Rounds {
		t.Skip(why + ": -long")
	}
}

// tried fails if a check of what a real program left in its trace does so each of five times: on a
// machine that is busy with other things goroutines stand still where they never would.
func tried(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for range 5 {
		if err = check(); err == nil {
			return
		}
	}
	t.Error(err)
}

// TestUnseen infers the operations on locks and channels that are not in a trace of stock Go, and
// counts them.
func TestUnseen(t *testing.T) {
	for name, run := range unseenPrograms {
		t.Run(name, func(t *testing.T) {
			tried(t, func() error {
				p := &stockProgram{}
				rec := p.recorded(t, func() { run(p) })
				return countedAbout(rec, float64(p.ops.Load()))
			})
		})
	}
}

// countedAbout is an error unless about n operations are inferred, in the order of time.
func countedAbout(rec *replaytrace.Recording, n float64) error {
	told := hidden.Completed(rec)
	if told == nil {
		return errors.New("the operations are not told")
	}
	counts := map[mark.Op]int{}
	last := int64(0)
	for _, e := range told.Likely.Events {
		if e.At < last {
			return fmt.Errorf("event at %d ns behind one at %d ns", e.At, last)
		}
		last = e.At
		if e.Kind == replaytrace.EvOperate {
			counts[e.What]++
		}
	}
	begun, over := float64(counts[mark.Lock]+counts[mark.Send]+counts[mark.ReadLock]+counts[mark.WriteLock]), float64(counts[mark.Unlock]+counts[mark.Receive]+counts[mark.ReadUnlock]+counts[mark.WriteUnlock])
	if begun < 0.95*n || begun > 1.05*n || over < 0.95*n || over > 1.05*n {
		return fmt.Errorf("told %v operations and %v that end them, %v, want %v of each", begun, over, counts, n)
	}
	return nil
}

// TestUnseenIsNotTold leaves alone what cannot be inferred: how much room a channel has that is
// never found empty.
func TestUnseenIsNotTold(t *testing.T) {
	for name, run := range map[string]func(p *stockProgram){
		"a channel that is always full": func(p *stockProgram) {
			jobs := make(chan int, 3)
			for i := range cap(jobs) {
				jobs <- i
			}
			var consumer sync.WaitGroup
			consumer.Go(func() {
				for range jobs {
					p.span("consume", 3*tenth)
					mark.LogProgress("done")
				}
			})
			side(4, func(i int) {
				for range 40 {
					p.span("produce", tenth)
					jobs <- i
				}
			})
			close(jobs)
			consumer.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &stockProgram{}
			rec := p.recorded(t, func() { run(p) })
			if whole := hidden.Completed(rec); whole != nil {
				t.Errorf("%d objects are told, want none", whole.Likely.Objects)
			}
		})
	}
}

// TestUnseenOfMarked leaves recordings alone that have marks of operations.
func TestUnseenOfMarked(t *testing.T) {
	rec := recorded(t, shares(true), 201*ms)
	if hidden.Completed(rec) != nil {
		t.Error("operations are told beside those that are marked")
	}
}

// BenchmarkUnseen infers operations.
func BenchmarkUnseen(b *testing.B) {
	p := &stockProgram{}
	rec := p.recorded(b, func() { unseenPrograms["connections"](p) })
	b.ReportAllocs()
	for b.Loop() {
		if hidden.Completed(rec) == nil {
			b.Fatal("nothing is told")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rec.Events)), "ns/event")
}

// TestReleasesToThoseWhoWaitedBefore finds the operations of a goroutine that has a lock but once,
// and neither waits for it in the window nor gives it to one that began to wait there. Without them
// the lock would be free meanwhile, and be given back by one that does not have it.
func TestReleasesToThoseWhoWaitedBefore(t *testing.T) {
	const first, once, last, atLock, atUnlock = 1, 2, 3, 1, 2
	b := replaytrace.NewRecorder(0, 2)
	b.R.Sites = append(b.R.Sites, replaytrace.Site{Frames: []replaytrace.Frame{{Func: "sync.(*Mutex).Lock"}, {Func: "main.work"}}}, replaytrace.Site{Frames: []replaytrace.Frame{{Func: "sync.(*Mutex).Unlock"}, {Func: "main.work"}}})
	b.Running(0, first)
	b.Waiting(0, once)
	b.Waiting(0, last)
	at := int64(0)
	gives := func(to, by int64, waits int32) {
		at += ms
		b.Add(replaytrace.Event{Kind: replaytrace.EvReady, At: at, G: b.Goroutine(to), By: b.Goroutine(by), Site: atUnlock})
		b.Add(replaytrace.Event{Kind: replaytrace.EvWait, At: at + 1, G: b.Goroutine(by), By: replaytrace.NoWaker, Site: waits, Arg: replaytrace.WaitMutex})
		b.Start(at+2, to, 0)
	}
	gives(once, first, atLock)
	gives(last, once, 0)
	for range hidden.LeastHandovers {
		gives(first, last, atLock)
		gives(last, first, atLock)
	}
	all := hidden.NewTraces(recorded(t, b, at+ms)).Parts()
	if len(all) != 1 || len(all[0].Meetings) != 2*hidden.LeastHandovers || len(all[0].Ends) != 2 {
		t.Fatalf("parts() = %+v, want one of %d meetings, with the 2 releases before", all, 2*hidden.LeastHandovers)
	}
}
