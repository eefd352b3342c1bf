package infer

import (
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Finish closes the lists at the end of the window.
func Finish(b *model.Builder) {
	end := b.P.Rec.End
	for g := range b.G {
		f := &b.G[g]
		if f.State == model.Running || f.State == model.InSyscall {
			b.Advance(int32(g), end)
		}
	}
	trace.Apply(b.P.Rec, b, edges)
	for i := range b.P.Objects {
		o, lv := &b.P.Objects[i], &b.Levels[i]
		switch o.Kind {
		case model.ObjectRWMutex:
			o.Readers = -lv.Low
		case model.ObjectWaitGroup:
			o.Count = -lv.Low
		case model.ObjectChan:
			o.Count = -lv.Low
			if lv.Full >= 0 {
				o.Count = lv.Full
			}
			if o.Counted {
				o.Count = o.There
			}
			o.Count = min(o.Count, o.Capacity)
			if lv.Now-lv.Low > o.Capacity && lv.Sends <= 2 { // given up by its receiver
				o.Capacity = lv.Sends + 1
			}
		}
	}
	trace.Apply(b.P.Rec, b, places)
	for g := range b.P.Lists {
		b.P.Rec.RestsAt(g)
		b.P.Lists[g].Drop(func(o *model.Op) bool { return o.Kind == model.OpWake && b.Dead[o.Arg] })
	}
	trace.Apply(b.P.Rec, b, meetings)
}

// Settle finds what is inferred, or leaves it, and what follows from the rest. It does nothing the
// second time.
func Settle(p *model.Program, inferring bool) {
	if p.Settled {
		return
	}
	p.Settled = true
	if inferring {
		trace.Apply(p.Rec, p, objects)
	}
	trace.Apply(p.Rec, p, ways)
	for i := range p.Lists {
		p.Ops += len(p.Lists[i].Ops)
	}
}

// Excluded has locks around spans of regions that may exclude each other, nil if there are none.
func Excluded(p *model.Program, inferring bool) *model.Program {
	regions := hidden.Excluding(p.Rec)
	if regions == nil {
		return nil
	}
	rec := *p.Rec
	rec.Excluded = regions
	return NewProgram(&rec, inferring)
}

// NewProgram translates a recording, with locks and channels that are only inferred or without
// them.
func NewProgram(rec *trace.Recording, inferring bool) *model.Program {
	p := Translate(rec)
	Settle(p, inferring)
	return p
}

// Translate puts together what is recorded, which has to be settled.
func Translate(rec *trace.Recording) *model.Program {
	b := model.NewBuilder(rec)
	b.P.FindPoints()
	for i := range rec.Events {
		rec.RestsAt(i)
		before := b.Running
		b.Event(&rec.Events[i])
		b.Full(before, rec.Events[i].At)
	}
	Finish(b)
	return b.P
}
