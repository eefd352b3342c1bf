// Package command is what commands of the command line are made of.
package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/otelprof/otelprof/internal/naming"
)

// A Command is a word of the command line. It has either a run or commands of its own.
type Command struct {
	Name  string
	Args  string // after the flags, as in "FILE…"
	Short string // one line, without a period
	Long  string // more about it, in whole lines; may be empty
	Run   func(c *Call) error
	Sub   []*Command
}

// A Call is one execution of a command.
type Call struct {
	*flag.FlagSet
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Words          []string // what the command line has for the command
}

// ErrUsage is wrapped by errors that are the command line's fault.
var ErrUsage = errors.New("usage")

// Usagef returns an error about the command line.
func Usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

// Main executes the command line of a program, c, and returns the exit status.
func (c *Command) Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := c.Execute(nil, args, stdin, stdout, stderr)
	status, passed := errors.AsType[ExitStatus](err)
	switch {
	case err == nil:
		return 0
	case passed:
		return int(status)
	case errors.Is(err, ErrUsage):
		fmt.Fprintln(stderr, strings.TrimPrefix(err.Error(), ErrUsage.Error()+": "))
		return 2
	default:
		fmt.Fprintln(stderr, "otelprof:", err)
		return 1
	}
}

// Execute finds the command that args name, below the commands in path, and runs it.
func (c *Command) Execute(path, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	path = append(path, c.Name)
	full := strings.Join(path, " ")
	if c.Run != nil {
		set := flag.NewFlagSet(full, flag.ContinueOnError)
		set.SetOutput(io.Discard)
		at := &Call{FlagSet: set, Stdin: stdin, Stdout: stdout, Stderr: stderr, Words: args}
		set.Usage = func() {}
		err := c.Run(at)
		if errors.Is(err, flag.ErrHelp) {
			c.usage(set, stdout)
			return nil
		}
		if errors.Is(err, ErrUsage) {
			return Usagef("%s: %s; see %s -h", full, strings.TrimPrefix(err.Error(), ErrUsage.Error()+": "), full)
		}
		return err
	}
	if len(args) == 0 {
		c.list(full, stderr)
		return Usagef("%s: a command is missing", full)
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		c.list(full, stdout)
		return nil
	}
	for _, s := range c.Sub {
		if s.Name == args[0] {
			return s.Execute(path, args[1:], stdin, stdout, stderr)
		}
	}
	names := make([]string, len(c.Sub))
	for i, s := range c.Sub {
		names[i] = s.Name
	}
	return Usagef("%s: unknown command %q%s; see %s help", full, args[0], naming.Suggest(strings.ToLower(args[0]), names), full)
}

// list writes what commands there are.
func (c *Command) list(full string, w io.Writer) {
	fmt.Fprintf(w, "usage: %s <command> [arguments]\n\n", full)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, s := range c.Sub {
		fmt.Fprintf(t, "  %s\t%s\n", s.Name, s.Short)
	}
	_ = t.Flush() // an error of w has no recipient
}

// usage writes what there is to know about a command.
func (c *Command) usage(set *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, "usage: %s [flags] %s\n\n%s.\n%s", set.Name(), c.Args, c.Short, c.Long)
	hasFlags := false
	set.VisitAll(func(*flag.Flag) { hasFlags = true })
	if hasFlags {
		fmt.Fprint(w, "\nFlags:\n")
		set.SetOutput(w)
		set.PrintDefaults()
		set.SetOutput(io.Discard)
	}
}

// ParseArgs reads the flags, which must have been defined and may stand behind arguments, too, and
// checks the number of arguments. Behind -- all are arguments. A negative atMost means any number.
func (c *Call) ParseArgs(atLeast, atMost int) error {
	var args []string
	for words := c.Words; ; {
		if err := c.Parse(words); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return Usagef("%v", err)
		}
		rest := c.Args()
		last := len(words) - len(rest) - 1 // of the words before the rest
		if len(rest) == 0 || last >= 0 && words[last] == "--" {
			args = append(args, rest...)
			break
		}
		args, words = append(args, rest[0]), rest[1:]
	}
	if err := c.Parse(append([]string{"--"}, args...)); err != nil { // there are no flags in it
		return err
	}
	switch n := c.NArg(); {
	case n < atLeast:
		return Usagef("%d arguments: must be at least %d", n, atLeast)
	case atMost >= 0 && n > atMost:
		return Usagef("%d arguments: must be at most %d", n, atMost)
	}
	return nil
}

// ArgOr returns the argument at a place, or what a flag has that stands for it.
func (c *Call) ArgOr(place int, name, flag string) (string, error) {
	if c.NArg() > place && flag != "" {
		return "", Usagef("argument %q: must not be beside -%s", c.Arg(place), name)
	}
	return cmp.Or(flag, c.Arg(place)), nil
}

// Format returns the one of all formats that a flag names or, without one, the extension of a file;
// others are further names.
func Format[F ~string](name, file string, others map[string]F, all []F) (F, error) {
	if name == "" {
		name = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	}
	f, ok := others[name]
	if !ok {
		f = F(name)
	}
	if !slices.Contains(all, f) {
		return "", Usagef("format %q: must be one of %v", f, all)
	}
	return f, nil
}

// OutputTo calls write with the file, or with standard output for "-" and "". A file that cannot be
// written whole stays as it was.
func (c *Call) OutputTo(file string, write func(io.Writer) error) error {
	if file == "" || file == "-" {
		return write(c.Stdout)
	}
	info, err := os.Lstat(file)
	switch {
	case err != nil: // it is new
		return replaceFile(file, 0o666, false, write)
	case info.Mode().IsRegular():
		return ReplaceFile(file, info.Mode().Perm(), write)
	}
	// What is no regular file, as a link or a device, is written in place.
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// WriteJSON writes v to standard output, indented, and with <, > and & as they are.
func (c *Call) WriteJSON(v any) error {
	e := json.NewEncoder(c.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// ReplaceFile puts a file in the place of another as a whole: a reader meanwhile gets the one or
// the other, and where there is an error the other stays. It has the mode, whatever the umask.
func ReplaceFile(name string, mode fs.FileMode, write func(io.Writer) error) error {
	return replaceFile(name, mode, true, write)
}

// replaceFile is ReplaceFile. If the mode is not exact, the umask takes away from it.
func replaceFile(name string, mode fs.FileMode, exact bool, write func(io.Writer) error) (err error) {
	meanwhile := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%016x", filepath.Base(name), rand.Uint64()))
	f, err := os.OpenFile(meanwhile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		if made, ok := errors.AsType[*fs.PathError](err); ok {
			made.Path = name // the name that it would have had meanwhile says nothing
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if exact {
		err = errors.Join(err, f.Chmod(mode))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// ExitStatus is the status of a command that was run in place of this one. It has printed what
// there is to say.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// WantsColour reports whether w is a terminal that shows colours, and its user has nothing against
// them: see no-color.org.
func WantsColour(w io.Writer, env func(string) string) bool {
	f, ok := w.(*os.File)
	if !ok || env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

// IsTerminal reports whether standard output is a terminal.
func IsTerminal(c *Call) bool {
	f, ok := c.Stdout.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A List is a flag that may be given several times.
type List []string

func (l *List) String() string { return fmt.Sprint([]string(*l)) }

func (l *List) Set(s string) error {
	*l = append(*l, s)
	return nil
}
