package perf

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadMachine(t *testing.T) {
	const stat = "cpu  100 10 20 5000 7 1 2 30 0 0\ncpu0 50 5 10 2500 3 1 1 15 0 0\n"
	busy, stolen := 1330*time.Millisecond, 300*time.Millisecond
	for name, test := range map[string]struct {
		files map[string]string
		want  Machine
	}{
		"nothing":  {},
		"steal":    {map[string]string{"proc/stat": stat}, Machine{Busy: busy, Stolen: stolen}},
		"pressure": {map[string]string{"proc/pressure/cpu": "some avg10=1.53 avg60=3.87 avg300=3.00 total=2500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"}, Machine{Waited: 2500 * time.Microsecond}},
		"quotas of two groups": {map[string]string{
			"proc/self/cgroup":              "0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.stat":    "usage_usec 9\nnr_periods 4\nnr_throttled 2\nthrottled_usec 1500\n",
			"sys/fs/cgroup/a/cpu.stat":      "nr_throttled 3\nthrottled_usec 2500\n",
			"sys/fs/cgroup/other/cpu.stat":  "throttled_usec 99999\n",
			"sys/fs/cgroup/a/b/cpu.max":     "max 100000\n",
			"sys/fs/cgroup/a/b/memory.stat": "anon 1\n",
		}, Machine{Throttled: 4 * time.Millisecond}},
		"version 1": {map[string]string{
			"proc/self/cgroup":             "4:memory:/m\n1:cpu:/x\n",
			"sys/fs/cgroup/cpu/x/cpu.stat": "nr_periods 5\nnr_throttled 1\nthrottled_time 7000000\n",
		}, Machine{Throttled: 7 * time.Millisecond}},
		"no numbers": {map[string]string{"proc/stat": "cpu x y\n", "proc/self/cgroup": "0::/\n", "proc/pressure/cpu": "some avg10=1 total=x\n", "sys/fs/cgroup/cpu.stat": "throttled_usec\n"}, Machine{}},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range test.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if diff := cmp.Diff(test.want, ReadMachine(root)); diff != "" {
				t.Errorf("ReadMachine (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzReadMachine checks that no file makes reading fail, and that times are not negative.
func FuzzReadMachine(f *testing.F) {
	f.Add("cpu  10 20 30 40 50 60 70 80 90 100\n", "0::/a/b\n", "usage_usec 7\nthrottled_usec 8\n", "some avg10=0.00 total=9\n")
	f.Add("cpu -1 x 9223372036854775807", "4:cpu:/../..\n0::", "throttled_time 9223372036854775807\nthrottled_usec -1", "some total=-1\nfull total=")
	f.Fuzz(func(t *testing.T, stat, cgroup, cpu, pressure string) {
		m := ReadMachine(fileSystem(map[string]string{
			"proc/stat": stat, "proc/pressure/cpu": pressure, "proc/self/cgroup": cgroup, "sys/fs/cgroup/cpu.stat": cpu, "sys/fs/cgroup/a/b/cpu.stat": cpu,
		}))
		if m.Busy < 0 || m.Stolen < 0 || m.Throttled < 0 || m.Waited < 0 {
			t.Errorf("ReadMachine() = %+v, want nothing below 0", m)
		}
	})
}
