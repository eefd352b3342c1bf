// Otelprof reads and draws what otelprof has measured.
//
// Usage:
//
//	otelprof <command> [arguments]
//
// "otelprof help" lists the commands and "otelprof <command> -h" describes one. The exit status is
// 0 on success, 1 on failure and 2 for a command line that makes no sense.
package main

import (
	"io"
	"os"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/agent"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/check"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/hdr"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/plans"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/report"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/stacks"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/top"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/view"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/whatif"
)

// root is the program itself. A command stands in a file of its own.
var root = &command.Command{
	Name: "otelprof",
	Sub:  []*command.Command{buildCommand, doctorCommand, agent.Explain, check.Command, hdr.Command, installCommand, agent.MCP, plans.Command, report.Command, runCommand, stacks.Command, testCommand, top.Command, versionCommand, view.Command, whatif.Command},
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run executes the command line and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-version") {
		args = []string{versionCommand.Name}
	}
	return root.Main(args, stdin, stdout, stderr)
}
