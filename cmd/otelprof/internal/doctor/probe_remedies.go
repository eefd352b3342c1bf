package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/perf"
)

// onHost returns the remedy that is a command outside of all containers: kernel settings are the
// whole machine's.
func (f finding) onHost(command, note string) []Remedy {
	where := "host"
	if f.Container == "kubernetes" {
		where = "node"
	}
	return []Remedy{{Where: where, Grant: command, Note: note}}
}

// passFilter returns what lets a system call through a seccomp filter. A profile with one more call
// comes first: it grants that and no capability.
func (f finding) passFilter(call string) []Remedy {
	docker := []Remedy{{
		Where: "docker", Grant: "docker run --security-opt seccomp=perf.json",
		Note: "the default profile and " + call + ": docs/doctor.md; needs no capability",
	}}
	kubernetes := []Remedy{{
		Where: "kubernetes", Grant: "securityContext: {seccompProfile: {type: Localhost, localhostProfile: perf.json}}",
		Note: "the default profile and " + call + ": docs/doctor.md; Pod Security restricted allows it",
	}}
	if call == "perf_event_open" {
		docker = append(docker, Remedy{
			Where: "docker", Grant: "docker run --cap-add PERFMON",
			Note: "Docker 23 or later; also lets root in the container measure the kernel and all processes",
		})
		kubernetes = append(kubernetes, Remedy{
			Where: "kubernetes", Grant: "securityContext: {capabilities: {add: [PERFMON]}}",
			Note: "containerd 1.7 or later; needs Pod Security privileged",
		})
	}
	switch f.Container {
	case "docker":
		return docker
	case "podman":
		// Its profile asks for CAP_SYS_ADMIN beside CAP_PERFMON, in all but the latest releases.
		return []Remedy{{Where: "podman", Grant: "podman run --security-opt seccomp=perf.json", Note: docker[0].Note}}
	case "kubernetes":
		return kubernetes
	case "container":
		return slices.Concat(docker, kubernetes)
	}
	return []Remedy{{
		Where: "systemd", Grant: "SystemCallFilter=" + call,
		Note: "one more such line in [Service] adds to the filter",
	}}
}

// grantPerfmon returns what lets one program count at any level of the machine. A kernel that has
// refused the capability already is not asked again.
func (f finding) grantPerfmon() []Remedy {
	const note = "the kernel and other processes, too; not all kernels take it"
	switch {
	case f.Capabilities&perf.CapPerfmon != 0 || f.UserNamespace:
		return nil
	case f.Container == "docker":
		return []Remedy{{Where: "docker", Grant: "docker run --cap-add PERFMON", Note: note}}
	case f.Container == "podman":
		return []Remedy{{Where: "podman", Grant: "podman run --cap-add PERFMON", Note: note}}
	case f.Container == "kubernetes":
		return []Remedy{{Where: "kubernetes", Grant: "securityContext: {capabilities: {add: [PERFMON]}}", Note: note}}
	case f.Container != "":
		return nil
	}
	return []Remedy{
		{Where: "systemd", Grant: "AmbientCapabilities=CAP_PERFMON", Note: "in [Service]; " + note},
		{Where: "shell", Grant: "sudo setcap cap_perfmon=ep ./program", Note: "holds for every user who runs that file; repeat it after each build"},
	}
}

// raise returns what raises a resource limit, whose unit is another for shells than for the rest.
func (f finding) raise(ulimit, shell, unit string, inShell, value int) []Remedy {
	if f.Container == "kubernetes" {
		return []Remedy{{
			Where: "node", Grant: fmt.Sprintf("%s=%d", unit, value),
			Note: "in the systemd unit of the container runtime: pods have no field for it",
		}}
	}
	var all []Remedy
	for _, engine := range []string{"docker", "podman"} {
		if f.Container == engine || f.Container == "container" {
			all = append(all, Remedy{Where: engine, Grant: fmt.Sprintf("%s run --ulimit %s=%d", engine, ulimit, value)})
		}
	}
	if all == nil {
		all = []Remedy{
			{Where: "shell", Grant: fmt.Sprintf("%s %d", shell, inShell), Note: "that starts the program; above the hard limit, as root"},
			{Where: "systemd", Grant: fmt.Sprintf("%s=%d", unit, value), Note: "in [Service]"},
		}
	}
	return all
}

// virtualPMUs are how hypervisors lend their PMU, by the maker or model that their machines show.
var virtualPMUs = []struct{ product, grant, note string }{
	{"QEMU", "qemu-system-x86_64 -cpu host,pmu=on", "libvirt: <cpu mode='host-passthrough'/> and <features><pmu state='on'/></features>"},
	{"VMware", `vpmc.enable = "TRUE"`, "in the .vmx file: Virtualize CPU performance counters"},
	{"Microsoft", `Set-VMProcessor NAME -Perfmon @("pmu")`, "Hyper-V, with the machine off; Azure has no such setting"},
	{"Google", "gcloud compute instances create NAME --performance-monitoring-unit=standard", "C4 and C4A machines"},
	{"Amazon", "an instance type that ends in .metal", "or one that has all CPUs of a socket"},
	{"", "a virtual PMU", "the machine does not say which hypervisor this is: docs/doctor.md has the settings of several"},
}

// virtualPMU returns how this machine's hypervisor lends its PMU.
func (f finding) virtualPMU() []Remedy {
	for _, v := range virtualPMUs {
		if strings.Contains(f.Product, v.product) {
			return []Remedy{{Where: "hypervisor", Grant: v.grant, Note: v.note}}
		}
	}
	return nil
}

// explainPage adds why a counter that counts cannot be read in user space.
func (f finding) explainPage(c *Check) {
	for _, p := range f.PMUs {
		if p.RDPMC != nil && *p.RDPMC == 0 {
			file := "/sys/bus/event_source/devices/" + p.Name + "/rdpmc"
			c.Detail = file + " is 0: reads take a system call"
			c.Remedies = f.onHost("echo 1 | sudo tee "+file, "")
			return
		}
	}
	switch {
	case f.Arch == "arm64" && f.UserAccess != nil && *f.UserAccess == 0:
		c.Detail = "perf_user_access is 0: reads take a system call"
		c.Remedies = f.onHost("sudo sysctl kernel.perf_user_access=1", "")
	case f.Arch == "arm64" && f.UserAccess == nil:
		c.Detail = "needs Linux 5.17: reads take a system call"
	case f.LockableBytes() < perf.Unlimited && strings.HasPrefix(f.Page.Error(), "mmap"):
		c.Detail = f.Page.Error() + ": see locked_memory"
	default:
		c.Detail = f.Page.Error() + ": reads take a system call"
	}
}
