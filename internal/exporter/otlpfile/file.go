package otlpfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	extension = ".jsonl"
	stamp     = "20060102T150405.000000000Z"
)

// lockEvery is how often a lock that another process holds is tried.
const lockEvery = time.Second

// againAfter is how long nothing is written after a write that failed: it would fail as well, and
// to encode it, look at the file and cut off what was written of it takes a processor, for each
// record of a busy log.
const againAfter = time.Second

// errInUse is the outcome of a lock that another process, or another exporter, holds.
var errInUse = errors.New("in use by another process or exporter: must be the only one")

// errClosed is the outcome of a write after close.
var errClosed = errors.New("otlpfile: closed")

// A file is the one that is written and the full ones beside it. Any goroutine may call
// its methods.
type file struct {
	Config
	base   string // "traces"
	rename func(from, to string) error
	calls  chan struct{} // of one, see within

	mu     sync.Mutex
	unlock func()    // nil while another has the lock
	tried  time.Time // to get it
	f      *os.File  // nil after a failure, until the next write
	size   int64     // of f, whole lines only
	torn   bool      // f is longer than size
	cut    torn      // off the end of f, when it was opened
	closed bool

	failed atomic.Pointer[failure] // the last write, nil if it did not; apart, too
}

// openFile opens the file of one signal, and cuts off what a killed process left at its end.
// Another open file of this signal in the folder, in any process, is an error, unless that is
// waited for.
func openFile(base string, c Config) (*file, error) {
	info, err := os.Stat(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("otlpfile: folder %s: %w", c.Dir, cause(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("otlpfile: folder %s: must be a folder", c.Dir)
	}
	w := &file{Config: c, base: base, rename: os.Rename, calls: make(chan struct{}, 1)}
	if err := w.lock(); err != nil {
		if c.Wait && errors.Is(err, errInUse) {
			return w, nil
		}
		return nil, err
	}
	if err := w.open(); err != nil {
		w.unlock()
		return nil, err
	}
	return w, nil
}

// lock makes sure that no other process or exporter writes. w.mu is held, or w is not shared yet.
func (w *file) lock() error {
	if w.unlock != nil {
		return nil
	}
	path := filepath.Join(w.Dir, w.base+".lock")
	err := errInUse
	if now := time.Now(); now.Sub(w.tried) >= lockEvery {
		w.tried = now
		w.unlock, err = lock(path)
	}
	if err != nil {
		return fmt.Errorf("otlpfile: lock %s: %w", path, cause(err))
	}
	return nil
}

func (w *file) path() string { return filepath.Join(w.Dir, w.base+extension) }

// open opens the file to append to it. w.mu is held, or w is not shared yet.
func (w *file) open() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("otlpfile: open %s: %w", w.path(), cause(err))
		}
	}()
	// Opening a named pipe would wait for its other end.
	if info, err := os.Stat(w.path()); err == nil && !info.Mode().IsRegular() {
		return errors.New("must be a regular file")
	}
	f, err := os.OpenFile(w.path(), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	size, cut, err := repair(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w.f, w.size, w.torn, w.cut = f, size, false, cut
	return nil
}

// A failure is what became of a write.
type failure struct {
	at  time.Time
	err error
}

// broken returns why the last write has failed, if it has within the last second: there is no use
// in another one. It waits for no disk.
func (w *file) broken() error {
	if f := w.failed.Load(); f != nil && time.Since(f.at) < againAfter {
		return f.err
	}
	return nil
}

// append writes one line, which ends in a newline, as a whole or not at all.
func (w *file) append(line []byte) error {
	err := w.write(line)
	if err != nil {
		w.failed.Store(&failure{time.Now(), err})
	} else {
		w.failed.Store(nil)
	}
	return err
}

func (w *file) write(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	if err := w.ready(int64(len(line))); err != nil {
		return err
	}
	n, err := w.f.Write(line)
	if err == nil {
		w.size += int64(n)
		return nil
	}
	// A full disk takes the beginning of a line: cut it off again, now or before the next.
	w.torn = n > 0
	return errors.Join(fmt.Errorf("otlpfile: write %s: %w", w.path(), cause(err)), w.mend())
}

// ready makes sure that w.f is the file of that name, ends with a whole line and has room.
func (w *file) ready(room int64) error {
	if err := w.lock(); err != nil {
		return err
	}
	if w.f != nil {
		// The file may have been removed or moved; writes to it would still succeed.
		opened, err := w.f.Stat()
		named, errNamed := os.Stat(w.path())
		if err != nil || errNamed != nil || !os.SameFile(opened, named) {
			_ = w.f.Close()
			w.f = nil
		} else if size := opened.Size(); size < w.size {
			w.size, w.torn = size, false // copied and truncated from outside: to mend it would let it grow
		}
	}
	if w.f == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	if err := w.mend(); err != nil {
		return err
	}
	if w.size > 0 && w.size+room > w.MaxBytes {
		return w.rotate()
	}
	return nil
}

// mend cuts off what is left of a line that was not written as a whole.
func (w *file) mend() error {
	if !w.torn {
		return nil
	}
	if err := w.f.Truncate(w.size); err != nil {
		return fmt.Errorf("otlpfile: cut %s: %w", w.path(), cause(err))
	}
	w.torn = false
	return nil
}

// rotate gives the full file its final name and opens a new one. What fails leaves the
// full file as it is, so that no more room is taken than was promised; the next write tries again.
func (w *file) rotate() error {
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("otlpfile: sync %s: %w", w.path(), cause(err))
	}
	if err := w.prune(w.Backups - 1); err != nil {
		return err
	}
	full := filepath.Join(w.Dir, w.base+"-"+w.stamp(time.Now())+extension)
	if _, err := os.Lstat(full); err == nil {
		return fmt.Errorf("otlpfile: rotate %s: %w", full, fs.ErrExist)
	}
	_ = w.f.Close() // synced above, nothing is left to fail; Windows renames no open file
	w.f = nil
	if err := w.rename(w.path(), full); err != nil {
		return fmt.Errorf("otlpfile: rotate %s: %w", w.path(), cause(err))
	}
	_ = syncDir(w.Dir) // after a crash the file may have its old name, its lines are safe
	return w.open()
}

// stamp returns the time in the name of a file that is full now. It is later than all others', also
// after the clock was set back: the order of the names is that in which they were written.
func (w *file) stamp(now time.Time) string {
	now = now.UTC()
	if names, err := w.full(); err == nil && len(names) > 0 {
		newest, _ := w.stampOf(names[len(names)-1])
		if next := newest.Add(1); next.After(now) {
			now = next
		}
	}
	return now.Format(stamp)
}

// stampOf returns the time in the name of a full file.
func (w *file) stampOf(name string) (t time.Time, ok bool) {
	text, ok := strings.CutPrefix(name, w.base+"-")
	text, isLog := strings.CutSuffix(text, extension)
	t, err := time.Parse(stamp, text)
	return t, ok && isLog && err == nil
}

// prune removes the oldest full files, until keep are left.
func (w *file) prune(keep int) error {
	names, err := w.full()
	if err != nil {
		return fmt.Errorf("otlpfile: folder %s: %w", w.Dir, cause(err))
	}
	var errs []error
	for len(names) > keep {
		if err := os.Remove(filepath.Join(w.Dir, names[0])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("otlpfile: remove %s: %w", names[0], cause(err)))
		}
		names = names[1:]
	}
	return errors.Join(errs...)
}

// full returns the names of the full files, oldest first. Files whose names it did not
// give are not among them.
func (w *file) full() ([]string, error) {
	entries, err := os.ReadDir(w.Dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, ok := w.stampOf(e.Name()); ok && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// sync waits until the disk has all lines.
func (w *file) sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return nil
	}
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("otlpfile: sync %s: %w", w.path(), cause(err))
	}
	return nil
}

// close syncs and closes the file and lets others open it. A second call does nothing.
func (w *file) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.unlock != nil {
		defer w.unlock()
	}
	if w.f == nil {
		return nil
	}
	err := errors.Join(w.mend(), w.f.Sync(), w.f.Close())
	w.f = nil
	if err != nil {
		return fmt.Errorf("otlpfile: close %s: %w", w.path(), err)
	}
	return nil
}

// ForceFlush is sync, no longer than ctx.
func (w *file) ForceFlush(ctx context.Context) error { return w.within(ctx, w.sync) }

// Shutdown is close, no longer than ctx.
func (w *file) Shutdown(ctx context.Context) error { return w.within(ctx, w.close) }

// within calls f, which may wait for a disk that hangs, and returns when ctx ends, at the latest: f
// goes on then, and so long no other begins.
func (w *file) within(ctx context.Context, f func() error) error {
	select {
	case w.calls <- struct{}{}: // also if ctx has ended: a file is to be closed
	default:
		select {
		case w.calls <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("otlpfile: %s: %w", w.path(), ctx.Err())
		}
	}
	done := make(chan error, 1)
	go func() {
		err := f()
		<-w.calls
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("otlpfile: %s: %w", w.path(), ctx.Err())
	}
}

// cause takes the path and the operation off an error of package os: our messages have them.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
