package perf

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCause(t *testing.T) {
	pmu := surroundings{pmu: true, limit: 1024}
	paranoid := func(n int) surroundings { return surroundings{pmu: true, Files: Files{Paranoid: &n}} }
	filtered := surroundings{pmu: true, Files: Files{Paranoid: new(2), Seccomp: new(2)}}
	capable := surroundings{pmu: true, Files: Files{Paranoid: new(4), Capabilities: CapPerfmon}}
	for _, test := range []struct {
		errno  unix.Errno
		index  int
		kernel bool
		s      surroundings
		kind   error
		cause  string
		remedy string
	}{
		{unix.ENOENT, 0, false, surroundings{}, ErrNotSupported, "no hardware PMU", ""},
		{unix.ENOENT, 1, false, pmu, ErrNoEvent, "no such event", ""},
		{unix.EOPNOTSUPP, 0, false, pmu, ErrNoEvent, "no such event", ""},
		{unix.ENODEV, 0, false, surroundings{}, ErrNotSupported, "no hardware PMU", ""},
		{unix.EACCES, 0, false, paranoid(3), ErrPermission, "is 3: must be at most 2", "perf_event_paranoid=2"},
		{unix.EACCES, 0, true, paranoid(2), ErrPermission, "is 2: must be at most 1", "perf_event_paranoid=1"},
		{unix.EPERM, 0, false, paranoid(4), ErrPermission, "is 4: must be at most 2", `["PERFMON"]`},
		{unix.EPERM, 0, false, filtered, ErrPermission, "seccomp", "--cap-add PERFMON"},
		{unix.EPERM, 0, false, paranoid(2), ErrPermission, "security module", "PERFMON"},
		{unix.EACCES, 0, false, capable, ErrPermission, "security module", "PERFMON"},
		{unix.ENOSYS, 0, false, filtered, ErrPermission, "seccomp", "perf_event_open"},
		{unix.ENOSYS, 0, false, surroundings{}, ErrNotSupported, "CONFIG_PERF_EVENTS", ""},
		{unix.EINVAL, 4, false, pmu, ErrGroupTooLarge, "5 such events", "fewer"},
		{unix.EINVAL, 0, false, pmu, ErrInvalid, "does not accept", ""},
		{unix.EMFILE, 0, false, pmu, ErrTooManyFiles, "1024 files", "ulimit -n"},
		{unix.ENFILE, 0, false, pmu, ErrTooManyFiles, "system", "fs.file-max"},
		{unix.EBUSY, 0, false, pmu, ErrNotScheduled, "for itself", ""},
		{unix.ESRCH, 0, false, pmu, ErrInvalid, "no such process", ""},
	} {
		got := cause(test.errno, test.index, test.kernel, &test.s)
		if !errors.Is(got.Kind, test.kind) || !strings.Contains(got.Cause, test.cause) || !strings.Contains(got.Remedy, test.remedy) ||
			(test.remedy == "") != (got.Remedy == "") {
			t.Errorf("cause(%v, %d, %t, %+v) = %v: %q, %q, want %v: %q, %q",
				test.errno, test.index, test.kernel, test.s, got.Kind, got.Cause, got.Remedy, test.kind, test.cause, test.remedy)
		}
		if strings.Contains(got.Error(), "SYS_ADMIN") {
			t.Errorf("%q asks for far too much", got)
		}
	}
}

func TestErrorWraps(t *testing.T) {
	err := explain(unix.EMFILE, 3, taskClock)
	if !errors.Is(err, ErrTooManyFiles) || !errors.Is(err, unix.EMFILE) || err.Event != 3 || !strings.Contains(err.Error(), "(EMFILE)") {
		t.Errorf("explain(EMFILE, 3) = %#v", err)
	}
	if err := (&Error{Kind: ErrNotSupported, Cause: "none"}); !errors.Is(err, ErrNotSupported) || err.Error() != "none" {
		t.Errorf("%#v, %q: want to be ErrNotSupported, %q", err, err, "none")
	}
}
