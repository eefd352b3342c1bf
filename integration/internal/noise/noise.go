// Package noise measures how much processor time other processes took while something was measured,
// and counts what was measured again for it.
package noise

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
)

const (
	// jiffy is the unit of /proc, counted for each processor, and countedIn by how much two counts
	// may be off.
	jiffy     = 10 * time.Millisecond
	countedIn = 15 * time.Millisecond
	// quiet is the part of one processor that others may take.
	quiet = 0.05
)

// A Noise is the processor time of all and of our processes at a moment.
type Noise struct {
	Began      time.Time
	busy, ours time.Duration
	unknown    bool
	pids       []int // ours, beside this process
}

// Listen begins to count. Ours are this process and those with the pids. It takes some 0.1 ms.
func Listen(pids ...int) Noise {
	machine := perf.ReadMachine(os.DirFS("/"))
	user, system, err := perf.ProcessCPU()
	n := Noise{Began: time.Now(), busy: machine.Busy + machine.Stolen, ours: user + system, pids: pids}
	for _, pid := range pids {
		d, failed := processTime(pid)
		n.ours, err = n.ours+d, errors.Join(err, failed)
	}
	n.unknown = err != nil || machine.Busy == 0
	return n
}

// Foreign returns the part of one processor that other processes have had since, and that part of
// the most that may disturb what is measured: above 1 it does. Where it is not known, both are 0.
func (n Noise) Foreign() (part, loudness float64) { return n.until(Listen(n.pids...)) }

func (n Noise) until(now Noise) (part, loudness float64) {
	if n.unknown || now.unknown {
		return 0, 0
	}
	took := now.Began.Sub(n.Began)
	others := max(0, (now.busy-n.busy)-(now.ours-n.ours))
	return float64(others) / float64(took), float64(others) / (float64(countedIn) + quiet*float64(took))
}

// processTime returns the processor time that a process has had: the fields utime and stime of its
// stat, see proc(5).
func processTime(pid int) (sum time.Duration, err error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses, which may contain any character.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s: must have 15 fields", path)
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		sum += time.Duration(n) * jiffy
	}
	return sum, nil
}

// A Tally counts what was measured, and what had to be measured again.
type Tally struct {
	Patience           time.Duration // for what is measured again; the last may take longer
	Taken, again, kept int
	wasted             time.Duration // by what was measured again
	worst              float64       // what other processes took in one that was kept, of a processor
}

// Measure measures, and again while processes other than this one and those with the pids disturb
// it and there is patience left: tries times at most.
func (t *Tally) Measure(tries int, measure func() error, pids ...int) error {
	t.Taken++
	for try := 1; ; try++ {
		before := Listen(pids...)
		if err := measure(); err != nil {
			return err
		}
		foreign, loudness := before.Foreign()
		if loudness <= 1 {
			return nil
		}
		if try == tries || !t.Retry(before.Began) {
			t.Keep(foreign)
			return nil
		}
	}
}

// Retry reports whether what has taken since began may be measured again.
func (t *Tally) Retry(began time.Time) bool {
	if t.wasted >= t.Patience {
		return false
	}
	t.wasted += time.Since(began)
	t.again++
	return true
}

// Keep counts what is kept although other processes had that part of a processor meanwhile.
func (t *Tally) Keep(foreign float64) {
	t.kept++
	t.worst = max(t.worst, foreign)
}

func (t *Tally) String() string {
	if t.kept == 0 {
		return fmt.Sprintf("%d, %d measured again", t.Taken, t.again)
	}
	return fmt.Sprintf("%d, %d measured again, %d kept although disturbed (other processes took up to %.0f %% of a processor)", t.Taken, t.again, t.kept, 100*t.worst)
}
