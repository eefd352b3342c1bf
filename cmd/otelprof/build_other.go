//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

// replaceBy runs a command in place of this process, as far as this system can.
func replaceBy(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A console sends an interrupt to both; it is the command's to obey.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return command.ExitStatus(max(1, exit.ExitCode()))
	}
	return err
}
