package perf

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// FreeMemory returns how many bytes the process can take before a limit of its cgroups, of version
// 2 or 1, or of those above them is reached, or the machine has no more, whichever is least;
// math.MaxInt64 where the system does not say. It is below zero above a limit. Page cache of files
// not used of late counts as free: the kernel takes it first. Root stands for /.
func FreeMemory(root fs.FS) int64 {
	r := files{root}
	least := int64(math.MaxInt64)
	if kib, err := strconv.ParseInt(strings.TrimSuffix(r.field("proc/meminfo", "MemAvailable"), " kB"), 10, 64); err == nil {
		least = kib << 10
	}
	for dir, version := range r.cgroups("memory") {
		used, cache, limits := "memory.current", "inactive_file ", []string{"memory.max", "memory.high"}
		if version == 1 {
			used, cache, limits = "memory.usage_in_bytes", "total_inactive_file ", []string{"memory.limit_in_bytes"}
		}
		current := number(r.text(path.Join(dir, used)))
		if current == nil {
			continue
		}
		for _, name := range limits {
			if limit := number(r.text(path.Join(dir, name))); limit != nil {
				least = min(least, int64(*limit)-int64(*current)+r.stat(path.Join(dir, "memory.stat"), cache))
			}
		}
	}
	return least
}

// field returns the value of a line "key: value" of a file.
func (r files) field(name, key string) string {
	for k, value := range r.fields(name) {
		if k == key {
			return value
		}
	}
	return ""
}

// stat returns the number after a prefix of a line, 0 without one.
func (r files) stat(name, prefix string) int64 {
	for line := range strings.Lines(r.text(name)) {
		if value, ok := strings.CutPrefix(line, prefix); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}
