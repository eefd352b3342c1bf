package replay

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

const ms = 1_000_000

// isNear reports whether a figure is within a distance of another one; NaN never is.
func isNear(got, want, within float64) bool { return math.Abs(got-want) <= within }

// A script is what a test records, in any order.
type script []scripted

type scripted struct {
	at int64
	do func(at int64)
}

func (s *script) add(at int64, do func(at int64)) { *s = append(*s, scripted{at, do}) }

// play does all in order of time.
func (s script) play() {
	slices.SortStableFunc(s, func(x, y scripted) int { return cmp.Compare(x.at, y.at) })
	for _, x := range s {
		x.do(x.at)
	}
}

// recorded ends a recording at a time.
func recorded(t testing.TB, b *trace.Recorder, at int64) *trace.Recording {
	t.Helper()
	return b.Recording(at)
}

// shares has two goroutines share one element of a channel of one: each takes it for 2 ms, and
// gives it back. When the window begins the first one has it, and the second one waits for it
// without a mark.
func shares(marked bool) *trace.Recorder {
	b := trace.NewRecorder(0, 2)
	b.Waiting(0, 1)
	b.Waiting(0, 2)
	receive := func(at, g int64) {
		if at > 4*ms || marked {
			b.Operate(at, g, 'r', 1, 1)
		}
	}
	at := int64(0)
	for turn := range int64(100) {
		has, waits := 1+turn%2, 2-turn%2
		at += 2 * ms
		b.Ready(at, has, -1) // its work is done
		b.Start(at+100, has, 0)
		b.Visit(at+200, has, "done")
		b.Operate(at+300, has, 'S', 1, 1)
		b.Ready(at+400, waits, has)
		b.Operate(at+500, has, 's', 1, 1)
		b.Operate(at+600, has, 'R', 1, 1)
		b.Wait(at+700, has, 1)
		b.Start(at+800, waits, 0)
		receive(at+900, waits)
		b.Wait(at+1000, waits, 2)
		at += 1000
	}
	return b
}

// TestBefore replays goroutines that wait on a channel when the window begins, with and without a
// mark of it.
func TestBefore(t *testing.T) {
	for name, marked := range map[string]bool{"marked at its end": true, "not marked": false} {
		t.Run(name, func(t *testing.T) {
			rec := recorded(t, shares(marked), 201*ms)
			base, faster := Predict(rec, "done")
			if base < 1.95*ms || base > 2.05*ms || faster != base {
				t.Errorf("replayed with %v ns between visits, want 2.001 ms: one element, one goroutine at a time", base)
			}
			p := infer.NewProgram(rec, true)
			sends, receives := 0, 0
			for _, l := range p.Lists {
				for _, o := range l.Ops {
					switch o.Kind {
					case model.OpSend:
						sends++
					case model.OpReceive:
						receives++
					}
				}
			}
			if sends != 100 || receives != 100 {
				t.Errorf("%d sends and %d receives, want 100 of each", sends, receives)
			}
		})
	}
}

// TestBeforeTwice has a goroutine wait to send when the window begins, and send again as soon as it
// can go on, with a mark.
func TestBeforeTwice(t *testing.T) {
	const capacity = 2
	b := trace.NewRecorder(0, 2)
	for g := range int64(3) {
		b.Waiting(0, g)
	}
	gives := func(at, g int64) {
		b.Ready(at, g, -1)
		b.Start(at+100, g, 0)
		b.Ready(at+200, 2, g)
		b.Operate(at+300, g, 'r', 1, capacity)
		b.Wait(at+400, g, 1)
	}
	gives(ms, 0)
	b.Start(ms+500, 2, 1)
	b.Operate(ms+600, 2, 'S', 1, capacity)
	b.Wait(ms+700, 2, 2)
	gives(2*ms, 1)
	b.Start(2*ms+500, 2, 1)
	b.Operate(2*ms+600, 2, 's', 1, capacity)
	rec := recorded(t, b, 3*ms)
	p := infer.NewProgram(rec, false)
	sends := 0
	for _, o := range p.Lists[2].Ops {
		if o.Kind == model.OpSend {
			sends++
		}
	}
	if sends != 2 || p.Objects[0].Count != capacity {
		t.Errorf("%d sends, %d elements at first: want 2 of one that waits twice, and a full channel", sends, p.Objects[0].Count)
	}
}

// TestElementsThatWereThere has a sender find a channel of two full, of which a receiver has an
// element without having marked that: there was one element at first, as the first receive shows.
func TestElementsThatWereThere(t *testing.T) {
	const sender, receiver, capacity = 1, 2, 2
	b := trace.NewRecorder(0, 2)
	b.Running(0, sender)
	b.Running(0, receiver)
	b.Operate(10, receiver, 'r', 1, capacity)
	b.Operate(20, receiver, 'R', 1, capacity)
	b.Wait(30, receiver, 1)
	b.Ready(40, receiver, sender)
	for at := int64(41); at < 44; at++ {
		b.Operate(at, sender, 's', 1, capacity)
	}
	b.Operate(50, sender, 'S', 1, capacity)
	b.Wait(60, sender, 1)
	b.Start(70, receiver, 1)
	b.Operate(80, receiver, 'r', 1, capacity)
	b.Ready(90, sender, receiver)
	b.Operate(91, receiver, 'r', 1, capacity)
	b.Start(92, sender, 0)
	b.Operate(93, sender, 's', 1, capacity)
	p := infer.NewProgram(recorded(t, b, 100), false)
	if got := p.Objects[0].Count; got != 1 {
		t.Errorf("%d elements at first, want 1", got)
	}
}

// TestElementsOfSelectStatements has a goroutine wait in a select statement to send, and its
// element received before it has marked that: no element was there at first.
func TestElementsOfSelectStatements(t *testing.T) {
	const sender, receiver, capacity = 1, 2, 1
	b := trace.NewRecorder(0, 2)
	b.Running(0, sender)
	b.Running(0, receiver)
	b.Operate(10, sender, 's', 1, capacity)
	b.Operate(20, sender, 'Y', 0, 0)
	b.Wait(30, sender, 1)
	b.Operate(40, receiver, 'r', 1, capacity)
	b.Ready(41, sender, receiver)
	b.Operate(42, receiver, 'r', 1, capacity)
	b.Start(50, sender, 0)
	b.Operate(60, sender, 's', 1, capacity)
	p := infer.NewProgram(recorded(t, b, 100), false)
	channel := slices.IndexFunc(p.Objects, func(o model.ObjectInfo) bool { return o.Kind == model.ObjectChan })
	if got := p.Objects[channel].Count; got != 0 {
		t.Errorf("%d elements at first, want none", got)
	}
}

// TestSpansBeforeTheFirstOperation has a goroutine end a span that it waited in since before the
// window, and then take a lock without waiting: the wait was not for that.
func TestSpansBeforeTheFirstOperation(t *testing.T) {
	b := trace.NewRecorder(0, 2)
	b.Running(0, 2)
	b.Waiting(0, 1)
	b.Open(1, 1, 1, 0, trace.Region{Name: "work"})
	b.Ready(ms, 1, 2)
	b.Start(ms+1, 1, 1)
	b.Close(ms+1, 1, 1)
	b.Operate(ms+1, 1, 'l', 1, 0)
	b.Operate(2*ms, 1, 'u', 1, 0)
	l := infer.Translate(recorded(t, b, 3*ms)).Lists[1]
	if !l.Has(model.OpOpen) || !l.Has(model.OpClose) || !l.Has(model.OpWait) {
		t.Errorf("%+v, want the span and the wait", l.Ops)
	}
}

// TestSpansOfAWaitFromBefore has it receive within the span, by a wait from before the window.
func TestSpansOfAWaitFromBefore(t *testing.T) {
	b := trace.NewRecorder(0, 2)
	b.Running(0, 2)
	b.Waiting(0, 1)
	b.Open(1, 1, 1, 0, trace.Region{Name: "work"})
	b.Operate(ms-1, 2, 's', 1, 1)
	b.Ready(ms, 1, 2)
	b.Start(ms+1, 1, 1)
	b.Operate(ms+2, 1, 'r', 1, 1)
	b.Close(2*ms, 1, 1)
	l := infer.Translate(recorded(t, b, 3*ms)).Lists[1]
	waits := 0
	for _, o := range l.Ops {
		if o.Kind == model.OpWait {
			waits++
		}
	}
	if !l.Has(model.OpOpen) || waits != 1 {
		t.Errorf("%+v, want the span, and one wait: that of the receive", l.Ops)
	}
}
