package sim

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A station is where goroutines serve elements of several channels: a worker with a queue of urgent
// and one of usual jobs, a loop over requests and commands. Which channel is next is decided anew
// by what is there, as by a select statement, and so is whose work the goroutine does then. As two
// servers they would do both at once; as a list they would wait for the recorded channel while the
// other one is full. The three exported functions find stations in a program that is inferred, and
// attend simulates them.

// StationOf returns the number of the station with these channels, in any order. It adds that to
// p.Stations if there is none. Number 0 is no station, so that p.Stations must not be empty.
func StationOf(p *model.Program, objects []int32) int32 {
	objects = slices.Sorted(slices.Values(objects))
	i := slices.IndexFunc(p.Stations, func(s model.Station) bool { return slices.Equal(s.Objects, objects) })
	if i < 0 {
		i = len(p.Stations)
		p.Stations = append(p.Stations, model.Station{Objects: objects})
	}
	return int32(i)
}

// ServesBoth reports whether a list that works on elements of one channel may work on those of
// another one, too.
func ServesBoth(p *model.Program, l *model.List, object int32) bool {
	objects := p.Stations[l.Station].Objects
	return slices.Contains(objects, l.Serves) && slices.Contains(objects, object)
}

// OpenStations leaves the channels of stations whose elements are worked on, and the stations that
// have more than one of them. A channel whose elements no receive takes as work, such as that of a
// ticker or of a shutdown, would have the goroutine take an element with no work behind it.
func OpenStations(p *model.Program) {
	if len(p.Stations) == 1 {
		return
	}
	worked := map[int32]bool{}
	for _, o := range p.All() {
		if o.Kind == model.OpReceive && o.Head {
			worked[o.Arg] = true
		}
	}
	for i := range p.Stations {
		s := &p.Stations[i]
		s.Objects = slices.DeleteFunc(s.Objects, func(object int32) bool { return !worked[object] })
	}
	for i := range p.Lists {
		l := &p.Lists[i]
		if objects := p.Stations[l.Station].Objects; len(objects) < 2 || !slices.Contains(objects, l.Serves) {
			l.Station = 0
		}
	}
}

// attend takes the next element of a station, or has the runner wait for one, and reports whether
// it has one. A runner that waits is in the queues of all channels, as in pass 2 of selectgo in
// runtime/select.go; send takes it out of the others (chosen). A sender that waits for room goes on
// by proc, or, with -1, as if by something outside.
func (s *Simulation) attend(i, proc, station int32) bool {
	r := &s.runners[i]
	objects := s.P.Stations[station].Objects
	object, n := s.pick(objects, func(int32) bool { return true })
	if n == 0 {
		for _, object := range objects {
			s.channel(object).others.push(i)
		}
		r.attends = true
		return false
	}
	r.element, _ = s.receive(s.channel(object), proc)
	return true
}
