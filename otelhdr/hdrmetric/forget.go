package hdrmetric

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
)

// producers is a set of a provider's producers.
type producers uint64

// maxProducers is how many there can be for sets of attributes to be forgotten.
const maxProducers = 63

// manySeries is from how many series on they are forgotten where there is no limit.
const manySeries = 1000

// forget notes what a producer has found when it read the series of s, of which the silent ones had
// nothing new, and forgets series that are silent for all producers if there are many.
//
// A series to be forgotten first loses its place in the table, so that no record finds it. Writers
// that have found it just before may still be recording, and what they record is not lost: until
// every producer has read the series once more, it is in leaving, and comes back if its attributes
// do. So what is recorded is lost only if a goroutine stops between its look-up and its record for
// as long as all readers take for that.
//
// The series of bound instruments and of values without attributes stay.
func (s *stream) forget(producer int, all, leaving, silent []*series) {
	if len(s.provider.producers) > maxProducers {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	self := producers(1) << producer
	for _, x := range leaving { // and not any that left since they were read
		x.read |= self
	}
	s.leaving = slices.DeleteFunc(s.leaving, func(x *series) bool { return x.read == s.everyone() })
	if !s.provider.forgets {
		return
	}
	for _, x := range all {
		x.silent &^= self
	}
	for _, x := range silent {
		x.silent |= self
	}
	many := s.provider.config.cardinalityLimit / 2
	if s.provider.config.cardinalityLimit <= 0 {
		many = manySeries
	}
	if len(s.all) > many {
		s.leave(func(x *series) bool { return x.silent == s.everyone() && !x.bound && x != s.plain.Load() })
	}
}

// everyone is the set of all producers.
func (s *stream) everyone() producers { return producers(1)<<len(s.provider.producers) - 1 }

// leave takes those series that leaves is true of from the table. The caller holds mu.
func (s *stream) leave(leaves func(*series) bool) {
	if !slices.ContainsFunc(s.all, leaves) {
		return
	}
	var stay []*series
	s.table.keep(func(x *series) bool { return !leaves(x) })
	for _, x := range s.all {
		if !leaves(x) {
			stay = append(stay, x)
			continue
		}
		x.read = 0
		s.leaving = append(s.leaving, x)
		if x == s.beyond {
			s.beyond = nil
			s.full.Store(nil) // or sets too many would go on in it
		}
	}
	if x := s.plain.Load(); x != nil && leaves(x) {
		s.plain.Store(nil)
	}
	s.all = stay
	s.aliased.Store(int32(s.table.used - len(stay)))
	if !s.beyondLimit() {
		s.full.Store(nil)
	}
}

// takeBack returns the series that is leaving and has the attributes of key, which then is no
// longer leaving, or nil. The caller holds mu.
func (s *stream) takeBack(key attribute.Distinct) *series {
	i := slices.IndexFunc(s.leaving, func(x *series) bool { return x.set.Equivalent() == key })
	if i < 0 {
		return nil
	}
	x := s.leaving[i]
	s.leaving = slices.Delete(s.leaving, i, i+1)
	x.silent = 0
	x.ended.Store(nil)
	return x
}

// hold returns the series of a set of attributes and has it stay for good.
func (s *stream) hold(set attribute.Set) *series {
	for {
		x := s.series(set)
		s.mu.Lock()
		stays := slices.Contains(s.all, x) // it may have been forgotten meanwhile
		if stays {
			x.bound = true
			x.ended.Store(nil)
		}
		s.mu.Unlock()
		if stays {
			return x
		}
	}
}
