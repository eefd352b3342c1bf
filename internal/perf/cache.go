package perf

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// LastCacheBytes is the size of the largest cache of the first CPU, in bytes; 0 where the system
// does not say.
func LastCacheBytes() int { return lastCacheBytes(os.DirFS("/")) }

func lastCacheBytes(root fs.FS) (most int) {
	found, err := fs.Glob(root, "sys/devices/system/cpu/cpu0/cache/index*/size")
	if err != nil {
		return 0
	}
	for _, name := range found {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			continue
		}
		kB, isKB := strings.CutSuffix(strings.TrimSpace(string(text)), "K")
		if n, err := strconv.Atoi(kB); isKB && err == nil && n > 0 && n < 1<<30 {
			most = max(most, n<<10)
		}
	}
	return most
}
