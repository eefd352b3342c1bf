//go:build !linux

package backends

import "syscall"

// dieWithParent does nothing here: only Linux ends a process with its parent.
func dieWithParent() *syscall.SysProcAttr { return nil }
