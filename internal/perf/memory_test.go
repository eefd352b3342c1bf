package perf

import (
	"math"
	"testing"
)

func TestFreeMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		text map[string]string
		want int64
	}{
		"nothing": {nil, math.MaxInt64},
		"machine": {map[string]string{"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:       2 kB\n"}, 2048},
		"version 2": {map[string]string{
			"proc/self/cgroup": "0::/pod/app\n", "sys/fs/cgroup/pod/app/memory.max": "1000\n", "sys/fs/cgroup/pod/app/memory.current": "990\n",
			"sys/fs/cgroup/pod/app/memory.stat": "anon 5\ninactive_file 300\nactive_file 7\n",
		}, 310},
		"version 2, no limit": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "5\n"}, math.MaxInt64},
		"version 2, group above": {map[string]string{
			"proc/self/cgroup": "0::/pod/app\n", "sys/fs/cgroup/pod/app/memory.max": "1000", "sys/fs/cgroup/pod/app/memory.current": "400",
			"sys/fs/cgroup/pod/memory.max": "900", "sys/fs/cgroup/pod/memory.current": "850",
		}, 50},
		"version 2, throttled": {map[string]string{
			"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "1000", "sys/fs/cgroup/a/memory.high": "500", "sys/fs/cgroup/a/memory.current": "450",
		}, 50},
		"version 2, own namespace": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "70", "sys/fs/cgroup/memory.current": "30"}, 40},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:cpu:/c\n4:memory:/pod/app\n0::/\n", "sys/fs/cgroup/memory/pod/app/memory.limit_in_bytes": "1000", "sys/fs/cgroup/memory/pod/app/memory.usage_in_bytes": "600",
			"sys/fs/cgroup/memory/pod/app/memory.stat": "inactive_file 1\ntotal_inactive_file 50\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712", "sys/fs/cgroup/memory/memory.usage_in_bytes": "7",
		}, 450},
		"version 1, group above": {map[string]string{
			"proc/self/cgroup": "4:memory:/pod/app\n", "sys/fs/cgroup/memory/pod/app/memory.limit_in_bytes": "9223372036854771712", "sys/fs/cgroup/memory/pod/app/memory.usage_in_bytes": "600",
			"sys/fs/cgroup/memory/pod/memory.limit_in_bytes": "900", "sys/fs/cgroup/memory/pod/memory.usage_in_bytes": "880",
		}, 20},
		"version 1, path of the host": {map[string]string{"proc/self/cgroup": "4:memory:/docker/x\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "100", "sys/fs/cgroup/memory/memory.usage_in_bytes": "130"}, -30},
		"what is no number":           {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "x", "sys/fs/cgroup/a/memory.current": "y"}, math.MaxInt64},
	} {
		if got := FreeMemory(fileSystem(tc.text)); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
