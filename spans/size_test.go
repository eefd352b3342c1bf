package spans

import (
	"testing"
	"unsafe"
)

// TestSizes holds the one allocation of a span, and that of a local root with its session, to whole
// cache lines of 64 bytes, which are size classes of the runtime too.
func TestSizes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("not of 64 bits")
	}
	const further = schedulerSlots * unsafe.Sizeof(uintptr(0))
	for _, c := range []struct {
		what      string
		got, most uintptr
	}{
		{"recording span", unsafe.Sizeof(recordingSpan{}), 192 + further},
		{"plain span", unsafe.Sizeof(plainSpan{}), 192 + further},
		{"recording root", unsafe.Sizeof(recordingRoot{}), 320 + further},
		{"plain root", unsafe.Sizeof(plainRoot{}), 320 + further},
	} {
		if c.got > c.most {
			t.Errorf("%s: %d bytes, want at most %d", c.what, c.got, c.most)
		}
	}
}
