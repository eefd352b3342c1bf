//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// replaceBy runs a command in place of this process, so that signals, the terminal and the exit
// status are the command's own.
func replaceBy(cmd *exec.Cmd) error {
	return &exec.Error{Name: cmd.Path, Err: syscall.Exec(cmd.Path, cmd.Args, cmd.Environ())}
}
