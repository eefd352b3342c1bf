package processcontext

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// name is what readers look for in /proc/PID/maps, and the signature of the header.
const name = "OTEL_CTX"

// The header's fields, in the byte order of the machine: signature, version, size of the payload,
// time, address of the payload.
const (
	versionAt = 8
	sizeAt    = 12
	timeAt    = 16
	addressAt = 24
	headerLen = 32

	version = 2
)

// A mapping is memory that has the header and, behind it, the payload.
type mapping struct{ memory []byte }

// newMapping publishes a payload, in the order of steps that the specification has.
func newMapping(payload []byte) (*mapping, error) {
	switch found, err := isPublished(); {
	case err != nil:
		return nil, fmt.Errorf("processcontext: look for another: %w", err)
	case found:
		return nil, fmt.Errorf("%w: by another library", ErrPublished)
	}
	memory, named, err := allocate(headerLen + len(payload))
	if err != nil {
		return nil, fmt.Errorf("processcontext: %w", err)
	}
	m := &mapping{memory}
	if err := unix.Madvise(memory, unix.MADV_DONTFORK); err != nil {
		return nil, errors.Join(fmt.Errorf("processcontext: madvise: %w", err), m.close())
	}
	copy(memory, name)
	copy(memory[headerLen:], payload)
	binary.NativeEndian.PutUint32(memory[versionAt:], version)
	binary.NativeEndian.PutUint32(memory[sizeAt:], uint32(len(payload)))
	binary.NativeEndian.PutUint64(memory[addressAt:], uint64(uintptr(unsafe.Pointer(&memory[headerLen]))))
	now, err := sinceBoot()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("processcontext: clock: %w", err), m.close())
	}
	m.setTime(now) // last: readers take nothing before it is there
	// Kernels that cannot name memory refuse; readers that watch the call see it all the same.
	if err := m.name(); err != nil && !named {
		return nil, errors.Join(fmt.Errorf("processcontext: neither memfd_create nor PR_SET_VMA_ANON_NAME: %w", err), m.close())
	}
	return m, nil
}

// isPublished looks for a context in the process.
func isPublished() (bool, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return false, err
	}
	defer maps.Close() //nolint:errcheck // It was only read.
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		if isName(lines.Text()) {
			return true, nil
		}
	}
	return false, lines.Err()
}

// isName reports whether a line of maps is the line of a context.
func isName(line string) bool {
	for _, prefix := range []string{"[anon_shmem:", "[anon:", "/memfd:"} {
		if strings.Contains(line, prefix+name) {
			return true
		}
	}
	return false
}

// allocate returns memory, from a file in memory whose name it has, or without one where that is
// not allowed.
func allocate(size int) (memory []byte, named bool, err error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if err != nil { // kernels before 6.3 do not know the last flag
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		memory, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		return memory, false, wrap("mmap", err)
	}
	defer unix.Close(fd) //nolint:errcheck // The mapping keeps the file.
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, false, wrap("ftruncate", err)
	}
	memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	return memory, true, wrap("mmap", err)
}

func wrap(call string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", call, err)
}

// sinceBoot is CLOCK_BOOTTIME in nanoseconds, never 0.
func sinceBoot() (uint64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, err
	}
	return max(1, uint64(ts.Nano())), nil
}

// setTime writes when the context was published; 0 means that it is not there. All that was written
// before is there for who sees it.
func (m *mapping) setTime(at uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&m.memory[timeAt])), at)
}

func (m *mapping) name() error {
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	err = unix.Prctl(unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, uintptr(unsafe.Pointer(&m.memory[0])), uintptr(len(m.memory)), uintptr(unsafe.Pointer(text)))
	runtime.KeepAlive(text)
	return err
}

func (m *mapping) close() error {
	m.setTime(0)
	if err := unix.Munmap(m.memory); err != nil {
		return fmt.Errorf("processcontext: munmap: %w", err)
	}
	return nil
}
