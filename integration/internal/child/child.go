// Package child starts programs that say where they listen.
package child

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
)

// Start starts a program and returns the first address that it says behind a word, or alone on a
// line. Wait waits for its end, and is called once.
func Start(cmd *exec.Cmd, word string) (address string, wait func() error, err error) {
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, err
	}
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address = addressIn(lines.Text(), word)
	}
	if address == "" {
		_ = cmd.Process.Kill() // it may have ended
		return "", nil, errors.Join(errors.New("it does not say where it listens"), cmd.Wait())
	}
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, out) // so that it never waits for a reader
		ended <- cmd.Wait()
	}()
	return address, func() error { return <-ended }, nil
}

// addressIn returns the address in a line such as "viewer  http://127.0.0.1:8080/" or
// "http://127.0.0.1:8080/", without a slash at its end, or "".
func addressIn(line, word string) string {
	text := strings.TrimSpace(strings.TrimPrefix(line, word+" "))
	if !strings.HasPrefix(text, "http://") {
		return ""
	}
	return strings.TrimSuffix(text, "/")
}
