package otlpfile

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
)

// ErrConfig is wrapped by errors about a Config.
var ErrConfig = errors.New("otlpfile: configuration")

// A Config sets where and how files are written.
type Config struct {
	// Dir is the folder, which must exist.
	Dir string
	// MaxBytes is the size past which a file is not written on; a line that is longer gets a file
	// of its own. 0 is for 64 MiB.
	MaxBytes int64
	// Backups is how many full files of each signal are kept, 10000 at most; with the one being
	// written, Backups+1 times the size is what a signal takes. 0 is for 4.
	Backups int
	// Wait takes a folder that another process writes to: it is tried at writes, each second at
	// most, until the other has ended, as in a rolling restart on one volume. Till then writes
	// fail, which is logged once and counted. Else such a folder is an error.
	Wait bool
	// Logger gets writes that fail, their recovery and torn lines that were cut; nil is for
	// otel.Handle.
	Logger *slog.Logger
}

// complete fills in the defaults and checks the rest.
func (c Config) complete() (Config, error) {
	c.MaxBytes, c.Backups = cmp.Or(c.MaxBytes, 64<<20), cmp.Or(c.Backups, 4)
	var errs []error
	if c.MaxBytes < 1 {
		errs = append(errs, fmt.Errorf("%w: max size %d bytes: must not be negative", ErrConfig, c.MaxBytes))
	}
	if c.Backups < 1 || c.Backups > 10_000 {
		errs = append(errs, fmt.Errorf("%w: backups %d: must be in [0, 10000]", ErrConfig, c.Backups))
	}
	return c, errors.Join(errs...)
}
