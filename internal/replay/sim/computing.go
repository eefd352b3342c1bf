package sim

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Between two ops that decide something a goroutine mostly computes in many regions, one after the
// other. How long that takes together is known but for the regions that are changed: a row of such
// ops is one instruction, and a simulation adds up only what is changed. A request with 20 spans is
// some 40 ops that compute, and one step of the simulation. Results are the same: between these ops
// nothing else can happen to the goroutine, except that its slice ends, which compute sees.

// A stint is one op of a row: for how long it computes, ns, and the number of the row.
type stint struct {
	d   int64
	row int32
}

// rows are those of an executable.
type rows struct {
	took   []int64   // by row: how long it takes if nothing is changed, ns
	stints [][]stint // by set of regions
	all    float64   // how long all rows take together, ns; a sum of int64 might overflow
}

// join has an op that computes be one instruction with the one before, which does, too. That
// becomes a row if it is not one yet: its arg is then the number of the row, and its d and set mean
// nothing any more.
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

// addUp computes how long each row takes with the factors of this simulation. What is not changed
// costs nothing: from the recorded sums only the stints of sets whose factor is not 1 are taken
// over, so that a question about one region of many takes time by the ops of that region. Each
// stint is rounded by itself, as a single op is, so that a row takes as long as its ops.
func (s *Simulation) addUp() {
	rows := &s.x.rows
	if rows.all*slices.Max(s.factors) >= longest { // a sum is at most that
		s.rows = zeros(s.rows, len(rows.took))
		for set, all := range rows.stints {
			// Factors are a user's, and may be of any size. Each sum is cut off, as each time is.
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

// computes returns how long an instruction computes, ns. Change.Pace is of all computing alike:
// what goroutines seem to compute while other programs have their processor.
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
