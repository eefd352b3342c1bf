package infer

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Where requests come from decides what a faster program brings. In a closed loop a client comes
// again some time after its answer, and faster work has more requests come. In an open loop they
// come when they come: faster work has the server wait for longer, and throughput stays. The two
// are confused easily, and answers are then wrong by all there is (Schroeder, Wierman and
// Harchol-Balter, "Open Versus Closed: A Cautionary Tale", NSDI 2006). A recording shows which it
// is by what follows long work:
//
//	closed   |work |  wait   |work            |  wait   |work |  wait ...      waits are alike
//	open     |work |  wait          |work            | wait|work |  wait ...  sums are alike
//
// So the wait behind is compared with the work before, over all requests of a progress point, by
// least squares. The slope is -1 where work and wait together are what is fixed, and 0 where they
// have nothing to do with each other. A window in which all work is alike shows nothing, and counts
// as closed, which is what lists do by themselves. TestLoop has both, TestSlope work that is alike.
//
// It is wrong where clients adapt: a load generator with a fixed rate for each connection is open
// as long as the server keeps up, and closed when it does not. A program that becomes slower would
// have its requests come before it is done with the one before; then the wait takes no time.

// A Turn is what a goroutine did for one request from outside: it worked, and then waited for the
// next one.
type Turn struct {
	Work, Wait float64     // ns, at least 0
	next       model.Place // the wait
}

const (
	// LeastTurns is how many requests show how they come: of few requests a slope with a small
	// error may be chance.
	LeastTurns = 50
	// A wait is longer by -1 for each part by which the work before it is, where requests come at
	// times of their own, and by 0 where their senders come again some time after an answer. It
	// must be in [steepest, flattest] with two standard errors to spare.
	steepest, flattest = -1.5, -0.5
	// OpensWithin is how many ops may be between a request and the span of its work. A span behind
	// more of them is taken for one of something else.
	OpensWithin = 20
)

// arrive finds the goroutines to which requests come from outside at times of their own, whenever
// the ones before were answered, and has them come at these times in the replay (Op.Arrives). It
// decides for all requests of a progress point together. Connections within the process have
// receives in place of their waits by then, and are not looked at.
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
		// Two standard errors: the slope is surely nearer to -1 than to 0.
		if by, err := Slope(all); !(by-2*err > steepest && by+2*err < flattest) {
			continue
		}
		for _, x := range all {
			p.Op(x.next).Arrives = true
		}
	}
}

// turnsOf adds the turns of one list, by the progress point that the spans of their work are. A
// turn is from the end of one wait for the network with no span open to the end of the next, and
// counts if its first span without a parent visits a progress point. The first wait of a list has
// no work before it.
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
// squares, and its standard error; both are 0 where the work is all the same, or there are too few
// turns. Each connection is held against its own means (the within estimator): one with long work
// that comes seldom, beside one with short work that comes often, would look like a closed loop
// (Simpson's paradox).
func Slope(all []Turn) (by, err float64) {
	type sums struct{ n, work, wait float64 }
	of := map[int32]*sums{} // by connection
	var work float64
	for _, x := range all {
		s := trace.Entry(of, x.next.List)
		s.n, s.work, s.wait = s.n+1, s.work+x.Work, s.wait+x.Wait
		work += x.Work
	}
	var xx, xy, yy float64
	for _, x := range all {
		s := of[x.next.List]
		a, b := x.Work-s.work/s.n, x.Wait-s.wait/s.n
		xx, xy, yy = xx+a*a, xy+a*b, yy+b*b
	}
	// Below this spread the slope would be that of noise.
	const spread = 0.05 // standard deviation of the work, in parts of the mean
	n, free := float64(len(all)), float64(len(all)-len(of)-1)
	if free < 1 || xx <= spread*spread*work*work/n {
		return 0, 0
	}
	// What the line leaves of the waits' sum of squares is yy - by xy.
	by = xy / xx
	return by, math.Sqrt(max(0, yy-by*xy) / free / xx)
}
