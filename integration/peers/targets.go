package main

import (
	"fmt"
	"io"
	"strings"
)

// A targetWriter passes on the lines of figures, each written at once, and notes the names of the
// figures off target.
type targetWriter struct {
	io.Writer
	missed []string
}

func (w *targetWriter) Write(line []byte) (int, error) {
	if fields := strings.Fields(string(line)); len(fields) > 1 && strings.Contains(string(line), " holds=no") {
		w.missed = append(w.missed, fields[1])
	}
	return w.Writer.Write(line)
}

// err names the figures that miss their target, nil for none.
func (w *targetWriter) err() error {
	if len(w.missed) == 0 {
		return nil
	}
	return fmt.Errorf("%d targets are missed: %s", len(w.missed), strings.Join(w.missed, ", "))
}
