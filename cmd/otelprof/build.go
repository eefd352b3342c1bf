package main

import (
	"fmt"

	"github.com/otelprof/otelprof/internal/runtimemode/overlay"
)

const buildLong = `
The arguments are those of the go command, see go help %[1]s. It is the go command of your module, with -overlay and
-tags added, or merged with those you give: package runtime is compiled anew from your own GOROOT, with a hook in
it. Its exit status and signals are those of the go command. docs/runtime.md tells what the hook does.
`

var (
	buildCommand   = goCommand("build", "Compile a program for runtime mode, as go build does")
	runCommand     = goCommand("run", "Compile and run a program in runtime mode, as go run does")
	testCommand    = goCommand("test", "Test packages in runtime mode, as go test does")
	installCommand = goCommand("install", "Compile and install a program for runtime mode, as go install does")
)

// goCommand returns the command that stands for one of the go command's.
func goCommand(verb, short string) *command {
	return &command{
		name:  verb,
		args:  "ARGS…",
		short: short,
		long:  fmt.Sprintf(buildLong, verb),
		run: func(c *call) error {
			if len(c.args) > 0 {
				switch c.args[0] {
				case "-h", "-help", "--help":
					return c.parse(0, -1)
				}
			}
			cmd, err := overlay.Command(verb, c.args)
			if err != nil {
				return err
			}
			return replaceBy(cmd)
		},
	}
}

// exitStatus is the status of a command that was run in place of this one. It has printed what there
// is to say.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
