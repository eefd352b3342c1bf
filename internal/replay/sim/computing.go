package sim

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Between two ops that decide something a goroutine mostly computes in many regions, one after the
// other. How long that takes together is known but for the regions that are changed: a row of such
// ops is one instruction, and a simulation adds up only what is changed.

// A stint is one op of a row.
type stint struct {
	d   int64
	row int32
}

// rows are those of an executable.
type rows struct {
	took   []int64   // by row: how long it takes if nothing is changed, ns
	stints [][]stint // by set of regions
	all    float64   // how long all rows take together, ns
}

// join has an op that computes be one instruction with the one before, which does, too.
func (r *rows) join(before *instruction, o *model.Op) {
	if before.kind == model.OpRun {
		before.kind, before.arg = opRow, int32(len(r.took))
		r.took = append(r.took, 0)
		r.add(before.arg, before.d, before.set)
	}
	r.add(before.arg, o.D, o.Set)
}

func (r *rows) add(row int32, d int64, set uint16) {
	r.took[row] += d
	r.all += float64(d)
	r.stints[set] = append(r.stints[set], stint{d, row})
}

// addUp computes how long each row takes.
func (s *Simulation) addUp() {
	rows := &s.x.rows
	if rows.all*slices.Max(s.factors) >= longest { // a sum is at most that
		s.rows = zeros(s.rows, len(rows.took))
		for set, all := range rows.stints {
			for _, x := range all {
				s.rows[x.row] = min(s.rows[x.row]+min(s.scaled(x.d, uint16(set)), longest), longest)
			}
		}
		return
	}
	s.rows = append(s.rows[:0], rows.took...)
	for set, f := range s.factors {
		if f == 1 {
			continue
		}
		for _, x := range rows.stints[set] {
			s.rows[x.row] += s.scaled(x.d, uint16(set)) - x.d
		}
	}
}

// computes returns how long an instruction computes.
func (s *Simulation) computes(o *instruction) int64 {
	d := int64(0)
	if o.kind == opRow || o.kind == opRowOn {
		d = s.rows[o.arg]
	} else {
		d = s.scaled(o.d, o.set)
	}
	if f := s.Change.Pace; f > 0 {
		return int64(f * float64(d))
	}
	return d
}
