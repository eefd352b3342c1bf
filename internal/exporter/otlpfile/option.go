package otlpfile

import (
	"errors"
	"fmt"
	"log/slog"
)

// ErrConfig is wrapped by errors about options.
var ErrConfig = errors.New("otlpfile: configuration")

// An Option sets how files are written.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	maxBytes int64
	backups  int
	waits    bool
	logger   *slog.Logger
}

func newConfig(opts []Option) (config, error) {
	c := config{maxBytes: 64 << 20, backups: 4}
	for _, o := range opts {
		c = o.apply(c)
	}
	var errs []error
	if c.maxBytes < 1 {
		errs = append(errs, fmt.Errorf("%w: max size %d bytes: must be at least 1", ErrConfig, c.maxBytes))
	}
	if c.backups < 0 || c.backups > 10_000 {
		errs = append(errs, fmt.Errorf("%w: backups %d: must be in [0, 10000]", ErrConfig, c.backups))
	}
	return c, errors.Join(errs...)
}

// WithMaxSize sets the size in bytes, at least 1, past which a file is not written on; a
// line that is longer gets a file of its own. Default: 64 MiB.
func WithMaxSize(bytes int64) Option {
	return optionFunc(func(c config) config { c.maxBytes = bytes; return c })
}

// WithBackups sets how many full files of each signal are kept, in [0, 10000]; with the one
// being written, n+1 times the size is what a signal takes. Default: 4.
func WithBackups(n int) Option {
	return optionFunc(func(c config) config { c.backups = n; return c })
}

// WithWait takes a folder that another process writes to: it is tried at writes, each second at
// most, until the other has ended, as in a rolling restart on one volume. Till then writes fail,
// which is logged once and counted. Default: such a folder is an error.
func WithWait() Option {
	return optionFunc(func(c config) config { c.waits = true; return c })
}

// WithLogger sets the logger of writes that fail, of their recovery and of torn lines that
// were cut. Default: otel.Handle.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c config) config { c.logger = l; return c })
}
