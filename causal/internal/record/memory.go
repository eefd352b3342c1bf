package record

import (
	"io/fs"
	"math"
	"runtime/debug"
	"runtime/metrics"

	"github.com/otelprof/otelprof/internal/perf"
)

const (
	// ownBytes is how many bytes a window of a Recorder's own accord has at most, until its end is
	// noticed.
	ownBytes = 1 << 20
	// Room is how many bytes of memory a recording of a Recorder's own accord takes with its
	// analysis, at most, what the garbage collector lets lie included.
	Room = perByte * ownBytes * 2 // a trace that ends may become twice as large
	// Least is how many bytes the process must have left to its limits for any recording.
	Least = 2 * Room
	// perByte is by how many bytes the process grows for each of a trace that is analysed, at most.
	perByte = 32
	// unlimited is the most of a window where the system does not say how much memory there is.
	unlimited = 8 << 20
)

// Left returns how many bytes the process has left until the limit that GOMEMLIMIT sets, until that
// of any of its groups of processes, and until the machine has no more, whichever is least;
// math.MaxInt64 where none of these is known.
func Left() int64 { return left(root) }

func left(root fs.FS) int64 {
	rest := perf.FreeMemory(root)
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		rest = min(rest, limit-inUse())
	}
	return rest
}

// most is how many bytes a window on demand may have with so much memory left: half of that is for
// it and its analysis.
func most(left int64) int {
	if left == math.MaxInt64 {
		return unlimited
	}
	return int(min(max(left/2/perByte/2, ownBytes/4), MaxBytes))
}

// inUse is what counts against GOMEMLIMIT, but for what the garbage collector would free.
func inUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()) - int64(samples[1].Value.Uint64()) - int64(samples[2].Value.Uint64())
}
