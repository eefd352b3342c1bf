package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/pmuattrs"
)

// Probe finds out what this process can measure on this machine, by asking the kernel and by
// trying. It takes a few milliseconds of CPU time, changes nothing, and works everywhere: where
// there is nothing to measure with, it reports that. Safe for concurrent use.
//
// The call of perf_event_open ends the process under a seccomp filter that kills; see
// docs/doctor.md.
func Probe() Report { return report(perf.ReadSystem()) }

// A finding is a system about which conclusions are drawn.
type finding struct{ perf.System }

// report draws the conclusions.
func report(s perf.System) Report {
	f := finding{s}
	r := Report{Machine: f.machine()}
	if s.OS != "linux" {
		f.foreign(&r)
		return r
	}
	r.Conditions = []Check{f.pmu(), f.call(), f.paranoid(), f.openFiles(), f.lockedMemory(), f.timer(), f.quota()}
	r.Abilities = []Check{f.hardware(&r), f.thread(), f.userReads(), f.samples(&r)}
	hw, rusage, rdpmc := r.Abilities[0], r.Abilities[1], r.Abilities[2]
	switch {
	case hw.Status.Works():
		how := "read with system calls"
		if rdpmc.Status.Works() {
			how = "read without system calls"
		}
		r.Source, r.Verdict = pmuattrs.SourceHardware, fmt.Sprintf("hardware (%s, %s)", f.counters(), how)
	case rusage.Status.Works():
		r.Source, r.Verdict = pmuattrs.SourceUsage, fmt.Sprintf("thread CPU time only (%s)", f.reason(&r))
	default:
		r.Source, r.Verdict = SourceNone, fmt.Sprintf("none (%s; %s)", f.reason(&r), rusage.Detail)
	}
	return r
}

// foreign is the report of a system that is not Linux.
func (f finding) foreign(r *Report) {
	r.Source = SourceNone
	r.Verdict = "none (not supported on " + f.OS + ": they need Linux)"
	for _, name := range []string{"hw", "rusage", "rdpmc", "samples"} {
		r.Abilities = append(r.Abilities, Check{Name: name, Status: StatusMissing, Detail: "not supported on " + f.OS})
	}
}

// reason returns why there are no hardware counters: what no permission can change comes first.
func (f finding) reason(r *Report) string {
	missing := func(name string) bool { c, _ := r.Check(name); return c.Status == StatusMissing }
	switch {
	case missing("pmu") && f.Hypervisor:
		return "no hardware PMU: this virtual machine has none"
	case missing("pmu"):
		return "no hardware PMU"
	case missing("perf_event_open"):
		return "perf_event_open: " + f.call().Detail
	case missing("perf_event_paranoid"):
		return "perf_event_paranoid is " + maybe(f.Paranoid)
	}
	return denial(f.Counter)
}

// hardware concludes from the trial, and blames the conditions if there are any to blame.
func (f finding) hardware(r *Report) Check {
	c := Check{Name: "hw", Status: StatusMissing}
	switch {
	case f.Counter == nil:
		c.Status, c.Detail = StatusOK, f.counters()+", "+f.modes()
	case f.blame(r, &c, "pmu", "perf_event_open", "perf_event_paranoid"):
	default:
		c.Detail = denial(f.Counter)
	}
	return c
}

func (f finding) thread() Check {
	c := Check{Name: "rusage", Status: StatusOK, Detail: "CPU time, context switches and page faults of a thread"}
	if f.Usage != nil {
		c.Status, c.Detail = StatusMissing, f.Usage.Error()
	}
	return c
}

// userReads describes the reading of counters without system calls.
func (f finding) userReads() Check {
	c := Check{Name: "rdpmc", Status: StatusMissing}
	switch {
	case f.Counter != nil:
		c.Status, c.Detail = StatusUntried, "needs hw"
	case f.Page == nil:
		c.Status, c.Detail = StatusOK, "counters can be read without a system call"
	default:
		f.explainPage(&c)
	}
	return c
}

func (f finding) samples(r *Report) Check {
	c := Check{Name: "samples", Status: StatusMissing}
	const rate = 1000
	low := f.MaxSampleRate != nil && *f.MaxSampleRate < rate // then the kernel throttles
	switch {
	case f.Samples == nil && !low:
		c.Status, c.Detail = StatusOK, fmt.Sprintf("%d samples of a thread's CPU time per second", rate)
	case f.Samples != nil && f.blame(r, &c, "perf_event_open", "perf_event_paranoid"):
	case low:
		c.Detail = fmt.Sprintf("perf_event_max_sample_rate is %d, must be at least %d", *f.MaxSampleRate, rate)
		// The kernel lowers it when it finds that samples take too much time.
		c.Remedies = f.onHost(fmt.Sprintf("sudo sysctl kernel.perf_event_max_sample_rate=%d", 100*rate), "")
	default:
		c.Detail = denial(f.Samples)
	}
	return c
}

// blame makes c name the conditions that are missing, and reports whether there are any.
func (f finding) blame(r *Report, c *Check, conditions ...string) bool {
	var missing []string
	for _, name := range conditions {
		if condition, _ := r.Check(name); condition.Status == StatusMissing {
			missing = append(missing, name)
		}
	}
	c.Detail = "needs " + strings.Join(missing, ", ")
	return len(missing) > 0
}

// counters returns how many there are.
func (f finding) counters() string {
	if f.General == 0 {
		return "number of counters unknown"
	}
	return fmt.Sprintf("%d general counters and %d fixed", f.General, f.Fixed)
}

// modes returns in which modes of the CPU the kernel lets this process count.
func (f finding) modes() string {
	if f.Paranoid != nil && *f.Paranoid <= 1 || f.Has(perf.CapPerfmon|perf.CapSysAdmin) {
		return "user and kernel mode"
	}
	return "user mode"
}

// denial puts the error of a trial whose conditions are all met into words.
func denial(err error) string {
	if e, ok := errors.AsType[*perf.Error](err); ok {
		return e.Cause
	}
	return err.Error()
}

// machine copies the facts.
func (f finding) machine() Machine {
	m := Machine{
		OS: f.OS, Arch: f.Arch, Kernel: f.Kernel, Virtual: f.Hypervisor, Product: f.Product, Container: f.Container,
		UserNamespace: f.UserNamespace, UID: f.UID, Seccomp: f.Seccomp,
		CapPerfmon: f.Capabilities&perf.CapPerfmon != 0, CapSysAdmin: f.Capabilities&perf.CapSysAdmin != 0,
		Paranoid: f.Paranoid, MaxSampleRate: f.MaxSampleRate, MlockKB: f.MlockKB, UserAccess: f.UserAccess,
		OpenFiles: f.OpenFiles, MaxOpenFiles: f.MaxFiles, MaxLockedBytes: f.MaxLockedBytes,
		CPUs: f.CPUs, GOMAXPROCS: f.Procs, CPUQuota: f.Quota,
	}
	if f.General > 0 {
		m.GeneralCounters, m.FixedCounters = &f.General, &f.Fixed
	}
	return m
}

func maybe(n *int) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}
