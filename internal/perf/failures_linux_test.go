package perf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
)

// These tests make perf_event_open fail for real, in children.

func init() {
	children["EMFILE"] = func() error {
		if err := perftest.LimitFiles(32); err != nil {
			return err
		}
		for range 32 {
			if _, err := Open([]Event{taskClock, pageFaults}); err != nil {
				return refusal(err, ErrTooManyFiles, unix.EMFILE, "32 files")
			}
		}
		return errors.New("64 files were opened, 32 are allowed")
	}
	for name, errno := range map[string]unix.Errno{"EPERM": unix.EPERM, "ENOSYS": unix.ENOSYS} {
		children[name] = func() error {
			if err := perftest.DenyPerf(errno); err != nil {
				return err
			}
			_, err := Open([]Event{taskClock})
			return refusal(err, ErrPermission, errno, "seccomp")
		}
	}
	children["paranoid"] = func() error {
		_, err := Open([]Event{taskClock})
		return refusal(err, ErrPermission, unix.EACCES, "kernel.perf_event_paranoid is 3")
	}
	children["kernel"] = func() error {
		_, err := Open([]Event{{Type: TypeSoftware, Config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, Kernel: true}})
		return refusal(err, ErrPermission, unix.EACCES, "must be at most 1")
	}
}

// refusal checks an error of Open, and that the thread can do without counters.
func refusal(err, kind error, errno unix.Errno, says string) error {
	var refused *Error
	switch {
	case err == nil:
		return errors.New("opened")
	case !errors.Is(err, kind) || !errors.Is(err, errno) || !errors.As(err, &refused):
		return fmt.Errorf("Open = %w, want an *Error that wraps %w, %w", err, kind, errno)
	case !strings.Contains(err.Error(), says) || refused.Remedy == "":
		return fmt.Errorf("Open = %w, with the remedy %q: want one, and %q", err, refused.Remedy, says)
	}
	fmt.Println(err)
	return ThreadUsage(new(Usage))
}

func TestTooManyFiles(t *testing.T) {
	mustOpen(t, taskClock)
	inChild(t, "EMFILE", nil)
}

func TestSeccompDenies(t *testing.T) {
	inChild(t, "EPERM", nil)
	inChild(t, "ENOSYS", nil)
}

// ordinary makes a child an ordinary user's.
func ordinary(t *testing.T, child *exec.Cmd) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	// Where the test binary lies is often root's alone; an open file can be run all the same.
	self, err := os.Open(child.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { self.Close() })
	child.ExtraFiles = append(child.ExtraFiles, self)
	child.Path, child.Dir = "/proc/self/fd/3", "/"
}

func TestParanoid(t *testing.T) {
	level := ReadFiles(os.DirFS("/")).Paranoid
	if level == nil || *level != 3 {
		testutil.Lacks(t, "PARANOID", "kernel.perf_event_paranoid is not 3")
	}
	inChild(t, "paranoid", func(child *exec.Cmd) { ordinary(t, child) })
}

func TestKernelNeedsMore(t *testing.T) {
	level := ReadFiles(os.DirFS("/")).Paranoid
	if level == nil || *level != 2 {
		testutil.Lacks(t, "PARANOID_2", "kernel.perf_event_paranoid is not 2")
	}
	inChild(t, "kernel", func(child *exec.Cmd) { ordinary(t, child) })
}
