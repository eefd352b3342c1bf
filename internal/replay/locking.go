package replay

// lockLetter returns which operation on a lock or a condition variable a stack is in, by its letter, 0 for none. An RWMutex has a Mutex of its own, so that
// the outermost frame of package sync counts.
func (s Site) lockLetter() byte {
	letter := byte(0)
	for _, f := range s.Frames {
		if !isInner(f.Func) {
			break
		}
		switch f.Func {
		case "sync.(*Mutex).Lock":
			letter = 'l'
		case "sync.(*Mutex).Unlock":
			letter = 'u'
		case "sync.(*RWMutex).Lock":
			letter = 'w'
		case "sync.(*RWMutex).Unlock":
			letter = 'x'
		case "sync.(*RWMutex).RLock":
			letter = 'a'
		case "sync.(*RWMutex).RUnlock":
			letter = 'b'
		case "sync.(*Cond).Wait":
			if letter == 0 { // else it gives its lock back, or takes it again
				letter = 'k'
			}
		case "sync.(*Cond).Signal":
			letter = 'n'
		case "sync.(*Cond).Broadcast":
			letter = 'm'
		}
	}
	return letter
}

// releases reports whether an operation may let another one go on.
func releases(release, acquire byte) bool {
	switch acquire {
	case 'l':
		return release == 'u'
	case 'w': // behind a writer, and behind the readers that were there before
		return release == 'x' || release == 'b'
	case 'a':
		return release == 'x'
	case 'k':
		return release == 'n' || release == 'm'
	}
	return false
}

// pairs returns for each place where an RWMutex is given back the place where it is taken: by the same goroutines, right before. Readers
// and writers may wait for each other and never among themselves.
func (t *traces) pairs() map[int32]int32 {
	taken := map[byte]byte{'x': 'w', 'b': 'a'}
	counts := map[int32]map[int32]int{}
	for g := range t.steps {
		last := map[byte]int32{}
		for _, s := range t.steps[g] {
			if s.action < 0 {
				continue
			}
			slot := t.actions[s.action].slot
			letter := t.slots[slot].letter
			last[letter] = slot
			if acquire, ok := last[taken[letter]]; ok {
				if counts[slot] == nil {
					counts[slot] = map[int32]int{}
				}
				counts[slot][acquire]++
			}
		}
	}
	pairs := map[int32]int32{}
	for release, of := range counts {
		best := int32(-1)
		for acquire, n := range of {
			if best < 0 || n > of[best] || n == of[best] && acquire < best {
				best = acquire
			}
		}
		pairs[release] = best
	}
	return pairs
}

// isLock reports whether a letter is one of an operation on a lock.
func isLock(letter byte) bool {
	switch letter {
	case 'l', 'u', 'w', 'x', 'a', 'b':
		return true
	}
	return false
}

// A lockState is what is known of a lock, as the operations on it are gone through in order.
type lockState struct {
	known   bool  // what it was at first no longer matters
	writer  int32 // the holder, -1 if it is free
	readers map[int32]bool
	waiting map[int32]bool // writers
}

// nobody stands for no goroutine: the holder of a lock that is free.
const nobody = -1

// contradicts follows an operation, or the beginning of a wait, and reports whether it cannot be where it is.
func (s *lockState) contradicts(e *incident) bool {
	wrong := false
	switch e.letter {
	case 'L', 'W':
		wrong = s.known && s.writer == nobody && len(s.readers) == 0 && len(s.waiting) == 0
		if e.letter == 'W' {
			s.waiting[e.g] = true
		}
	case 'A':
		wrong = s.known && s.writer == nobody && len(s.waiting) == 0
	case 'l', 'w':
		wrong = s.writer != nobody || len(s.readers) > 0
		s.known, s.writer = true, e.g
		clear(s.readers)
		delete(s.waiting, e.g)
	case 'a':
		wrong = s.writer != nobody
		s.readers[e.g] = true
	case 'u', 'x':
		wrong = s.known && s.writer != e.g
		if !wrong {
			s.known, s.writer = true, nobody
		}
	case 'b':
		wrong = s.known && !s.readers[e.g]
		delete(s.readers, e.g)
	}
	return wrong
}

// locks holds the operations against those of one lock: for one goroutine at a time, or for any that read.
func (x *explanation) locks() float64 {
	state := lockState{writer: nobody, readers: map[int32]bool{}, waiting: map[int32]bool{}}
	wrong, all := 0, x.incidents()
	for i := range all {
		x.t.rec.restsAt(i)
		if state.contradicts(&all[i]) {
			wrong++
		}
	}
	return float64(wrong) / float64(max(1, len(all)))
}
