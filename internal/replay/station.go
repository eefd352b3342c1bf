package replay

import "slices"

// A station is where goroutines serve that take elements of more than one channel, by a select statement or by looking at one of them
// first. Which channel the next element is of is decided anew, as is which element.
type station struct{ objects []int32 }

// stationOf returns the number of the station with these channels.
func (p *program) stationOf(objects []int32) int32 {
	objects = slices.Sorted(slices.Values(objects))
	i := slices.IndexFunc(p.stations, func(s station) bool { return slices.Equal(s.objects, objects) })
	if i < 0 {
		i = len(p.stations)
		p.stations = append(p.stations, station{objects})
	}
	return int32(i)
}

// servesBoth reports whether a list that works on elements of one channel may work on those of another one, too.
func (p *program) servesBoth(l *list, object int32) bool {
	objects := p.stations[l.station].objects
	return slices.Contains(objects, l.serves) && slices.Contains(objects, object)
}

// openStations leaves the channels of stations whose elements are worked on, and the stations that have more than one of them.
func (p *program) openStations() {
	if len(p.stations) == 1 {
		return
	}
	worked := map[int32]bool{}
	for i := range p.lists {
		for k := range p.lists[i].ops {
			if o := &p.lists[i].ops[k]; o.kind == opReceive && o.head {
				worked[o.arg] = true
			}
		}
	}
	for i := range p.stations {
		s := &p.stations[i]
		s.objects = slices.DeleteFunc(s.objects, func(object int32) bool { return !worked[object] })
	}
	for i := range p.lists {
		l := &p.lists[i]
		if objects := p.stations[l.station].objects; len(objects) < 2 || !slices.Contains(objects, l.serves) {
			l.station = 0
		}
	}
}

// attend takes the next element of a station, or has the runner wait for one.
func (s *simulation) attend(i, proc, station int32) bool {
	r := &s.runners[i]
	objects := s.p.stations[station].objects
	object := s.pick(objects, func(int32) bool { return true })
	if object == none {
		for _, object := range objects {
			s.channel(object).others.push(i)
		}
		r.attends = true
		return false
	}
	r.element, _ = s.receive(s.channel(object), proc)
	return true
}
