package perf

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// A Machine is what has become of processor time since the system began, in all. The difference of
// two is for the time between them.
type Machine struct {
	// Busy is for how long processors have run anything, in steps of 10 ms for each; 0 where that
	// is not known.
	Busy time.Duration
	// Stolen is for how long the host of a virtual machine had processors run something else
	// meanwhile, in such steps.
	Stolen time.Duration
	// Throttled is for how long the threads of the process's cgroup, and of cgroups above, had used
	// up their quotas, added up: the difference of the largest would not show one that has come to
	// less so far.
	Throttled time.Duration
	// Waited is for how long any thread of the system had to wait for a processor (pressure stall
	// information); 0 where that is not known.
	Waited time.Duration
}

// tick is the unit of /proc/stat on all systems that Go runs on.
const tick = 10 * time.Millisecond

// ReadMachine reads what is below /proc and /sys in root, which stands for /. It takes some 0.1 ms.
func ReadMachine(root fs.FS) Machine {
	r := files{root}
	var m Machine
	line, _, _ := strings.Cut(r.text("proc/stat"), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			continue
		}
		switch i { // see proc(5)
		case 1, 2, 3, 6, 7: // user, nice, system, irq, softirq
			m.Busy = sum(m.Busy, times(n, tick))
		case 8:
			m.Stolen = times(n, tick)
		}
	}
	line, _, _ = strings.Cut(r.text("proc/pressure/cpu"), "\n")
	if some, total, ok := strings.Cut(line, "total="); ok && strings.HasPrefix(some, "some ") {
		if n, err := strconv.ParseInt(total, 10, 64); err == nil {
			m.Waited = times(n, time.Microsecond)
		}
	}
	for dir := range r.cgroups("cpu") {
		for line := range strings.Lines(r.text(path.Join(dir, "cpu.stat"))) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				continue
			}
			switch key {
			case "throttled_usec":
				m.Throttled = sum(m.Throttled, times(n, time.Microsecond))
			case "throttled_time": // of version 1, in ns
				m.Throttled = sum(m.Throttled, times(n, 1))
			}
		}
	}
	return m
}

// sum returns a + b, in what a Duration can hold; neither is below 0.
func sum(a, b time.Duration) time.Duration { return min(a, math.MaxInt64-b) + b }

// times returns n units, in what a Duration can hold, and not below 0.
func times(n int64, unit time.Duration) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(unit))) * unit
}
