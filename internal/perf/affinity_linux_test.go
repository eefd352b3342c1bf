package perf

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// A set with less room than the kernel has CPUs is refused. Most kernels of distributions for amd64
// are built for 8192, which a set of package unix for 1024 has no room for.
func TestAllCPUsHaveRoom(t *testing.T) {
	text, err := os.ReadFile("/sys/devices/system/cpu/kernel_max")
	if err != nil {
		t.Skip(err)
	}
	last, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if last >= maxCPUs {
		t.Errorf("the kernel may have CPU %d, want room for it among %d", last, maxCPUs)
	}
}

// What a pinned thread starts runs where it does, and the thread is free again afterwards.
func TestPin(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all, err := Processors()
	if err != nil || len(all) == 0 {
		t.Fatalf("Processors = %v, %v", all, err)
	}
	unpin, err := Pin(all[len(all)-1:])
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("nproc").Output()
	unpin()
	if err != nil {
		t.Skipf("nproc: %v", err)
	}
	if got := strings.TrimSpace(string(out)); got != "1" {
		t.Errorf("a program that was started by the pinned thread has %s processors, want 1", got)
	}
	if again, err := Processors(); err != nil || len(again) != len(all) {
		t.Errorf("afterwards %v, %v; want %v", again, err, all)
	}
	if _, err := Pin(nil); err == nil {
		t.Error("pinned to no processor")
	}
}
