package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// tmpfs mounts a file system of kib KiB at folder, and returns how to take it away.
func tmpfs(folder string, kib int) (undo func(), err error) {
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		return nil, fmt.Errorf("mount tmpfs: %w", err)
	}
	return func() { _ = unix.Unmount(folder, unix.MNT_DETACH) }, nil
}

// limitFiles bounds the number of descriptors of a process.
func limitFiles(pid int, n uint64) error {
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}, nil)
}

// limitMemory bounds the memory of a process from now on by a control group, of either version.
func limitMemory(pid int, mib int) (undo func(), err error) {
	name := fmt.Sprintf("otelprof-faults-%d", pid)
	if undo, err = memoryGroup(name, mib); err != nil {
		return nil, err
	}
	if err := enterGroup(name, pid); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// memoryRoot returns where memory is bounded, and by which file of a group.
func memoryRoot() (root, limit string) {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		return "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	}
	return "/sys/fs/cgroup", "memory.max"
}

// memoryGroup makes a control group of mib MiB, and returns how to remove it.
func memoryGroup(name string, mib int) (undo func(), err error) {
	root, limit := memoryRoot()
	folder := filepath.Join(root, name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	undo = func() { _ = os.Remove(folder) }
	if err := os.WriteFile(filepath.Join(folder, limit), []byte(strconv.Itoa(mib<<20)), 0o600); err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

func enterGroup(name string, pid int) error {
	root, _ := memoryRoot()
	return os.WriteFile(filepath.Join(root, name, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600)
}

// joinGroup has this process enter the control group that was made for its kind, if one was.
func joinGroup(kind string) error {
	if name := os.Getenv(groupSetting); name != "" {
		return enterGroup(name+"-"+kind, os.Getpid())
	}
	return nil
}

const paranoidFile = "/proc/sys/kernel/perf_event_paranoid"

// paranoid sets kernel.perf_event_paranoid, and returns how to set it back.
func paranoid(level string) (undo func(), err error) {
	before, err := os.ReadFile(paranoidFile)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(paranoidFile, []byte(level), 0o600); err != nil {
		return nil, err
	}
	return func() { _ = os.WriteFile(paranoidFile, []byte(strings.TrimSpace(string(before))), 0o600) }, nil
}

// refusePerf has the kernel refuse perf_event_open to this process, with EPERM, as the default
// profile of containers does.
func refusePerf() error {
	const (
		returnAllow, returnErrno = 0x7fff0000, 0x00050000
		numberOffset             = 0 // of the system call's number in struct seccomp_data
	)
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_PERF_EVENT_OPEN, SkipFalse: 1},
		bpf.RetConstant{Val: returnErrno | uint32(unix.EPERM)},
		bpf.RetConstant{Val: returnAllow},
	})
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(program))
	for i, x := range program {
		filter[i] = unix.SockFilter{Code: x.Op, Jt: x.Jt, Jf: x.Jf, K: x.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}

// stepClock moves the clock of the machine.
func stepClock(d time.Duration) error {
	now := unix.NsecToTimeval(time.Now().Add(d).UnixNano())
	return unix.Settimeofday(&now)
}
