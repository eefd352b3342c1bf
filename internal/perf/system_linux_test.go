package perf

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
)

func TestReadSystem(t *testing.T) {
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	ReadSystem() // the runtime's poller opens its files with the first one, and keeps them
	before := open()
	var s System
	took := time.Hour
	for try := 0; try < 10 && took > time.Second; try++ { // a busy machine takes the time of some
		start := time.Now()
		s = ReadSystem()
		took = time.Since(start)
	}
	if took > time.Second {
		t.Errorf("ReadSystem took %v, want at most 1s", took)
	}
	if after := open(); after != before {
		t.Errorf("%d files open after ReadSystem, %d before", after, before)
	}
	if s.Usage != nil || s.Timer != nil || s.MaxFiles == 0 || s.Kernel == "" || s.UID == nil || s.OpenFiles == nil {
		t.Errorf("ReadSystem() = %+v", s)
	}
	if s.OpenFiles != nil && *s.OpenFiles != before-1 {
		t.Errorf("OpenFiles = %d, want %d: what the test lists has its own folder", *s.OpenFiles, before-1)
	}
	if s.Counter != nil {
		testutil.Lacks(t, "PMU", "no hardware counter: "+s.Counter.Error())
	}
	if s.General < 1 || s.General >= maxTried || s.Fixed < 0 {
		t.Errorf("%d general and %d fixed counters", s.General, s.Fixed)
	}
}

// child runs a test once more, in a process of its own that attr describes. It returns true there.
func child(t *testing.T, attr *syscall.SysProcAttr) bool {
	t.Helper()
	const mark = "OTELPROF_TEST_CHILD"
	if os.Getenv(mark) != "" {
		return true
	}
	// Where tests run, other users may not even see the program.
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		testutil.Lacks(t, "PROC", err.Error())
	}
	defer self.Close()
	cmd := exec.Command("/proc/self/fd/3", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), mark+"=1")
	cmd.SysProcAttr = attr
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// TestReadSystemFiltered installs the filter that container engines have by default, as far as it
// matters here.
func TestReadSystemFiltered(t *testing.T) {
	if !child(t, nil) {
		return
	}
	const (
		loadNumber = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		jumpEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		give       = unix.BPF_RET | unix.BPF_K
	)
	program := []unix.SockFilter{
		{Code: loadNumber},
		{Code: jumpEqual, K: unix.SYS_PERF_EVENT_OPEN, Jf: 1},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		t.Fatal(errno)
	}
	s := ReadSystem()
	if s.Seccomp == nil || *s.Seccomp != 2 {
		t.Errorf("seccomp mode %v, want 2", s.Seccomp)
	}
	for name, err := range map[string]error{"Call": s.Call, "Clock": s.Clock, "Counter": s.Counter, "Samples": s.Samples} {
		if !errors.Is(err, syscall.EPERM) {
			t.Errorf("%s: %v, want EPERM", name, err)
		}
	}
	if s.Usage != nil || s.Timer != nil {
		t.Errorf("usage %v, timer %v, want none", s.Usage, s.Timer)
	}
}

// What is tried of samples is what takes them of a program, whose threads and CPUs need files.
func TestTrySamples(t *testing.T) {
	if !child(t, nil) {
		return
	}
	if err := perftest.LimitFiles(6); err != nil {
		t.Fatal(err)
	}
	if err := trySamples(); !errors.Is(err, ErrTooManyFiles) {
		t.Errorf("with 6 open files at most: %v, want that samples need more", err)
	}
}

// TestReadSystemNobody checks that a process of user nobody can still ask, and has the thread's
// usage.
func TestReadSystemNobody(t *testing.T) {
	if os.Getuid() != 0 && os.Getenv("OTELPROF_TEST_CHILD") == "" {
		testutil.Lacks(t, "ROOT", "needs root to become nobody")
	}
	if !child(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}) {
		return
	}
	s := ReadSystem()
	if s.UID == nil || *s.UID != 65534 || s.Capabilities != 0 || s.Usage != nil || s.Timer != nil {
		t.Errorf("ReadSystem() = %+v", s)
	}
	if s.Call == nil && s.Paranoid != nil && *s.Paranoid <= 2 && s.Clock != nil {
		t.Errorf("a counter of an own thread at perf_event_paranoid %d: %v", *s.Paranoid, s.Clock)
	}
}
