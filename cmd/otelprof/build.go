package main

import (
	"fmt"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/runtimemode/overlay"
)

const buildLong = `
The arguments are those of the go command, see go help %[1]s. It is the go command of your module, with -overlay and
-tags added, or merged with those you give: package runtime is compiled anew from your own GOROOT, with a hook in
it. Its exit status and signals are those of the go command. docs/runtime.md says what the hook does.
`

var (
	buildCommand   = goCommand("build", "Compile a program for runtime mode, as go build does")
	runCommand     = goCommand("run", "Compile and run a program in runtime mode, as go run does")
	testCommand    = goCommand("test", "Test packages in runtime mode, as go test does")
	installCommand = goCommand("install", "Compile and install a program for runtime mode, as go install does")
)

// goCommand returns the command that stands for one of the go command's.
func goCommand(verb, short string) *command.Command {
	return &command.Command{
		Name:  verb,
		Args:  "ARGS…",
		Short: short,
		Long:  fmt.Sprintf(buildLong, verb),
		Run: func(c *command.Call) error {
			if len(c.Words) > 0 {
				switch c.Words[0] {
				case "-h", "-help", "--help":
					return c.ParseArgs(0, -1)
				}
			}
			cmd, err := overlay.Command(verb, c.Words)
			if err != nil {
				return err
			}
			return replaceBy(cmd)
		},
	}
}
