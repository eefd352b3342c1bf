package otlpfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// torn is what repair cut off.
type torn struct{ lines, bytes uint64 }

// repair cuts off the end of f that is not a line of JSON, and returns the size that is
// left. It looks at the last two lines only: every other one was followed by a write that
// found it whole.
func repair(f *os.File) (size int64, cut torn, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, torn{}, err
	}
	size = info.Size()
	start, err := lineStart(f, size)
	if err != nil {
		return 0, torn{}, err
	}
	keep := size
	if start < size { // no newline at the end
		keep = start
		cut.lines++
	}
	if keep > 0 {
		// The line before it ends at keep-1, with a newline. After a power failure the
		// disk may have given the file its length and not its bytes.
		if start, err = lineStart(f, keep-1); err != nil {
			return 0, torn{}, err
		}
		line := make([]byte, keep-1-start)
		if _, err := f.ReadAt(line, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, torn{}, err
		}
		if !json.Valid(line) {
			keep = start
			cut.lines++
		}
	}
	if keep == size {
		return size, torn{}, nil
	}
	cut.bytes = uint64(size - keep)
	if err := f.Truncate(keep); err != nil {
		return 0, torn{}, err
	}
	return keep, cut, f.Sync()
}

// lineStart returns the offset after the last newline in the first end bytes of f, 0 if
// there is none.
func lineStart(f io.ReaderAt, end int64) (int64, error) {
	chunk := make([]byte, 64<<10)
	for end > 0 {
		n := min(end, int64(len(chunk)))
		if _, err := f.ReadAt(chunk[:n], end-n); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(chunk[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}
