package record

import (
	"io/fs"
	"os"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
)

// root is where the system reports what processors do.
var root = os.DirFS("/")

// LoadSince begins to measure what becomes of processor time until end is called, which may be
// again.
func LoadSince() (end func() Load) { return loadSince(root) }

// loadSince begins to measure what becomes of processor time. It takes some 0.1 ms, as end does.
func loadSince(root fs.FS) (end func() Load) {
	before, had := perf.ReadMachine(root), processTime()
	return func() Load {
		after, has := perf.ReadMachine(root), processTime()
		l := Load{
			CPU: has - had, Stolen: max(0, after.Stolen-before.Stolen), Throttled: max(0, after.Throttled-before.Throttled),
			Waited: max(0, after.Waited-before.Waited),
		}
		if before.Busy > 0 {
			l.Others = max(0, after.Busy-before.Busy-l.CPU)
		}
		return l
	}
}

func processTime() time.Duration {
	user, system, err := perf.ProcessCPU()
	if err != nil {
		return 0
	}
	return user + system
}
