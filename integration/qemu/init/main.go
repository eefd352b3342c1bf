//go:build linux

// Command init is the first and only process of a guest that run.sh boots: it mounts the file
// systems, brings the loopback interface up, allows counters to be read in user space, runs the
// program, prints its exit status and powers the guest off.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unsafe"
)

func main() {
	if err := prepare(); err != nil {
		fmt.Println("guest:", err)
	}
	program := exec.Command("/program", lines("/arguments")...)
	program.Stdout, program.Stderr, program.Dir = os.Stdout, os.Stderr, "/work"
	program.Env = append(os.Environ(), lines("/environment")...)
	if err := program.Run(); err != nil {
		fmt.Println("guest:", err)
	}
	status := -1
	if program.ProcessState != nil {
		status = program.ProcessState.ExitCode()
	}
	fmt.Println("guest: exit status", status)
	syscall.Sync()
	if err := syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("guest:", err)
	}
}

func prepare() error {
	for _, m := range []struct{ kind, folder string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}} {
		if err := os.MkdirAll(m.folder, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(m.kind, m.folder, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.folder, err)
		}
	}
	if err := loopback(); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/kernel/perf_user_access", []byte("1"), 0o644)
}

// loopback has the network interface lo take packets.
func loopback() error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer func() { _ = syscall.Close(socket) }()
	request := struct { // struct ifreq
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP}
	copy(request.name[:], "lo")
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return fmt.Errorf("interface lo: %w", errno)
	}
	return nil
}

// lines returns the lines of a file, none if it is empty.
func lines(name string) []string {
	text, err := os.ReadFile(name)
	if err != nil || strings.TrimSpace(string(text)) == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
