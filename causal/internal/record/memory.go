package record

import (
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// Room is how many bytes the process must have left to its limits for a recording of a Recorder's own accord: what
// the window takes, and what its analysis does.
const Room = 2*(enough+slack) + PerByte*enough

const (
	// PerByte is how many bytes of memory the analysis takes for each of a trace, at most.
	PerByte = 20
	// slack is what the runtime writes of a trace that is full until it has stopped.
	slack = 2 << 20
)

// Left returns how many bytes the process has left until the limit that GOMEMLIMIT sets, and until that of its group of
// processes, whichever is less; math.MaxInt64 without a limit.
func Left() int64 { return left(root) }

func left(root fs.FS) int64 {
	rest := int64(math.MaxInt64)
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		rest = limit - inUse()
	}
	group := "sys/fs/cgroup"
	if own, err := fs.ReadFile(root, "proc/self/cgroup"); err == nil {
		for line := range strings.Lines(string(own)) {
			if at, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
				group = path.Join(group, at)
			}
		}
	}
	limit, limited := number(root, path.Join(group, "memory.max"))
	current, known := number(root, path.Join(group, "memory.current"))
	if limited && known {
		rest = min(rest, limit-current+reclaimable(root, group))
	}
	return rest
}

// inUse is what counts against GOMEMLIMIT, but for what the garbage collector would free.
func inUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()) - int64(samples[1].Value.Uint64()) - int64(samples[2].Value.Uint64())
}

// number reads a file that holds one, if it does.
func number(root fs.FS, name string) (int64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// reclaimable is the page cache of files not used of late, which the kernel takes before it ends a process.
func reclaimable(root fs.FS, group string) int64 {
	text, err := fs.ReadFile(root, path.Join(group, "memory.stat"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "inactive_file "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}
