package hdrlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

// An Interval is one line of a log: what was recorded in a span of time.
type Interval struct {
	Tag    string // empty if the line has none
	Start  time.Time
	Length time.Duration
	// Max is the greatest value as the log states it, in a unit of the log's own: milliseconds
	// where the values are nanoseconds.
	Max      float64
	Snapshot *otelhdr.Snapshot
}

// A LineError is an error in one line of a log.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// A Reader reads the intervals of a log. It passes over comments and the line that names the
// columns.
type Reader struct {
	in   *bufio.Reader
	line int
	// start and base are in seconds since 1970, as the log has them.
	start, base       float64
	hasStart, hasBase bool
}

// NewReader returns a reader of a log of any version.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReader(r)} }

// Next returns the next interval, or io.EOF after the last. About a line that is corrupt or cut off
// it returns a [LineError]; what came before is not affected, and the next call goes on with the
// line after.
func (r *Reader) Next() (Interval, error) {
	for {
		text, err := r.next()
		if err != nil {
			return Interval{}, err
		}
		if text == "" || text[0] == '"' {
			continue
		}
		if text[0] == '#' {
			r.comment(text)
			continue
		}
		i, err := r.interval(text)
		if err != nil {
			return Interval{}, &LineError{Line: r.line, Err: err}
		}
		return i, nil
	}
}

// mostLine is an encoded histogram, and what may stand before it.
const mostLine = maxEncodedBytes + 4<<10

// next returns the next line. Of one that is too long no more is kept than one may have.
func (r *Reader) next() (string, error) {
	var line []byte
	for length := 0; ; {
		part, err := r.in.ReadSlice('\n')
		length += len(part)
		line = append(line, part[:min(len(part), mostLine-len(line))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || length == 0):
			return "", err
		}
		r.line++
		if length > mostLine {
			return "", &LineError{Line: r.line, Err: fmt.Errorf("%w: %d bytes: must be at most %d", ErrFormat, length, mostLine)}
		}
		return strings.TrimSpace(string(line)), nil
	}
}

// All returns the intervals and the errors of lines in between; it ends after the last line, or
// after an error of the reader beneath.
func (r *Reader) All() iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		for {
			i, err := r.Next()
			if errors.Is(err, io.EOF) && !isLine(err) {
				return
			}
			if !yield(i, err) || err != nil && !isLine(err) {
				return
			}
		}
	}
}

// isLine reports whether err is about one line only.
func isLine(err error) bool {
	var line *LineError
	return errors.As(err, &line)
}

// ReadAll returns the intervals of a log up to the first error, and that error.
func ReadAll(r io.Reader) ([]Interval, error) {
	var all []Interval
	for i, err := range NewReader(r).All() {
		if err != nil {
			return all, err
		}
		all = append(all, i)
	}
	return all, nil
}

// comment notes the times that a comment may give.
func (r *Reader) comment(text string) {
	if v, ok := headerTime(text, "#[StartTime: "); ok {
		r.start, r.hasStart = v, true
	}
	if v, ok := headerTime(text, "#[BaseTime: "); ok {
		r.base, r.hasBase = v, true
	}
}

func headerTime(text, prefix string) (float64, bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, " ")
	v, err := parseSeconds(strings.TrimRight(number, "]"))
	return v, err == nil
}

const secondsPerYear = 365 * 24 * 3600

func (r *Reader) interval(text string) (Interval, error) {
	var i Interval
	if rest, ok := strings.CutPrefix(text, "Tag="); ok {
		if i.Tag, text, ok = strings.Cut(rest, ","); !ok {
			return Interval{}, fmt.Errorf("%w: tag %q: must be followed by a comma", ErrFormat, i.Tag)
		}
	}
	fields := strings.SplitN(text, ",", 4)
	if len(fields) != 4 {
		return Interval{}, fmt.Errorf("%w: %d fields: must be start, length, maximum and histogram", ErrFormat, len(fields))
	}
	start, err := parseSeconds(fields[0])
	if err != nil {
		return Interval{}, fmt.Errorf("%w: start: %w", ErrFormat, err)
	}
	length, err := parseSeconds(fields[1])
	if err != nil {
		return Interval{}, fmt.Errorf("%w: length: %w", ErrFormat, err)
	}
	if i.Max, err = strconv.ParseFloat(fields[2], 64); err != nil {
		return Interval{}, fmt.Errorf("%w: maximum: %w", ErrFormat, err)
	}
	if i.Snapshot, err = Decode(fields[3]); err != nil {
		return Interval{}, fmt.Errorf("histogram: %w", err)
	}
	if !r.hasStart {
		r.start, r.hasStart = start, true
	}
	if !r.hasBase {
		// The rule of HdrHistogram's own reader: what is more than a year before the start of the
		// log is relative to it.
		if start < r.start-secondsPerYear {
			r.base = r.start
		}
		r.hasBase = true
	}
	if most := time.Duration(math.MaxInt64).Seconds(); length < 0 || length >= most {
		return Interval{}, fmt.Errorf("%w: length: %g seconds: must be in [0, %.4g)", ErrFormat, length, most)
	}
	i.Start = time.UnixMicro(micros(start + r.base)).UTC()
	i.Length = time.Duration(micros(length)) * time.Microsecond
	return i, nil
}

// maxSeconds is in the year 5138.
const maxSeconds = 1e11

func parseSeconds(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && !(math.Abs(v) <= maxSeconds) {
		err = fmt.Errorf("%v seconds: must be at most %g", v, float64(maxSeconds))
	}
	return v, err
}

func micros(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }
