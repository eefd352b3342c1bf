package perf

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxCPUs is as many CPUs as a kernel of Linux can be built for (NR_CPUS). Into a smaller set, such
// as the 1024 of [unix.CPUSet], one with more CPUs writes nothing.
const maxCPUs = 1 << 13

// cpusOf returns the CPUs that at least one of the threads may run on, in their order.
func cpusOf(threads []int) []int {
	all, set := unix.NewCPUSet(maxCPUs), unix.NewCPUSet(maxCPUs)
	for _, thread := range threads {
		if unix.SchedGetaffinityDynamic(thread, set) != nil {
			continue // it has ended
		}
		for i, word := range set {
			all[i] |= word
		}
	}
	var cpus []int
	for cpu := range maxCPUs {
		if all.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// threads lists the threads of this process. Package os is not asked: its first file of a program
// opens one more for the poller, and ends the program where the limit of files does not allow that.
func threads() ([]int, error) {
	dir, err := unix.Open("/proc/self/task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		if errno, ok := errors.AsType[unix.Errno](err); ok && (errno == unix.EMFILE || errno == unix.ENFILE) {
			return nil, explain(errno, -1, Event{})
		}
		return nil, fmt.Errorf("open /proc/self/task: %w", err)
	}
	defer unix.Close(dir) //nolint:errcheck // It was read only.
	var names []string
	buffer := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(dir, buffer)
		if err != nil {
			return nil, fmt.Errorf("read /proc/self/task: %w", err)
		}
		if n == 0 {
			break
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
	ids := make([]int, 0, len(names))
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			return nil, fmt.Errorf("thread %q in /proc/self/task: must be a number", name)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
