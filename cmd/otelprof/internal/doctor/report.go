package doctor

import "github.com/otelprof/otelprof/pmuattrs"

// A Report is what this process can measure about single spans on this machine, and what grants
// the rest. Its JSON, with the names that the fields have here, is stable: fields are added, not
// renamed. See [Probe].
type Report struct {
	// Source is the best source of counters that works.
	Source pmuattrs.Source `json:"source"`
	// Verdict is that in a sentence, with the reason if it is not the hardware.
	Verdict string `json:"verdict"`
	// Abilities are what can be measured: hw, rusage, rdpmc and samples.
	Abilities []Check `json:"abilities"`
	// Conditions are what that depends on: pmu, perf_event_open, perf_event_paranoid, open_files,
	// locked_memory, timerfd and cpu_quota. There are none on systems other than Linux.
	Conditions []Check `json:"conditions,omitempty"`
	// Counts are what [CheckCounters] has found; Probe leaves them out.
	Counts []KnownCount `json:"counts,omitempty"`
	// Machine is what the rest was concluded from.
	Machine Machine `json:"machine"`
}

// SourceNone in a [Report] means that spans can have no counters.
const SourceNone pmuattrs.Source = "none"

// A Check is one thing that works, or does not.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Detail is what was found, in a line.
	Detail string `json:"detail"`
	// Remedies grant what is missing, the smallest grant first. One is enough unless a note has
	// otherwise.
	Remedies []Remedy `json:"remedies,omitempty"`
}

// A Status is how a check came out.
type Status string

// How checks come out.
const (
	StatusOK      Status = "ok"
	StatusLimited Status = "limited" // works, with less than usual
	StatusMissing Status = "missing"
	StatusUntried Status = "untried" // what it needs is missing
)

// Works reports whether the check came out well enough to measure: ok or limited.
func (s Status) Works() bool { return s == StatusOK || s == StatusLimited }

// A Remedy is a change to the machine that makes counters available.
type Remedy struct {
	// Where is host, node, hypervisor, docker, podman, kubernetes, systemd, shell or program.
	Where string `json:"where"`
	// Grant is the command, flag or field, to be used as it is.
	Grant string `json:"grant"`
	// Note is what else there is to know; it may be empty.
	Note string `json:"note,omitempty"`
}

// A Machine is what the kernel reports. Null, in JSON, stands for what it does not.
type Machine struct {
	OS              string  `json:"os"`
	Arch            string  `json:"arch"`
	Kernel          string  `json:"kernel"`
	Virtual         bool    `json:"virtual"`   // a hypervisor shows that it is there
	Product         string  `json:"product"`   // maker and model of the machine, often empty
	Container       string  `json:"container"` // kubernetes, podman, docker or container; empty where nothing hints at one
	UserNamespace   bool    `json:"user_namespace"`
	UID             *int    `json:"uid"`
	CapPerfmon      bool    `json:"cap_perfmon"`
	CapSysAdmin     bool    `json:"cap_sys_admin"`
	Seccomp         *int    `json:"seccomp"` // 0 off, 1 strict, 2 filter
	Paranoid        *int    `json:"perf_event_paranoid"`
	MaxSampleRate   *int    `json:"perf_event_max_sample_rate"` // per second and CPU
	MlockKB         *int    `json:"perf_event_mlock_kb"`        // per user and CPU
	UserAccess      *int    `json:"perf_user_access"`           // arm64
	GeneralCounters *int    `json:"general_counters"`           // of one thread, for any event
	FixedCounters   *int    `json:"fixed_counters"`             // on top, for instructions, cycles or reference cycles
	OpenFiles       *int    `json:"open_files"`
	MaxOpenFiles    uint64  `json:"max_open_files"`   // RLIMIT_NOFILE
	MaxLockedBytes  uint64  `json:"max_locked_bytes"` // RLIMIT_MEMLOCK; 2^64-1 means no limit
	CPUs            int     `json:"cpus"`             // that this process may run on
	GOMAXPROCS      int     `json:"gomaxprocs"`
	CPUQuota        float64 `json:"cpu_quota"` // of the cgroup, in CPUs; 0 means no limit
}

// Check returns the ability or condition of that name.
func (r Report) Check(name string) (c Check, ok bool) {
	for _, checks := range [][]Check{r.Abilities, r.Conditions} {
		for _, c := range checks {
			if c.Name == name {
				return c, true
			}
		}
	}
	return Check{}, false
}
