package perf

import (
	"bytes"
	"cmp"
	"io/fs"
	"iter"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Files are what /proc and /sys say. A nil pointer stands for a file that is not there or makes no
// sense.
type Files struct {
	Kernel     string // release, as in 6.12.9-amd64
	Hypervisor bool   // this is a virtual machine
	Product    string // its maker and model, or those of the computer; often empty
	Container  string // kubernetes, podman, docker or container; empty where nothing hints at one

	UID           *int   // effective
	UserNamespace bool   // not the first one
	Capabilities  uint64 // effective
	Seccomp       *int   // 0 off, 1 strict, 2 filter

	Paranoid      *int  // kernel.perf_event_paranoid
	MaxSampleRate *int  // kernel.perf_event_max_sample_rate, per second and CPU
	MlockKB       *int  // kernel.perf_event_mlock_kb, per user and CPU
	UserAccess    *int  // kernel.perf_user_access, on arm64
	PMUs          []PMU // nil where sysfs does not say, empty where there are none

	OpenFiles *int
	Quota     float64 // CPUs' worth of time that the cgroup may use; 0 means no limit
}

// A PMU is a source of hardware counters inside the CPU cores.
type PMU struct {
	Name  string
	Model string // caps/pmu_name
	RDPMC *int   // on x86: 0 forbids reading in user space, 1 allows it with a mapped counter, 2 always
}

// ReadFiles reads what is below /proc and /sys in root, which stands for /.
func ReadFiles(root fs.FS) Files {
	r := files{root}
	f := Files{
		Kernel:        r.text("proc/sys/kernel/osrelease"),
		Hypervisor:    r.hypervisor(),
		Product:       strings.TrimSpace(r.text("sys/class/dmi/id/sys_vendor") + " " + r.text("sys/class/dmi/id/product_name")),
		Container:     r.container(),
		UserNamespace: r.userNamespace(),
		Paranoid:      r.number("proc/sys/kernel/perf_event_paranoid"),
		MaxSampleRate: r.number("proc/sys/kernel/perf_event_max_sample_rate"),
		MlockKB:       r.number("proc/sys/kernel/perf_event_mlock_kb"),
		UserAccess:    r.number("proc/sys/kernel/perf_user_access"),
		PMUs:          r.pmus(),
		Quota:         r.quota(),
	}
	for key, value := range r.fields("proc/self/status") {
		switch key {
		case "Uid":
			if ids := strings.Fields(value); len(ids) > 1 {
				f.UID = number(ids[1]) // real, effective, saved, file system
			}
		case "CapEff":
			f.Capabilities, _ = strconv.ParseUint(value, 16, 64)
		case "Seccomp":
			f.Seccomp = number(value)
		}
	}
	if open, err := fs.ReadDir(root, "proc/self/fd"); err == nil {
		f.OpenFiles = new(len(open))
	}
	return f
}

type files struct{ root fs.FS }

// text returns what a file holds, without the white space around it. A file that is not there is
// empty.
func (r files) text(name string) string {
	b, _ := fs.ReadFile(r.root, name)
	return string(bytes.TrimSpace(b))
}

func (r files) number(name string) *int { return number(r.text(name)) }

func number(text string) *int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	return &n
}

func (r files) exists(name string) bool {
	_, err := fs.Stat(r.root, name)
	return err == nil
}

// fields iterates over the lines "key: value" of a file.
func (r files) fields(name string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for line := range strings.Lines(r.text(name)) {
			key, value, _ := strings.Cut(line, ":")
			if !yield(strings.TrimSpace(key), strings.TrimSpace(value)) {
				return
			}
		}
	}
}

// hypervisor reports whether a hypervisor shows itself. On x86 this is a CPU flag,
// elsewhere an entry of the device tree, if any.
func (r files) hypervisor() bool {
	for key, value := range r.fields("proc/cpuinfo") {
		if key == "flags" {
			return slices.Contains(strings.Fields(value), "hypervisor")
		}
	}
	return r.exists("proc/device-tree/hypervisor") || r.exists("sys/hypervisor/type")
}

func (r files) container() string {
	switch cgroup := r.text("proc/self/cgroup"); {
	case r.exists("var/run/secrets/kubernetes.io"), strings.Contains(cgroup, "kubepods"):
		return "kubernetes"
	case r.exists("run/.containerenv"), strings.Contains(cgroup, "libpod"):
		return "podman"
	case r.exists(".dockerenv"), strings.Contains(cgroup, "docker"):
		return "docker"
	case strings.Contains(cgroup, "containerd"), strings.Contains(cgroup, "lxc"):
		return "container"
	}
	return ""
}

// userNamespace reports whether users have other numbers outside. The first namespace maps all
// 2^32-1 to themselves.
func (r files) userNamespace() bool {
	m := strings.Fields(r.text("proc/self/uid_map"))
	return len(m) > 0 && !slices.Equal(m, []string{"0", "0", "4294967295"})
}

// pmus returns the PMUs of the cores: "cpu" on x86, and on machines with cores of several kinds and
// on arm64 the PMUs that have a list of their CPUs. PMUs of the memory controller and such have a
// cpumask instead.
func (r files) pmus() []PMU {
	const dir = "sys/bus/event_source/devices"
	entries, err := fs.ReadDir(r.root, dir)
	if err != nil {
		return nil
	}
	all := []PMU{}
	for _, e := range entries {
		device := path.Join(dir, e.Name())
		if e.Name() != "cpu" && !r.exists(path.Join(device, "cpus")) {
			continue
		}
		all = append(all, PMU{
			Name:  e.Name(),
			Model: r.text(path.Join(device, "caps/pmu_name")),
			RDPMC: r.number(path.Join(device, "rdpmc")),
		})
	}
	return all
}

// quota returns the least CPU quota among the cgroups that the process is in, of version 2 or 1, or
// 0.
func (r files) quota() float64 {
	least := 0.0
	for dir, version := range r.cgroups("cpu") {
		var quota, period string
		if version == 1 {
			quota, period = r.text(path.Join(dir, "cpu.cfs_quota_us")), r.text(path.Join(dir, "cpu.cfs_period_us"))
		} else {
			quota, period, _ = strings.Cut(r.text(path.Join(dir, "cpu.max")), " ")
		}
		q, err := strconv.ParseFloat(quota, 64)
		p := number(period)
		if err != nil || p == nil || !(q > 0) || *p <= 0 || math.IsInf(q, 0) {
			continue // "max" and -1 are no limits
		}
		if cpus := q / float64(*p); least == 0 || cpus < least {
			least = cpus
		}
	}
	return least
}

// cgroups iterates over the folders of the cgroups that the process is in, with those above, and
// says of which version each is: those with this controller. Inside a container the path may be the
// host's, and the group itself is mounted as the root: all that exist count.
func (r files) cgroups(controller string) iter.Seq2[string, int] {
	return func(yield func(dir string, version int) bool) {
		for line := range strings.Lines(r.text("proc/self/cgroup")) {
			// 0::/path, or 4:cpu,cpuacct:/path of version 1.
			id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
			controllers, group, _ := strings.Cut(rest, ":")
			root, version := "sys/fs/cgroup", 2
			switch {
			case slices.Contains(strings.Split(controllers, ","), controller):
				root, version = path.Join(root, cmp.Or(r.mounted(controllers), controller)), 1
			case id != "0":
				continue
			}
			for dir := path.Join("/", group); ; dir = path.Dir(dir) {
				if !yield(path.Join(root, dir), version) {
					return
				}
				if dir == "/" {
					break
				}
			}
		}
	}
}

// mounted returns the folder of a hierarchy of version 1 if it bears the name of its controllers.
func (r files) mounted(controllers string) string {
	if fs.ValidPath(controllers) && r.exists(path.Join("sys/fs/cgroup", controllers)) {
		return controllers
	}
	return ""
}
