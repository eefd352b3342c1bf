package schedule

import (
	"time"

	"golang.org/x/exp/trace"
)

// processors follows which of Go's processors (Ps) are in use, and when none is left.
type processors struct {
	most    int // GOMAXPROCS, 0 before that is known
	running map[trace.ProcID]bool
	full    bool
	since   trace.Time // full
	// busy is the time in which none was left, ns, and waits the sum of the squares of its parts,
	// halved, ns².
	busy, waits float64
}

func (p *processors) transition(at trace.Time, s trace.StateTransition) {
	if p.running == nil {
		p.running = map[trace.ProcID]bool{}
	}
	if _, to := s.Proc(); to == trace.ProcRunning {
		p.running[s.Resource.Proc()] = true
	} else {
		delete(p.running, s.Resource.Proc())
	}
	p.look(at)
}

func (p *processors) metric(at trace.Time, m trace.Metric) {
	if m.Name == "/sched/gomaxprocs:threads" {
		p.most = int(m.Value.Uint64())
		p.look(at)
	}
}

func (p *processors) look(at trace.Time) {
	full := p.most > 0 && len(p.running) >= p.most
	if full == p.full {
		return
	}
	if p.full {
		p.end(at)
	}
	p.full, p.since = full, at
}

func (p *processors) end(at trace.Time) {
	lasted := float64(at - p.since)
	p.busy += lasted
	p.waits += lasted * lasted / 2
}

// finish is for the end of a window.
func (p *processors) finish(r *Report, last trace.Time) {
	if p.full {
		p.end(last)
		p.full = false
	}
	if r.Window > 0 {
		r.Busy, r.ProcessorWait = p.busy/float64(r.Window), time.Duration(p.waits/float64(r.Window))
	}
}
