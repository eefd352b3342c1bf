package perf

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// surroundings are the facts that distinguish the causes of an errno.
type surroundings struct {
	Files
	pmu   bool // there is one, whether this process may use it or not
	limit int  // of open files
}

// explain makes the error for the event at that index.
func explain(errno unix.Errno, index int, e Event) *Error {
	s := surroundings{limit: FileLimit()}
	// Where files are short none must be opened: if it is a program's first, the Go runtime
	// wants one more for epoll, and ends the program if it cannot have it.
	if errno != unix.EMFILE && errno != unix.ENFILE {
		s.Files, s.pmu = ReadFiles(os.DirFS("/")), hasPMU()
	}
	err := cause(errno, index, e.Kernel, &s)
	err.Errno, err.Code, err.Event = errno, unix.ErrnoName(errno), index
	return err
}

const grantCapability = `the capability PERFMON (setcap cap_perfmon=ep FILE; docker run --cap-add PERFMON; ` +
	`Kubernetes securityContext.capabilities.add: ["PERFMON"])`

// cause is the one place where errnos of perf_event_open are given a meaning.
func cause(errno unix.Errno, index int, kernel bool, s *surroundings) *Error {
	filtered := s.Seccomp != nil && *s.Seccomp == 2
	switch errno {
	case unix.ENOENT, unix.ENODEV, unix.ENXIO, unix.EOPNOTSUPP:
		if !s.pmu {
			return &Error{Kind: ErrNotSupported, Cause: "no hardware PMU: most virtual machines have none"}
		}
		return &Error{Kind: ErrNoEvent, Cause: "this machine's PMU has no such event"}
	case unix.EACCES, unix.EPERM:
		need := 2
		if kernel {
			need = 1
		}
		if s.Paranoid != nil && *s.Paranoid > need && !s.Has(CapPerfmon|CapSysAdmin) {
			return &Error{
				Kind:   ErrPermission,
				Cause:  fmt.Sprintf("kernel.perf_event_paranoid is %d: must be at most %d without CAP_PERFMON", *s.Paranoid, need),
				Remedy: fmt.Sprintf("set sysctl kernel.perf_event_paranoid=%d, or grant %s", need, grantCapability),
			}
		}
		if filtered {
			return &Error{
				Kind:   ErrPermission,
				Cause:  "a seccomp filter denies perf_event_open",
				Remedy: "the profile must allow perf_event_open; Docker's and containerd's own do with " + grantCapability,
			}
		}
		return &Error{Kind: ErrPermission, Cause: "a security module denies perf_event_open", Remedy: "grant " + grantCapability}
	case unix.ENOSYS:
		if filtered {
			return &Error{
				Kind: ErrPermission, Cause: "a seccomp filter hides perf_event_open",
				Remedy: "the profile must allow perf_event_open",
			}
		}
		return &Error{Kind: ErrNotSupported, Cause: "the kernel was built without CONFIG_PERF_EVENTS"}
	case unix.EINVAL, unix.ENOSPC:
		if index > 0 {
			return &Error{
				Kind: ErrGroupTooLarge, Cause: fmt.Sprintf("the PMU cannot count %d such events at the same time", index+1),
				Remedy: "count fewer events",
			}
		}
		return &Error{Kind: ErrInvalid, Cause: "the kernel does not accept this event"}
	case unix.EMFILE:
		return &Error{
			Kind: ErrTooManyFiles, Cause: fmt.Sprintf("the process may have %d files open", s.limit),
			Remedy: raiseFiles,
		}
	case unix.ENFILE:
		return &Error{Kind: ErrTooManyFiles, Cause: "the system has too many files open", Remedy: "raise sysctl fs.file-max"}
	case unix.EBUSY:
		return &Error{Kind: ErrNotScheduled, Cause: "another process has the PMU for itself"}
	default: // ESRCH, E2BIG, ENOMEM, ...
		return &Error{Kind: ErrInvalid, Cause: "perf_event_open: " + errno.Error()}
	}
}

// hasPMU reports whether cycles can be counted, or could be with the right permission.
func hasPMU() bool {
	file, errno := openEvent(Event{Type: TypeHardware}, unix.PerfBitDisabled, -1)
	if errno == 0 {
		_ = unix.Close(file) // it was never used
	}
	return errno != unix.ENOENT && errno != unix.ENODEV && errno != unix.EOPNOTSUPP
}
