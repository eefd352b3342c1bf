package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestLateForAClose has a goroutine close a channel after 5 ms, and another one receive from it
// after 6 ms, when it need not wait, and go on for 1 ms. If its work before takes 0.6 ms, it has to
// wait.
func TestLateForAClose(t *testing.T) {
	const (
		rounds  = 100
		period  = 8 * ms
		starter = 0
	)
	b := trace.NewRecorder(0, 2)
	b.Running(0, starter)
	var all script
	for round := range int64(rounds) {
		begins := round*period + 10
		channel, group := uint64(2*round+1), uint64(2*round+2)
		publishes, receives := 1+2*round, 2+2*round // goroutines
		work := func(at, g, until int64, name string) {
			all.add(begins+at, func(at int64) {
				b.Start(at, g, 1)
				b.Open(at+1, g, uint64(g), 0, trace.Region{Name: name})
				b.Wait(at+2, g, trace.WaitTimer)
			})
			all.add(begins+until, func(at int64) {
				b.Ready(at, g, -1)
				b.Start(at+1, g, 1)
				b.Close(at+2, g, uint64(g))
			})
		}
		all.add(begins, func(at int64) {
			b.Operate(at, starter, 'c', channel, 0)
			for n, g := range []int64{publishes, receives} {
				b.Operate(at+1+int64(3*n), starter, 'g', group, 1)
				b.Create(at+2+int64(3*n), g, starter)
			}
			b.Operate(at+10, starter, 'V', group, 0)
			b.Wait(at+11, starter, trace.WaitOther)
		})
		work(20, publishes, 5*ms, "publish")
		all.add(begins+5*ms+10, func(at int64) {
			b.Operate(at, publishes, 'z', channel, 0)
			b.Operate(at+1, publishes, 'g', group, -1)
			b.End(at+2, publishes)
		})
		work(40, receives, 6*ms, "prepare")
		all.add(begins+6*ms+10, func(at int64) {
			b.Operate(at, receives, 'e', channel, 0)
			b.Wait(at+1, receives, trace.WaitTimer)
		})
		all.add(begins+7*ms+10, func(at int64) {
			b.Ready(at-2, receives, -1)
			b.Start(at-1, receives, 1)
			b.Operate(at+1, receives, 'g', group, -1)
			b.Ready(at+2, starter, receives)
			b.End(at+3, receives)
			b.Start(at+4, starter, 0)
			b.Operate(at+5, starter, 'v', group, 0)
			b.Visit(at+6, starter, "done")
			b.Wait(at+7, starter, trace.WaitTimer)
		})
		all.add(begins+period-10, func(at int64) {
			b.Ready(at, starter, -1)
			b.Start(at+1, starter, 0)
		})
	}
	all.play()
	rec := recorded(t, b, rounds*period+ms)
	before, after := Predict(rec, "done", Speedup{trace.Region{Name: "prepare"}, 0.9})
	if got, want := 1-after/before, 1./8; !isNear(got, want, 0.01) {
		t.Errorf("90 %% faster: %.3f less time between visits, want %.3f: it has to wait", got, want)
	}
}

// TestWhoKnowsOfACloseWaitsForItNoMore has a goroutine come three times to a channel that is
// closed, as ctx.Err does behind ctx.Done. What a timer calls, as the deadline of a context does,
// comes a time after the timer was set: for its time in the recording none waits.
func TestWhoKnowsOfACloseWaitsForItNoMore(t *testing.T) {
	const closer, receiver = 1, 2
	for name, tt := range map[string]struct {
		timer bool
		waits int
	}{
		"a goroutine closes": {waits: 1},
		"a timer closes":     {timer: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, 2)
			b.Running(0, receiver)
			if tt.timer {
				b.Create(5, closer, -1)
				b.Start(6, closer, 1)
			} else {
				b.Running(0, closer)
			}
			b.Operate(10, closer, 'c', 1, 0)
			b.Operate(20, closer, 'z', 1, 0)
			for at := range int64(3) {
				b.Operate(30+at, receiver, 'e', 1, 0)
			}
			waits := 0
			for _, o := range infer.NewProgram(recorded(t, b, ms), true).All() {
				if o.Kind == model.OpWait {
					waits++
				}
			}
			if waits != tt.waits {
				t.Errorf("%d waits for the close, want %d", waits, tt.waits)
			}
		})
	}
}

// TestASendThatPanicsIsOver has a goroutine wait to send as the channel is closed, recover, and go
// on with other operations: they are its own, and not within the send.
func TestASendThatPanicsIsOver(t *testing.T) {
	const sender, closer = 1, 2
	b := trace.NewRecorder(0, 2)
	b.Running(0, sender)
	b.Running(0, closer)
	b.Operate(10, sender, 'S', 1, 0)
	b.Wait(20, sender, 0)
	b.Operate(30, closer, 'z', 1, 0)
	b.Ready(40, sender, closer)
	b.Start(50, sender, 0)
	b.Operate(60, sender, 'e', 1, 0)
	b.Operate(70, sender, 'l', 2, 0)
	b.Operate(80, sender, 'u', 2, 0)
	p := infer.Translate(recorded(t, b, 100))
	if l := p.Lists[0]; !l.Has(model.OpLock) || !l.Has(model.OpUnlock) {
		t.Errorf("%+v, want operations on the lock behind the send", l.Ops)
	}
}

// TestACloseWithinAWaitForACondition has a goroutine close a channel between two waits for a
// signal, with the lock in hand, and another one receive from it later: the first wait must not be
// taken for one in vain.
func TestACloseWithinAWaitForACondition(t *testing.T) {
	const waiter, signaller, late, lock, cond, channel = 1, 2, 3, 1, 2, 3
	b := trace.NewRecorder(0, 3)
	for g := range int64(3) {
		b.Running(0, g+1)
	}
	at := int64(0)
	awaits := func() {
		b.Operate(at+2, waiter, 'K', cond, 0)
		b.Wait(at+2, waiter, 0)
		at += ms
		b.Operate(at, signaller, 'n', cond, 0)
		b.Ready(at+1, waiter, signaller)
		b.Start(at+2, waiter, 0)
		b.Operate(at+2, waiter, 'k', cond, 0)
		b.Operate(at+2, waiter, 'l', lock, 0)
	}
	awaits()
	b.Operate(at+2, waiter, 'z', channel, 0)
	b.Operate(at+2, waiter, 'u', lock, 0)
	awaits()
	b.Operate(at+2, waiter, 'u', lock, 0)
	b.Operate(at+ms, late, 'e', channel, 0)
	p := infer.Translate(recorded(t, b, at+2*ms))
	waits := 0
	for _, o := range p.Lists[0].Ops {
		if o.Kind == model.OpWait {
			waits++
		}
	}
	if waits != 2 || !p.Lists[2].Has(model.OpWait) {
		t.Errorf("%d waits for a signal of %+v, want 2, and one for the close", waits, p.Lists[0].Ops)
	}
}
