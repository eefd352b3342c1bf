package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
)

// defaultInterval is how often a file is read.
const defaultInterval = 2 * time.Second

// maxSignatureBytes is far above the 89 that a signature has.
const maxSignatureBytes = 1024

// A File is a source of plans that polls a local file. It compares contents, and does not
// watch the file, since Kubernetes replaces a ConfigMap's folder and not the file.
//
// A new content is applied; if it is not a valid plan, experiments end. They end too when the
// file is gone or empty. If it cannot be read, they end after three polls in a row. The
// signature is in a file beside it of the same name with ".sig" at its end; replace both at
// once, as a ConfigMap does, or a plan is refused for a poll.
type File struct {
	path     string
	interval time.Duration
}

// NewFile returns a source that reads the plan at path, which need not exist yet. An error
// joins all that is wrong and wraps [ErrConfig].
func NewFile(path string, opts ...PollOption) (*File, error) {
	f := &File{path: path, interval: defaultInterval}
	var errs []error
	if path == "" {
		errs = append(errs, fmt.Errorf("%w: path \"\": must not be empty", ErrConfig))
	}
	for _, o := range opts {
		if o != nil {
			errs = append(errs, o.applyFile(f))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f, nil
}

// String returns "file" and the path.
func (f *File) String() string { return "file " + f.path }

// Interval returns the time between two polls.
func (f *File) Interval() time.Duration { return f.interval }

// Run polls until ctx ends, the first time at once.
func (f *File) Run(ctx context.Context, to *Sink) {
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	for {
		f.poll(to)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (f *File) poll(to *Sink) {
	document, signature, err := f.readBoth()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		to.None("the plan file is gone")
	case err != nil:
		to.Missed(err)
	default:
		_ = to.Document(document, signature) // a refusal is in the controller's status and audit
	}
}

// readBoth reads the document again after its signature: if it is another one, both were
// replaced in between.
func (f *File) readBoth() (document, signature []byte, err error) {
	if document, err = read(f.path, plan.MaxBytes); err != nil {
		return nil, nil, err
	}
	for range 3 {
		signature, err = read(f.path+".sig", maxSignatureBytes)
		if errors.Is(err, fs.ErrNotExist) {
			return document, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		before := document
		if document, err = read(f.path, plan.MaxBytes); err != nil || bytes.Equal(before, document) {
			return document, signature, err
		}
	}
	return nil, nil, fmt.Errorf("%s: replaced three times while it was read", f.path)
}

// read reads one byte more than a file may have, so that a larger one is refused and not cut.
func read(path string, atMost int64) ([]byte, error) {
	// A pipe or a device would block.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: must be a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, atMost+1))
}
