// Package child builds programs, and runs ones that say where they listen.
package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Build builds a package of the module in a folder into a file, which is named from there or
// absolutely.
func Build(ctx context.Context, module, pkg, file string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", file}, flags, []string{pkg})...)
	cmd.Dir = module
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", pkg, module, err, text)
	}
	return nil
}

// stopTime is how long a program may take to end in good order.
const stopTime = 30 * time.Second

// A Child is a program that runs as a process of its own.
type Child struct {
	Address string // that it has said, without a slash at its end

	cmd    *exec.Cmd
	forget func() bool   // the context that interrupts it
	ended  chan struct{} // closed when it has
	err    error         // how, valid after ended
}

// Start starts a program, which is interrupted when ctx ends, and waits for the first address that
// it says behind a word, or alone on a line. Stop is to be called.
func Start(ctx context.Context, cmd *exec.Cmd, word string) (*Child, error) {
	name := filepath.Base(cmd.Path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := &Child{cmd: cmd, ended: make(chan struct{})}
	c.forget = context.AfterFunc(ctx, c.interrupt)
	for lines := bufio.NewScanner(out); c.Address == "" && lines.Scan(); {
		c.Address = addressIn(lines.Text(), word)
	}
	if c.Address == "" {
		c.forget()
		_ = cmd.Process.Kill() // it may have ended
		return nil, fmt.Errorf("%s: %w", name, errors.Join(errors.New("it does not say where it listens"), cmd.Wait()))
	}
	go func() {
		_, _ = io.Copy(io.Discard, out) // so that it never waits for a reader
		c.err = cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// Stop interrupts the program and returns how it has ended. It is killed where that takes 30 s.
func (c *Child) Stop() error {
	c.forget()
	c.interrupt()
	defer time.AfterFunc(stopTime, func() { _ = c.cmd.Process.Kill() }).Stop() // it may have ended
	<-c.ended
	return c.err
}

func (c *Child) interrupt() { _ = c.cmd.Process.Signal(os.Interrupt) } // it may have ended

// addressIn returns the address in a line such as "viewer  http://127.0.0.1:8080/" or
// "http://127.0.0.1:8080/", without a slash at its end, or "".
func addressIn(line, word string) string {
	text := strings.TrimSpace(strings.TrimPrefix(line, word+" "))
	if !strings.HasPrefix(text, "http://") {
		return ""
	}
	return strings.TrimSuffix(text, "/")
}
