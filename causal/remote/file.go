// Package remote brings plans to a causal.Controller from outside the process.
package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// DefaultInterval is how often a source is asked.
const DefaultInterval = 2 * time.Second

// missedPolls is how many times in a row a source may fail to answer before its plan ends.
const missedPolls = 3

// A File is a source of plans that polls a local file. It compares contents, and does not
// watch the file, since Kubernetes replaces a ConfigMap's folder and not the file.
//
// A new content is applied; if it is not a valid plan, experiments end. They end too when the
// file is gone or empty. If it can not be read, they end after three polls in a row.
type File struct {
	path       string
	controller *causal.Controller
	interval   time.Duration

	seen bool
	last [sha256.Size]byte
}

// A FileOption sets how a [File] is polled.
type FileOption interface{ applyFile(*File) }

type fileOptionFunc func(*File)

func (f fileOptionFunc) applyFile(s *File) { f(s) }

// WithInterval sets the time between two polls. By default, if this option is not used, or
// if d is not above zero, it is [DefaultInterval].
func WithInterval(d time.Duration) FileOption {
	return fileOptionFunc(func(f *File) {
		if d > 0 {
			f.interval = d
		}
	})
}

// NewFile returns a source that gives the plan at path to c. It does nothing before Run.
func NewFile(path string, c *causal.Controller, opts ...FileOption) *File {
	f := &File{path: path, controller: c, interval: DefaultInterval}
	for _, o := range opts {
		o.applyFile(f)
	}
	return f
}

// Run polls until ctx ends, the first time at once. The plan then in force ends too.
func (f *File) Run(ctx context.Context) {
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	for {
		f.poll()
		select {
		case <-ctx.Done():
			f.controller.StopFrom(f.source(), "the plan's source has ended")
			return
		case <-ticker.C:
		}
	}
}

func (f *File) source() causal.Source {
	return causal.Source{Name: "file " + f.path, Lease: missedPolls * f.interval}
}

func (f *File) poll() {
	document, err := f.read()
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(document) == 0:
		f.seen = false
		f.controller.StopFrom(f.source(), "the plan file is gone")
		return
	case err != nil:
		return // not renewed: the lease runs out
	}
	if sum := sha256.Sum256(document); !f.seen || sum != f.last {
		f.seen, f.last = true, sum
		f.apply(document)
		return
	}
	f.controller.Renew(f.source())
}

func (f *File) apply(document []byte) {
	plan, err := causal.ParsePlan(document)
	if err != nil {
		f.controller.Reject(f.source(), fmt.Errorf("%s: %w", f.path, err))
		return
	}
	// A refusal is in the controller's status and in the audit.
	_ = f.controller.ApplyFrom(f.source(), plan)
}

// read reads one byte more than a plan may have, so that a larger file is refused and not cut.
func (f *File) read() ([]byte, error) {
	// A pipe or a device would keep us waiting.
	if info, err := os.Stat(f.path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("causal/remote: %s: must be a regular file", f.path)
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, causal.MaxPlanBytes+1))
}
