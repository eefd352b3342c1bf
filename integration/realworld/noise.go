package main

import (
	"fmt"
	"time"
)

// quiet is the part of one processor that processes which do not belong here may take, from counts
// in steps of 10 ms for each processor.
const (
	quiet     = 0.05
	countedIn = 15 * time.Millisecond
)

// A noise tells how much processor time other processes took since a moment.
type noise struct {
	began      time.Time
	busy, ours time.Duration
	unknown    bool
}

// listen begins to count. Ours are this process, the program and its clients.
func (s *process) listen() noise {
	n := noise{began: time.Now()}
	busy, err := machineTime()
	n.busy, n.unknown = busy, err != nil
	for _, pid := range s.pids() {
		d, err := processTime(pid)
		n.ours += d
		n.unknown = n.unknown || err != nil
	}
	return n
}

// foreign returns the part of one processor that other processes had since n, and whether that is
// so much that nothing measured meanwhile counts. Where it is not known, it is none.
func (n noise) foreign(now noise) (part float64, loud bool) {
	if n.unknown || now.unknown {
		return 0, false
	}
	took := now.began.Sub(n.began)
	others := max(0, (now.busy-n.busy)-(now.ours-n.ours))
	return float64(others) / float64(took), others > countedIn+time.Duration(quiet*float64(took))
}

// A tally counts what was measured, and what had to be measured again.
type tally struct {
	left               time.Duration // for measuring again
	taken, again, kept int
	worst              float64 // what other processes took in one that was kept, of a processor
}

// undisturbed measures, and again while other processes disturb it and there is time left for that.
func (s *process) undisturbed(t *tally, measure func() error) error {
	t.taken++
	for {
		before := s.listen()
		if err := measure(); err != nil {
			return err
		}
		foreign, loud := before.foreign(s.listen())
		if !loud {
			return nil
		}
		if t.left -= time.Since(before.began); t.left < 0 {
			t.kept++
			t.worst = max(t.worst, foreign)
			return nil
		}
		t.again++
	}
}

func (t *tally) String() string {
	if t.kept == 0 {
		return fmt.Sprintf("%d, %d measured again", t.taken, t.again)
	}
	return fmt.Sprintf("%d, %d measured again, %d kept although disturbed (other processes took up to %.0f %% of a processor)", t.taken, t.again, t.kept, 100*t.worst)
}
