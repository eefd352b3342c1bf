package stacks

import (
	"flag"
	"io"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

// run executes a command line.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	program := &command.Command{Name: "otelprof", Sub: []*command.Command{Command}}
	return program.Main(args, stdin, stdout, stderr)
}

var update = flag.Bool("update", false, "rewrite the expected output")
