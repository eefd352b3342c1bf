package record

import (
	"fmt"
	"maps"
	"testing"
	"testing/fstest"
	"time"
)

// TestLoad has the system say what it did between two moments.
func TestLoad(t *testing.T) {
	files := func(user, steal, throttled, waited int) fstest.MapFS {
		return fstest.MapFS{
			"proc/stat":              {Data: fmt.Appendf(nil, "cpu %d 0 0 1000 0 0 0 %d 0 0\n", user, steal)},
			"proc/pressure/cpu":      {Data: fmt.Appendf(nil, "some avg10=0.00 total=%d\n", waited)},
			"proc/self/cgroup":       {Data: []byte("0::/\n")},
			"sys/fs/cgroup/cpu.stat": {Data: fmt.Appendf(nil, "throttled_usec %d\n", throttled)},
		}
	}
	root := files(100, 5, 1000, 500)
	end := loadSince(root)
	maps.Copy(root, files(100_100, 12, 4000, 2500))
	l := end()
	if l.Stolen != 70*time.Millisecond || l.Throttled != 3*time.Millisecond || l.Waited != 2*time.Millisecond || l.CPU < 0 {
		t.Errorf("load %+v, want 70 ms stolen, 3 ms throttled and 2 ms waited", l)
	}
	if got := l.Others + l.CPU; got != 1000*time.Second {
		t.Errorf("others and this process had %v, want 1000 s", got)
	}
}
