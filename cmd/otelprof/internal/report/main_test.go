package report

import (
	"io"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

// run executes a command line.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	program := &command.Command{Name: "otelprof", Sub: []*command.Command{Command}}
	return program.Main(args, stdin, stdout, stderr)
}
