package perf

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func fileSystem(text map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range text {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

func TestReadFiles(t *testing.T) {
	for name, test := range map[string]struct {
		text map[string]string
		want Files
	}{
		"nothing": {},
		"x86": {
			map[string]string{
				"proc/cpuinfo":                                 "processor\t: 0\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\n",
				"proc/self/status":                             "Name:\tcat\nUid:\t1\t1000\t2\t3\nCapEff:\t000001ffffffffff\nSeccomp:\t2\nSeccomp_filters:\t1\n",
				"proc/self/uid_map":                            "         0          0 4294967295\n",
				"proc/self/fd/0":                               "",
				"proc/self/fd/1":                               "",
				"proc/sys/kernel/osrelease":                    "6.1.0-56-amd64\n",
				"proc/sys/kernel/perf_event_paranoid":          "-1\n",
				"proc/sys/kernel/perf_event_mlock_kb":          "516\n",
				"proc/sys/kernel/perf_event_max_sample_rate":   "broken\n",
				"sys/bus/event_source/devices/cpu/rdpmc":       "1\n",
				"sys/bus/event_source/devices/cpu/type":        "4\n",
				"sys/bus/event_source/devices/software/type":   "1\n",
				"sys/bus/event_source/devices/msr/type":        "9\n",
				"sys/bus/event_source/devices/amd_df/cpumask":  "0\n",
				"sys/bus/event_source/devices/cpu_atom/cpus":   "4-7\n",
				"sys/class/dmi/id/sys_vendor":                  "QEMU\n",
				"proc/sys/kernel/perf_event_max_stack_ignored": "127\n",
			},
			Files{
				Kernel: "6.1.0-56-amd64", Hypervisor: true, Product: "QEMU", UID: new(1000), Capabilities: 1<<41 - 1, Seccomp: new(2),
				Paranoid: new(-1), MlockKB: new(516), PMUs: []PMU{{Name: "cpu", RDPMC: new(1)}, {Name: "cpu_atom"}}, OpenFiles: new(2),
			},
		},
		"arm64 virtual machine": {
			map[string]string{
				"proc/cpuinfo":                                    "processor\t: 0\nFeatures\t: fp asimd\n",
				"proc/device-tree/hypervisor/compatible":          "linux,kvm",
				"proc/sys/kernel/perf_user_access":                "1\n",
				"sys/bus/event_source/devices/armv8_pmuv3_0/cpus": "0-3\n",
			},
			Files{Hypervisor: true, UserAccess: new(1), PMUs: []PMU{{Name: "armv8_pmuv3_0"}}},
		},
		"no PMU": {
			map[string]string{"sys/bus/event_source/devices/software/type": "1\n"},
			Files{PMUs: []PMU{}},
		},
		"docker":   {map[string]string{".dockerenv": ""}, Files{Container: "docker"}},
		"podman":   {map[string]string{"run/.containerenv": ""}, Files{Container: "podman"}},
		"pod":      {map[string]string{"var/run/secrets/kubernetes.io/serviceaccount/token": ""}, Files{Container: "kubernetes"}},
		"kubepods": {map[string]string{"proc/self/cgroup": "0::/kubepods.slice/x\n", ".dockerenv": ""}, Files{Container: "kubernetes"}},
		"rootless": {map[string]string{"proc/self/uid_map": "0 1000 1\n1 100000 65536\n"}, Files{UserNamespace: true}},
		"quota": {
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"},
			Files{Quota: 1.5},
		},
		"least quota of all groups above": {
			map[string]string{
				"proc/self/cgroup":            "0::/a/b\n",
				"sys/fs/cgroup/a/b/cpu.max":   "max 100000\n",
				"sys/fs/cgroup/a/cpu.max":     "50000 100000\n",
				"sys/fs/cgroup/a/b/c/cpu.max": "1000 100000\n",
			},
			Files{Quota: 0.5},
		},
		"quota of version 1": {
			map[string]string{
				"proc/self/cgroup": "5:memory:/m\n4:cpu,cpuacct:/x\n0::/\n",
				"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us":  "200000\n",
				"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":    "-1\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":   "100000\n",
			},
			Files{Quota: 2},
		},
		"quota of version 1 through the link": {
			map[string]string{
				"proc/self/cgroup":                          "4:cpuacct,cpu:/docker/x\n",
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":        "25000\n",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us":       "100000\n",
				"sys/fs/cgroup/cpu/other/cpu.cfs_quota_us":  "1\n",
				"sys/fs/cgroup/cpu/other/cpu.cfs_period_us": "1\n",
			},
			Files{Quota: 0.25, Container: "docker"},
		},
	} {
		if diff := cmp.Diff(test.want, ReadFiles(fileSystem(test.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHas(t *testing.T) {
	f := Files{Capabilities: CapPerfmon}
	if !f.Has(CapPerfmon|CapSysAdmin) || f.Has(CapSysAdmin) {
		t.Errorf("Has with %x alone: perfmon or admin %t, admin %t", f.Capabilities, f.Has(CapPerfmon|CapSysAdmin), f.Has(CapSysAdmin))
	}
	if f.UserNamespace = true; f.Has(CapPerfmon) {
		t.Error("a capability counts in a user namespace")
	}
}

func TestLockableBytes(t *testing.T) {
	for _, test := range []struct {
		name   string
		system System
		want   uint64
	}{
		{"unknown", System{CPUs: 2}, 0},
		{"both", System{CPUs: 2, Files: Files{MlockKB: new(516)}, Limits: Limits{MaxLockedBytes: 8 << 20}}, 2*516<<10 + 8<<20},
		{"no limit", System{CPUs: 2, Files: Files{MlockKB: new(516)}, Limits: Limits{MaxLockedBytes: Unlimited}}, Unlimited},
		{"CAP_IPC_LOCK", System{CPUs: 2, Files: Files{MlockKB: new(516), Capabilities: CapIPCLock}}, Unlimited},
		{"not paranoid", System{CPUs: 2, Files: Files{MlockKB: new(516), Paranoid: new(-1)}}, Unlimited},
		{"negative", System{CPUs: 2, Files: Files{MlockKB: new(-1)}, Limits: Limits{MaxLockedBytes: 1}}, 1},
		{"too much", System{CPUs: math.MaxInt, Files: Files{MlockKB: new(math.MaxInt >> 10)}}, Unlimited},
	} {
		if got := test.system.LockableBytes(); got != test.want {
			t.Errorf("%s: LockableBytes() = %d, want %d", test.name, got, test.want)
		}
	}
}

// FuzzReadFiles checks that nothing that a file may hold makes reading fail, and that what comes
// out makes sense.
func FuzzReadFiles(f *testing.F) {
	f.Add("Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0\n", "4:cpu,cpuacct:/a/b\n0::/c\n", "150000 100000", "0 0 4294967295")
	f.Add("Uid:\n:\n", "0::/../..\n:cpu:\n4:cpu:\x00", "max", "")
	f.Fuzz(func(t *testing.T, status, cgroup, cpuMax, number string) {
		got := ReadFiles(fileSystem(map[string]string{
			"proc/self/status": status, "proc/cpuinfo": status, "proc/self/cgroup": cgroup, "proc/self/uid_map": number,
			"sys/fs/cgroup/cpu.max": cpuMax, "sys/fs/cgroup/cpu/cpu.cfs_quota_us": number, "sys/fs/cgroup/cpu/cpu.cfs_period_us": cpuMax,
			"proc/sys/kernel/perf_event_paranoid": number, "sys/bus/event_source/devices/cpu/rdpmc": number,
		}))
		if !(got.Quota >= 0) || math.IsInf(got.Quota, 0) {
			t.Errorf("quota %v", got.Quota)
		}
		if len(got.PMUs) != 1 {
			t.Errorf("%d PMUs, want 1", len(got.PMUs))
		}
	})
}
