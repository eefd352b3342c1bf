// Otelprof reads and draws what otelprof has measured.
//
// Usage:
//
//	otelprof <command> [arguments]
//
// "otelprof help" lists the commands and "otelprof <command> -h" describes one. The exit status is 0 on success, 1 on
// failure and 2 for a command line that makes no sense.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
)

// A command is a word of the command line. It has either a run or commands of its own.
type command struct {
	name  string
	args  string // after the flags, as in "FILE…"
	short string // one line, without a period
	long  string // more about it, in whole lines; may be empty
	run   func(c *call) error
	sub   []*command
}

// root is the program itself. A command stands in a file of its own.
var root = &command{
	name: "otelprof",
	sub:  []*command{buildCommand, doctorCommand, hdrCommand, installCommand, planCommand, reportCommand, runCommand, stacksCommand, testCommand, topCommand, viewCommand, whatifCommand},
}

// A call is one execution of a command.
type call struct {
	*flag.FlagSet
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string // what the command line has for the command
}

// errUsage is wrapped by errors that are the command line's fault.
var errUsage = errors.New("usage")

// usagef returns an error about the command line.
func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUsage, fmt.Sprintf(format, args...))
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run executes the command line and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := root.execute(nil, args, stdin, stdout, stderr)
	status, passed := errors.AsType[exitStatus](err)
	switch {
	case err == nil:
		return 0
	case passed:
		return int(status)
	case errors.Is(err, errUsage):
		fmt.Fprintln(stderr, strings.TrimPrefix(err.Error(), errUsage.Error()+": "))
		return 2
	default:
		fmt.Fprintln(stderr, "otelprof:", err)
		return 1
	}
}

// execute finds the command that args name, below the commands in path, and runs it.
func (c *command) execute(path, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	path = append(path, c.name)
	full := strings.Join(path, " ")
	if c.run != nil {
		set := flag.NewFlagSet(full, flag.ContinueOnError)
		set.SetOutput(io.Discard)
		at := &call{FlagSet: set, stdin: stdin, stdout: stdout, stderr: stderr, args: args}
		set.Usage = func() {}
		err := c.run(at)
		if errors.Is(err, flag.ErrHelp) {
			c.usage(set, stdout)
			return nil
		}
		if errors.Is(err, errUsage) {
			return usagef("%s: %s; see %s -h", full, strings.TrimPrefix(err.Error(), errUsage.Error()+": "), full)
		}
		return err
	}
	if len(args) == 0 {
		c.list(full, stderr)
		return usagef("%s: a command is missing", full)
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		c.list(full, stdout)
		return nil
	}
	for _, s := range c.sub {
		if s.name == args[0] {
			return s.execute(path, args[1:], stdin, stdout, stderr)
		}
	}
	return usagef("%s: unknown command %q; see %s help", full, args[0], full)
}

// list writes what commands there are.
func (c *command) list(full string, w io.Writer) {
	fmt.Fprintf(w, "usage: %s <command> [arguments]\n\n", full)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, s := range c.sub {
		fmt.Fprintf(t, "  %s\t%s\n", s.name, s.short)
	}
	_ = t.Flush() // an error of w has no recipient
}

// usage writes what there is to know about a command.
func (c *command) usage(set *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, "usage: %s [flags] %s\n\n%s.\n%s", set.Name(), c.args, c.short, c.long)
	hasFlags := false
	set.VisitAll(func(*flag.Flag) { hasFlags = true })
	if hasFlags {
		fmt.Fprint(w, "\nFlags:\n")
		set.SetOutput(w)
		set.PrintDefaults()
		set.SetOutput(io.Discard)
	}
}

// parse reads the flags, which must have been defined, and checks the number of arguments that follow them. A negative
// atMost means any number.
func (c *call) parse(atLeast, atMost int) error {
	if err := c.Parse(c.args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usagef("%v", err)
	}
	switch n := c.NArg(); {
	case n < atLeast:
		return usagef("%d arguments: must be at least %d", n, atLeast)
	case atMost >= 0 && n > atMost:
		return usagef("%d arguments: must be at most %d", n, atMost)
	}
	return nil
}

// output calls write with the file, or with standard output for "-" and "". A file that could not be written whole is
// removed.
func (c *call) output(file string, write func(io.Writer) error) (err error) {
	if file == "" || file == "-" {
		return write(c.stdout)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	return write(f)
}
