package otlpfile

import (
	"errors"
	"syscall"
)

// errSharing is what Windows calls a file that another has open and does not share.
const errSharing = syscall.Errno(32)

// lock opens the file of that name for this process alone; the kernel closes it when the process
// ends, however that comes about.
func lock(path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharing) {
		return nil, errInUse
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = syscall.CloseHandle(h) }, nil
}

// syncDir does nothing: Windows has no sync of a folder.
func syncDir(string) error { return nil }
