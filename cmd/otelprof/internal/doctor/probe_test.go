package doctor

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/pmuattrs"
)

var update = flag.Bool("update", false, "rewrite the expected reports")

// linux is a computer on which everything works, with other files where some are given.
func linux(other map[string]string, change ...func(*perf.System)) perf.System {
	text := map[string]string{
		"proc/cpuinfo":                                      "processor\t: 0\nflags\t\t: fpu vme de pse tsc\n",
		"proc/self/cgroup":                                  "0::/user.slice/session-1.scope\n",
		"proc/self/uid_map":                                 "         0          0 4294967295\n",
		"proc/self/status":                                  status("1000", "0", "0"),
		"proc/sys/kernel/osrelease":                         "6.12.9\n",
		"proc/sys/kernel/perf_event_max_sample_rate":        "100000\n",
		"proc/sys/kernel/perf_event_mlock_kb":               "516\n",
		"proc/sys/kernel/perf_event_paranoid":               "2\n",
		"sys/bus/event_source/devices/cpu/caps/pmu_name":    "golden_cove\n",
		"sys/bus/event_source/devices/cpu/rdpmc":            "1\n",
		"sys/bus/event_source/devices/uncore_imc_0/cpumask": "0\n",
		"sys/class/dmi/id/product_name":                     "PowerEdge R760\n",
		"sys/class/dmi/id/sys_vendor":                       "Dell Inc.\n",
	}
	maps.Copy(text, other)
	files := fstest.MapFS{}
	for name, content := range text {
		if content != "" {
			files[name] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	for _, fd := range []string{"0", "1", "2", "3", "4", "5"} {
		files["proc/self/fd/"+fd] = &fstest.MapFile{}
	}
	s := perf.System{
		OS: "linux", Arch: "amd64", CPUs: 16, Procs: 16,
		Files:  perf.ReadFiles(files),
		Limits: perf.Limits{MaxFiles: 1048576, MaxLockedBytes: 8 << 20},
		Trials: perf.Trials{General: 8, Fixed: 3},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func status(uid, capabilities, seccomp string) string {
	return "Uid:\t0\t" + uid + "\t0\t0\nCapEff:\t" + capabilities + "\nSeccomp:\t" + seccomp + "\n"
}

// fail makes all trials that open an event fail; with filtered, also the call.
func fail(filtered bool, err error) func(*perf.System) {
	return func(s *perf.System) {
		if filtered {
			s.Call = err
		}
		s.Clock, s.Counter, s.Page, s.Samples = err, err, err, err
		s.General, s.Fixed = 0, 0
	}
}

func noPMU(s *perf.System) {
	s.Counter = &perf.Error{Kind: perf.ErrNotSupported, Errno: syscall.ENOENT, Cause: "no hardware PMU"}
	s.Page, s.General, s.Fixed = s.Counter, 0, 0
}

const (
	noDevice     = "" // leaves the file of a fixture out
	softwareType = "sys/bus/event_source/devices/software/type"
	cpuModel     = "sys/bus/event_source/devices/cpu/caps/pmu_name"
	cpuRDPMC     = "sys/bus/event_source/devices/cpu/rdpmc"
	vendorFile   = "sys/class/dmi/id/sys_vendor"
	productFile  = "sys/class/dmi/id/product_name"
	virtualCPU   = "flags\t\t: fpu hypervisor lahf_lm\n"
)

var systems = map[string]perf.System{
	"bare-metal": linux(nil),
	"vm-without-pmu": linux(map[string]string{
		"proc/cpuinfo": virtualCPU, cpuModel: noDevice, cpuRDPMC: noDevice, softwareType: "1\n",
		vendorFile: "QEMU\n", productFile: "Standard PC (Q35 + ICH9, 2009)\n",
	}, noPMU),
	"docker": linux(map[string]string{
		".dockerenv": "\n", "proc/self/status": status("0", "00000000a80425fb", "2"),
	}, fail(true, syscall.EPERM)),
	"docker-perfmon": linux(map[string]string{
		".dockerenv": "\n", "proc/self/status": status("0", "00000040a80425fb", "2"),
	}),
	"podman-rootless": linux(map[string]string{
		"run/.containerenv": "\n", "proc/self/status": status("0", "00000040a80425fb", "2"),
		"proc/self/uid_map": "0 1000 1\n1 100000 65536\n", "proc/sys/kernel/perf_event_paranoid": "3\n",
	}, fail(true, syscall.EPERM)),
	"paranoid-3": linux(map[string]string{"proc/sys/kernel/perf_event_paranoid": "3\n"}, fail(false, syscall.EACCES)),
	"paranoid-4-perfmon": linux(map[string]string{
		"proc/sys/kernel/perf_event_paranoid": "4\n", "proc/self/status": status("1000", "0000004000000000", "0"),
	}, fail(false, syscall.EACCES)),
	"kubernetes-restricted": linux(map[string]string{
		"var/run/secrets/kubernetes.io/serviceaccount/token": "x", "proc/self/status": status("1000", "0", "2"),
		"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n",
		"proc/sys/kernel/perf_event_paranoid": "4\n",
	}, fail(true, syscall.EPERM), func(s *perf.System) { s.MaxFiles, s.MaxLockedBytes = 256, 64<<10; s.MlockKB = new(4) }),
	"arm64-without-user-access": linux(map[string]string{
		"proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd\n", cpuModel: noDevice, cpuRDPMC: noDevice,
		"sys/bus/event_source/devices/armv8_pmuv3_0/cpus": "0-15\n", "proc/sys/kernel/perf_user_access": "0\n",
		vendorFile: noDevice, productFile: noDevice,
	}, func(s *perf.System) { s.Arch, s.General, s.Fixed, s.Page = "arm64", 6, 1, syscall.EINVAL }),
	"low-limits": linux(map[string]string{
		"proc/sys/kernel/perf_event_mlock_kb": "0\n", "proc/sys/kernel/perf_event_max_sample_rate": "200\n", cpuRDPMC: "0\n",
	}, func(s *perf.System) {
		s.MaxFiles, s.MaxLockedBytes = 12, 64<<10
		s.Samples, s.Page = syscall.EINVAL, syscall.EINVAL
	}),
	"darwin": {OS: "darwin", Arch: "arm64", CPUs: 8, Procs: 8},
}

func TestReport(t *testing.T) {
	for name, s := range systems {
		t.Run(name, func(t *testing.T) {
			r := report(s)
			var text bytes.Buffer
			if err := r.WriteTable(&text, false); err != nil {
				t.Fatal(err)
			}
			compare(t, name+".txt", text.Bytes())
			for line := range strings.Lines(text.String()) {
				if n := len([]rune(line)); n > 125 {
					t.Errorf("%d characters in a line: %s", n, line)
				}
			}
			if name != "bare-metal" && name != "docker" {
				return // two show all fields
			}
			j, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			compare(t, name+".json", append(j, '\n'))
		})
	}
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	golden := filepath.Join("testdata", "report", name)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

// TestReportNeverSuggestsAdmin checks that no remedy asks for administrator rights.
func TestReportNeverSuggestsAdmin(t *testing.T) {
	for name, s := range systems {
		r := report(s)
		for _, c := range slices.Concat(r.Abilities, r.Conditions) {
			for _, m := range c.Remedies {
				if regexp.MustCompile(`(?i)sys_admin|privileged=|--privileged|unconfined`).MatchString(m.Grant) {
					t.Errorf("%s: %s: %s", name, c.Name, m.Grant)
				}
			}
		}
	}
}

func TestReportCauses(t *testing.T) {
	for _, test := range []struct {
		name   string
		system perf.System
		check  string
		want   Check
	}{
		{
			"systemd's filter", linux(map[string]string{"proc/self/status": status("1000", "0", "2")}, fail(true, syscall.EPERM)),
			"perf_event_open",
			Check{
				Status: StatusMissing, Detail: "a seccomp filter forbids it",
				Remedies: []Remedy{{"systemd", "SystemCallFilter=perf_event_open", "one more such line in [Service] adds to the filter"}},
			},
		},
		{
			"a kernel without", linux(nil, fail(true, syscall.ENOSYS)),
			"perf_event_open",
			Check{Status: StatusMissing, Detail: "the kernel was built without it (CONFIG_PERF_EVENTS)"},
		},
		{
			"a sandbox", linux(nil, fail(true, syscall.ENODEV)),
			"perf_event_open",
			Check{Status: StatusMissing, Detail: "no such device: the sandbox has none"},
		},
		{
			"SELinux", linux(nil, fail(false, &perf.Error{Kind: perf.ErrPermission, Errno: syscall.EACCES, Cause: "a security module denies perf_event_open"})),
			"perf_event_paranoid",
			Check{
				Status: StatusMissing, Detail: "level 2 allows counters, but: a security module denies perf_event_open",
				Remedies: []Remedy{{"host", "sudo ausearch --message avc --start recent", "shows what SELinux has denied"}},
			},
		},
		{
			"a mainline kernel takes 3 for 2", linux(map[string]string{"proc/sys/kernel/perf_event_paranoid": "3"}),
			"perf_event_paranoid",
			Check{Status: StatusOK, Detail: "level 3: own threads in user mode"},
		},
		{
			"no file left for the trial", linux(nil, fail(false, &perf.Error{Errno: syscall.EMFILE, Cause: "too many open files"})),
			"perf_event_paranoid",
			Check{Status: StatusUntried, Detail: "level 2, but: too many open files"},
		},
		{
			"a low rate at which samples come, and are throttled", linux(map[string]string{"proc/sys/kernel/perf_event_max_sample_rate": "200\n"}),
			"samples",
			Check{
				Status: StatusMissing, Detail: "perf_event_max_sample_rate is 200, must be at least 1000",
				Remedies: []Remedy{{"host", "sudo sysctl kernel.perf_event_max_sample_rate=100000", ""}},
			},
		},
		{
			"all files open", linux(nil, func(s *perf.System) {
				s.Counter = &perf.Error{Kind: perf.ErrTooManyFiles, Errno: syscall.EMFILE, Cause: "the process may have 6 files open"}
			}),
			"hw",
			Check{Status: StatusMissing, Detail: "the process may have 6 files open"},
		},
		{
			"no sysfs", linux(map[string]string{
				cpuModel: noDevice, cpuRDPMC: noDevice, "sys/bus/event_source/devices/uncore_imc_0/cpumask": noDevice,
			}, fail(true, syscall.EPERM)),
			"pmu",
			Check{Status: StatusUntried, Detail: "sysfs does not say whether there is one"},
		},
		{
			"two kinds of cores", linux(map[string]string{
				cpuModel: noDevice, cpuRDPMC: noDevice, "sys/bus/event_source/devices/cpu_core/cpus": "0-7\n",
				"sys/bus/event_source/devices/cpu_atom/cpus": "8-15\n",
			}),
			"pmu",
			Check{Status: StatusOK, Detail: "cpu_atom, cpu_core"},
		},
		{
			"unlimited", linux(nil, func(s *perf.System) { s.MaxFiles, s.MaxLockedBytes = perf.Unlimited, perf.Unlimited }),
			"locked_memory",
			Check{Status: StatusOK, Detail: "no limit"},
		},
		{
			"nothing readable",
			perf.System{OS: "linux"},
			"open_files",
			Check{Status: StatusUntried, Detail: "limit unknown"},
		},
	} {
		got, ok := report(test.system).Check(test.check)
		test.want.Name = test.check
		if diff := cmp.Diff(test.want, got); !ok || diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.check, diff)
		}
	}
}

func TestWriteTableColour(t *testing.T) {
	r := report(systems["docker"])
	var with, without bytes.Buffer
	if err := r.WriteTable(&with, true); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteTable(&without, false); err != nil {
		t.Fatal(err)
	}
	stripped := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(with.String(), "")
	if with.Len() == without.Len() || stripped != without.String() {
		t.Errorf("with colour, less the colours:\n%s\nwithout:\n%s", stripped, &without)
	}
}

// TestProbe asks this machine.
func TestProbe(t *testing.T) {
	var r Report
	took := time.Hour
	for try := 0; try < 10 && took > time.Second; try++ { // a busy machine takes the time of some
		start := time.Now()
		r = Probe()
		took = time.Since(start)
	}
	if took > time.Second {
		t.Errorf("Probe took %v, want at most 1s", took)
	}
	if r.Verdict == "" || r.Machine.OS != runtime.GOOS || len(r.Abilities) == 0 {
		t.Errorf("Probe() = %+v", r)
	}
	if runtime.GOOS != "linux" {
		return
	}
	// The least that there is, without any privilege.
	for _, name := range []string{"rusage", "timerfd"} {
		if c, ok := r.Check(name); !ok || c.Status != StatusOK {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if hw, _ := r.Check("hw"); hw.Status.Works() != (r.Source == pmuattrs.SourceHardware) {
		t.Errorf("hw is %s, the source %s", hw.Status, r.Source)
	}
}
