package infer

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A Turn is what a goroutine did for one request from outside: it worked, and then waited for the
// next one.
type Turn struct {
	Work, Wait float64     // ns
	next       model.Place // the wait
}

const (
	// LeastTurns is how many requests show how they come.
	LeastTurns = 50
	// A wait is longer by -1 for each part by which the work before it is, where requests come at
	// times of their own, and by 0 where their senders come again some time after an answer. It
	// must be in [steepest, flattest] with two standard errors to spare.
	steepest, flattest = -1.5, -0.5
	// OpensWithin is how many ops may be between a request and the span of its work.
	OpensWithin = 20
)

// arrive finds the goroutines to which requests come from outside at times of their own, whenever
// the ones before were answered, and has them come at these times in the replay.
func arrive(p *model.Program) {
	turns := make([][]Turn, len(p.Points))
	for l := range p.Lists {
		if p.Lists[l].Serves < 0 {
			turnsOf(p, int32(l), turns)
		}
	}
	for _, all := range turns {
		if len(all) < LeastTurns {
			continue
		}
		if by, err := Slope(all); !(by-2*err > steepest && by+2*err < flattest) {
			continue
		}
		for _, x := range all {
			p.Op(x.next).Arrives = true
		}
	}
}

// turnsOf adds the turns of one list, by the progress point that the spans of their work are.
func turnsOf(p *model.Program, list int32, turns [][]Turn) {
	l := &p.Lists[list]
	last, point := int32(-1), int32(-1) // the wait before, and what followed
	for k := range l.Ops {
		o := &l.Ops[k]
		switch {
		case o.Kind == model.OpOut && o.Reason == trace.WaitNetwork && o.Free:
			if last >= 0 && point >= 0 {
				before := l.Ops[last].At
				turns[point] = append(turns[point], Turn{float64(o.At - o.D - before), float64(o.D), model.Place{List: list, Op: int32(k)}})
			}
			last, point = int32(k), -1
		case o.Kind == model.OpOpen && last >= 0 && point < 0 && int32(k)-last < OpensWithin:
			if s := &p.Rec.Spans[o.Arg]; s.Root {
				point = p.PointOf[o.Arg]
			}
		}
	}
}

// Slope is by how much waits are longer for each part by which the work before them is, by least
// squares, and its standard error; 0 where the work is all the same.
func Slope(all []Turn) (by, err float64) {
	n := float64(len(all))
	var work, wait float64
	for _, x := range all {
		work += x.Work / n
		wait += x.Wait / n
	}
	var xx, xy, yy float64
	for _, x := range all {
		xx += (x.Work - work) * (x.Work - work)
		xy += (x.Work - work) * (x.Wait - wait)
		yy += (x.Wait - wait) * (x.Wait - wait)
	}
	const spread = 0.05 // standard deviation of the work, in parts of the mean
	if xx <= spread*spread*work*work*n {
		return 0, 0
	}
	by = xy / xx
	return by, math.Sqrt(max(0, yy-by*xy) / (n - 2) / xx)
}
