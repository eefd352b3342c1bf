package doctor

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"

	"github.com/otelprof/otelprof/internal/perf"
)

// What a thread needs that is measured with all counters of a usual CPU, four general and three
// fixed: an open file and a locked page for each. A service in which wantThreads measure at a time
// is a busy one.
const (
	threadCounters = 7
	pageBytes      = 4096
	wantThreads    = 64
)

func (f finding) pmu() Check {
	c := Check{Name: "pmu", Status: StatusOK}
	var names []string
	for _, p := range f.PMUs {
		name := p.Name
		if p.Model != "" {
			name += " (" + p.Model + ")"
		}
		names = append(names, name)
	}
	switch {
	case len(names) > 0:
		c.Detail = strings.Join(names, ", ")
	case f.Counter == nil:
		c.Detail = "it counts, though sysfs does not name it"
	case f.PMUs == nil:
		c.Status, c.Detail = StatusUntried, "sysfs does not say whether there is one"
	case f.Hypervisor:
		c.Status, c.Detail = StatusMissing, "the hypervisor lends none"
		c.Remedies = f.virtualPMU()
	default:
		c.Status, c.Detail = StatusMissing, "the kernel has found none in the CPUs"
	}
	return c
}

// call reports whether perf_event_open reaches the kernel.
func (f finding) call() Check {
	c := Check{Name: "perf_event_open", Status: StatusMissing}
	filtered := f.Seccomp != nil && *f.Seccomp != 0
	switch {
	case f.Call == nil && filtered:
		c.Status, c.Detail = StatusOK, "the seccomp filter lets it through"
	case f.Call == nil:
		c.Status, c.Detail = StatusOK, "no seccomp filter"
	case filtered || errors.Is(f.Call, syscall.EPERM):
		c.Detail = "a seccomp filter forbids it"
		c.Remedies = f.passFilter("perf_event_open")
	case errors.Is(f.Call, syscall.ENOSYS):
		c.Detail = "the kernel was built without it (CONFIG_PERF_EVENTS)"
	default:
		c.Detail = f.Call.Error() + ": the sandbox has none"
	}
	return c
}

// paranoid goes by the trial where there was one: only some distributions' kernels take levels
// above 2 for more, and those look for CAP_SYS_ADMIN where others are content with CAP_PERFMON.
func (f finding) paranoid() Check {
	c := Check{Name: "perf_event_paranoid", Status: StatusOK}
	level := "level " + maybe(f.Paranoid)
	high := f.Paranoid != nil && *f.Paranoid > 2
	privileged := f.Has(perf.CapPerfmon | perf.CapSysAdmin)
	switch {
	case f.Clock == nil && high && privileged:
		c.Detail = level + ", lifted by a capability"
	case f.Clock == nil, f.Call != nil && !high:
		c.Detail = level + ": own threads in " + f.modes()
	case high && f.Call != nil && privileged:
		c.Status, c.Detail = StatusUntried, level+", a capability may lift it"
	case high:
		c.Status, c.Detail = StatusMissing, level+" forbids counters, 2 allows them"
		if f.Has(perf.CapPerfmon) {
			c.Detail += ", and CAP_PERFMON does not help with this kernel"
		}
		c.Remedies = slices.Concat(f.grantPerfmon(), f.onHost("sudo sysctl kernel.perf_event_paranoid=2",
			"all users may then count in user mode what their own processes do, and no more"))
	case !errors.Is(f.Clock, syscall.EACCES) && !errors.Is(f.Clock, syscall.EPERM):
		c.Status, c.Detail = StatusUntried, level+", but: "+denial(f.Clock)
	default:
		c.Status, c.Detail = StatusMissing, level+" allows counters, but: "+denial(f.Clock)
		c.Remedies = f.onHost("sudo ausearch --message avc --start recent", "shows what SELinux has denied")
	}
	return c
}

func (f finding) openFiles() Check {
	c := Check{Name: "open_files"}
	if f.MaxFiles == 0 || f.OpenFiles == nil {
		c.Status, c.Detail = StatusUntried, "limit unknown"
		return c
	}
	if f.MaxFiles == perf.Unlimited {
		c.Status, c.Detail = StatusOK, "no limit"
		return c
	}
	free := f.MaxFiles - min(f.MaxFiles, uint64(*f.OpenFiles))
	c.Status, c.Detail = room(free / threadCounters)
	c.Detail = fmt.Sprintf("limit %d, of which %d are open; %s", f.MaxFiles, *f.OpenFiles, c.Detail)
	if c.Status != StatusOK {
		c.Remedies = f.raise("nofile", "ulimit -n", "LimitNOFILE", 4096, 4096)
	}
	return c
}

func (f finding) lockedMemory() Check {
	c := Check{Name: "locked_memory"}
	switch lockable := f.LockableBytes(); lockable {
	case 0:
		c.Status, c.Detail = StatusUntried, "limit unknown"
	case perf.Unlimited:
		c.Status, c.Detail = StatusOK, "no limit"
	default:
		c.Status, c.Detail = room(lockable / (threadCounters * pageBytes))
		c.Detail = fmt.Sprintf("limit %d kB; %s", lockable>>10, c.Detail)
	}
	if c.Status == StatusLimited || c.Status == StatusMissing {
		c.Remedies = f.raise("memlock", "ulimit -l", "LimitMEMLOCK", 8<<10, 8<<20)
	}
	return c
}

// room rates how many threads can have counters at the same time.
func room(threads uint64) (Status, string) {
	detail := fmt.Sprintf("threads that can have %d counters: %d", threadCounters, threads)
	switch {
	case threads == 0:
		return StatusMissing, detail
	case threads < wantThreads:
		return StatusLimited, detail
	}
	return StatusOK, detail
}

func (f finding) timer() Check {
	c := Check{Name: "timerfd", Status: StatusOK, Detail: "sleeps of less than a millisecond"}
	if f.Timer != nil {
		c.Status, c.Detail = StatusMissing, f.Timer.Error()
		if errors.Is(f.Timer, syscall.EPERM) || errors.Is(f.Timer, syscall.ENOSYS) {
			c.Remedies = f.passFilter("timerfd_create")
		}
	}
	return c
}

// quota finds a program that runs on more CPUs than its cgroup pays for, which is stopped in the
// middle of spans.
func (f finding) quota() Check {
	c := Check{Name: "cpu_quota", Status: StatusOK}
	whole := max(2, int(math.Ceil(f.Quota))) // less is not the Go runtime's default either
	switch {
	case f.Quota == 0:
		c.Detail = fmt.Sprintf("none; GOMAXPROCS is %d", f.Procs)
	case f.Procs <= whole:
		c.Detail = fmt.Sprintf("%g CPUs; GOMAXPROCS is %d", f.Quota, f.Procs)
	default:
		c.Status = StatusLimited
		c.Detail = fmt.Sprintf("%g CPUs, but GOMAXPROCS is %d: the kernel stops the process in the middle of spans",
			f.Quota, f.Procs)
		c.Remedies = []Remedy{{Where: "program", Grant: fmt.Sprintf("GOMAXPROCS=%d", whole)}}
	}
	return c
}
