package backends

import "syscall"

// dieWithParent makes the kernel end a process if the tests are killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
