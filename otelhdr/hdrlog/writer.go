package hdrlog

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// maxRatio is what the maximum is divided by to be stated in a line: milliseconds of nanoseconds.
const maxRatio = 1e6

// A Writer writes a log of version 1.3. It is for one goroutine at a time.
type Writer struct {
	w     io.Writer
	start time.Time
	begun bool
}

// NewWriter returns a writer of a log that starts at start, which later lines are relative to. Each
// call of Comment and Write is one call of w. What comes before all intervals is written with the
// first one that does not fail.
func NewWriter(w io.Writer, start time.Time) *Writer { return &Writer{w: w, start: start} }

// header returns the lines that come before all intervals.
func (w *Writer) header() string {
	seconds := seconds(w.start.UnixMicro())
	return fmt.Sprintf("#[Histogram log format version 1.3]\n#[StartTime: %s (seconds since epoch), %s]\n"+
		"#[BaseTime: %s (seconds since epoch)]\n"+
		"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
		seconds, w.start.UTC().Format(time.RFC3339Nano), seconds)
}

// Comment writes a line that readers pass over. Line breaks in text become blanks.
func (w *Writer) Comment(text string) error {
	_, err := fmt.Fprintf(w.w, "#%s\n", strings.NewReplacer("\r", " ", "\n", " ").Replace(text))
	return err
}

// Write writes one interval. Where its Max is 0, the maximum of its snapshot in millionths is
// stated. The error wraps [ErrFormat] if the tag has a comma, a blank or a line break, and
// [ErrValue] if HdrHistogram has no place for a value.
func (w *Writer) Write(i Interval) error {
	if strings.ContainsAny(i.Tag, ", \r\n") {
		return fmt.Errorf("%w: tag %q: must not have commas, blanks or line breaks", ErrFormat, i.Tag)
	}
	text, err := Encode(i.Snapshot)
	if err != nil {
		return err
	}
	var out strings.Builder
	if !w.begun {
		out.WriteString(w.header())
	}
	if i.Tag != "" {
		fmt.Fprintf(&out, "Tag=%s,", i.Tag)
	}
	if i.Max == 0 {
		i.Max = float64(i.Snapshot.Max()) / maxRatio
	}
	fmt.Fprintf(&out, "%s,%s,%.3f,%s\n", seconds(i.Start.UnixMicro()-w.start.UnixMicro()), seconds(i.Length.Microseconds()), i.Max, text)
	_, err = io.WriteString(w.w, out.String())
	w.begun = w.begun || err == nil
	return err
}

// seconds writes microseconds as seconds, with three decimals or six.
func seconds(micros int64) string {
	if micros%1000 == 0 {
		return fmt.Sprintf("%.3f", float64(micros)/1e6)
	}
	return fmt.Sprintf("%.6f", float64(micros)/1e6)
}
