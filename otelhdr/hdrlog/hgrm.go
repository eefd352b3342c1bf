package hdrlog

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/otelhdr"
)

// WritePercentiles writes s as a percentile distribution, .hgrm, which HdrHistogram's plotters draw. Its lines are as
// many for every halving of the distance to 100 % as ticks says; 5 is usual. Values are divided by scale: 1e6 makes
// milliseconds of nanoseconds. The error wraps [ErrFormat] if ticks or scale is not positive.
func WritePercentiles(w io.Writer, s *otelhdr.Snapshot, ticks int, scale float64) error {
	if ticks < 1 || ticks > math.MaxInt32 || !(scale > 0) {
		return fmt.Errorf("%w: %d ticks, scale %g: must be positive", ErrFormat, ticks, scale)
	}
	h, err := toHdr(s)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if _, err := h.PercentilesPrint(out, int32(ticks), scale); err != nil {
		return fmt.Errorf("hdrlog: percentiles: %w", err)
	}
	return out.Flush()
}

// ReadPercentiles reads a percentile distribution and multiplies its values by scale. It holds a count for each of its
// lines only, so the snapshot has all values between two lines in one bucket: percentiles there are too high by as
// much as the lines are apart, which their error says. Where the first line is above 0 %, its values may be anything from 0
// on. The error is a [LineError] that wraps [ErrFormat].
func ReadPercentiles(r io.Reader, scale float64) (*otelhdr.Snapshot, error) {
	if !(scale > 0) {
		return nil, fmt.Errorf("%w: scale %g: must be positive", ErrFormat, scale)
	}
	var buckets []otelhdr.Bucket
	var below, previous uint64
	relativeError := 0.001
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "Value") {
			continue
		}
		if strings.HasPrefix(text, "#") {
			if sub, ok := subBuckets(text); ok {
				relativeError = sub
			}
			continue
		}
		value, fraction, total, err := percentileLine(text, scale)
		if err == nil && total < below {
			err = fmt.Errorf("%w: total count %d: must not be less than %d before", ErrFormat, total, below)
		}
		if err != nil {
			return nil, &LineError{Line: n, Err: err}
		}
		if total > below {
			low := value // at 0 %
			switch {
			case below > 0:
				low = min(previous+1, value)
			case fraction > 0: // values before the first line may be anything up to it
				low = 0
			}
			buckets = append(buckets, otelhdr.Bucket{Low: low, High: value, Count: total - below})
			below, previous = total, value
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return otelhdr.NewSnapshot(slices.Values(buckets), otelhdr.WithRelativeError(relativeError), otelhdr.WithEquivalent(otelhdr.EquivalentHigh))
}

// percentileLine reads value, percentile, total count and, on all lines but the last, 1/(1-percentile).
func percentileLine(text string, scale float64) (value uint64, fraction float64, total uint64, err error) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return 0, 0, 0, fmt.Errorf("%w: %d fields: must be value, percentile and total count", ErrFormat, len(fields))
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("%w: value: %w", ErrFormat, err)
	}
	if v = math.Round(v * scale); !(v >= 0 && v < 1<<63) {
		return 0, 0, 0, fmt.Errorf("%w: value %g: must be in [0, 2^63)", ErrFormat, v)
	}
	if fraction, err = strconv.ParseFloat(fields[1], 64); err != nil {
		return 0, 0, 0, fmt.Errorf("%w: percentile: %w", ErrFormat, err)
	}
	if total, err = strconv.ParseUint(fields[2], 10, 63); err != nil {
		return 0, 0, 0, fmt.Errorf("%w: total count: %w", ErrFormat, err)
	}
	return uint64(v), fraction, total, nil
}

// subBuckets returns the relative error that the last line of a distribution tells:
// #[Buckets = 26, SubBuckets = 2048].
func subBuckets(text string) (float64, bool) {
	_, number, ok := strings.Cut(text, "SubBuckets")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.Trim(number, " =]"))
	if err != nil || n < 16 || n > 1<<18 {
		return 0, false
	}
	return 1 / float64(n), true
}
