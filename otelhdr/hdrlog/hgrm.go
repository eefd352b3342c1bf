package hdrlog

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/otelhdr"
)

// WritePercentiles writes s as a percentile distribution, .hgrm, which HdrHistogram's plotters
// draw. Its lines are as many for every halving of the distance to 100 % as ticks says; 5 is usual.
// Values are the greatest of their buckets, divided by scale: 1e6 makes milliseconds of
// nanoseconds. Buckets that overlap are taken for one, as a line stands for values that are greater
// than those of the line before. A line of ours at the end has the minimum. The error wraps
// [ErrFormat] if ticks or scale is not positive, [ErrValue] if ticks times the count is above 2^50,
// where the lines are closer than doubles.
func WritePercentiles(w io.Writer, s *otelhdr.Snapshot, ticks int, scale float64) error {
	if ticks < 1 || ticks > math.MaxInt32 || !(scale > 0) {
		return fmt.Errorf("%w: %d ticks, scale %g: must be positive", ErrFormat, ticks, scale)
	}
	if most := uint64(1<<50) / uint64(ticks); s.Count() > most {
		return fmt.Errorf("%w: %d values: must be at most %d with %d ticks", ErrValue, s.Count(), most, ticks)
	}
	digits := digitsFor(s.Resolution())
	h, err := recorded(s, slices.Values(apart(s)), 1, digits, func(b otelhdr.Bucket) uint64 { return b.High })
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, " Value\tPercentile\tTotalCount\t1/(1-Percentile)\n\n")
	for _, line := range h.CumulativeDistributionWithTicks(int32(ticks)) {
		inverse := "         inf"
		if fraction := line.Quantile / 100; fraction < 1 {
			inverse = fmt.Sprintf("%12.2f", 1/(1-fraction))
		}
		fmt.Fprintf(out, "%12.3f %14.12f %12d %s\n", float64(line.ValueAt)/scale, line.Quantile/100, line.Count, inverse)
	}
	fmt.Fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", s.Mean()/scale, s.StdDev()/scale)
	fmt.Fprintf(out, "#[Max     = %12.3f, Total count    = %12d]\n", float64(h.Max())/scale, s.Count())
	buckets, sub := 1, uint64(2)<<digitScales[digits]
	for v := max(s.Max(), 2); v >= sub<<(buckets-1); {
		buckets++
	}
	fmt.Fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", buckets, sub)
	fmt.Fprintf(out, "#[Min     = %12.3f]\n", math.Floor(1e3*float64(s.Min())/scale)/1e3)
	return out.Flush()
}

// apart returns the buckets of s in ascending order, with overlapping ones merged.
func apart(s *otelhdr.Snapshot) []otelhdr.Bucket {
	buckets := slices.SortedFunc(s.Buckets(), func(a, b otelhdr.Bucket) int { return cmp.Compare(a.Low, b.Low) })
	out := buckets[:0]
	for _, b := range buckets {
		if last := len(out) - 1; last >= 0 && b.Low <= out[last].High {
			out[last].High, out[last].Count = max(out[last].High, b.High), out[last].Count+b.Count
		} else {
			out = append(out, b)
		}
	}
	return out
}

// ReadPercentiles reads a percentile distribution and multiplies its values by scale. It holds a
// count for each of its lines only, so the snapshot has all values between two lines in one bucket:
// percentiles there are too high by as much as the lines are apart, which their error has. Those
// of the first line may be anything from the minimum on, which the files of others lack: from 0 on
// then, or where it is at 0 % from as far below as the values of all lines allow a lowest
// discernible value. Values are taken for exact at the decimals they have. The error is a
// [LineError] that wraps [ErrFormat].
func ReadPercentiles(r io.Reader, scale float64) (*otelhdr.Snapshot, error) {
	if !(scale > 0) {
		return nil, fmt.Errorf("%w: scale %g: must be positive", ErrFormat, scale)
	}
	var buckets []otelhdr.Bucket
	var below, previous, least uint64
	ends, known, aligned := uint64(1)<<maxUnit, false, false // of all lines; whether the minimum is there, and whether the first line is at 0 %
	relativeError := 0.001
	lines := bufio.NewScanner(r)
	n := 1
	for ; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "Value") {
			continue
		}
		if strings.HasPrefix(text, "#") {
			if sub, ok := subBuckets(text); ok {
				relativeError = sub
			}
			if v, ok := minimum(text, scale); ok {
				least, known = v, true
			}
			continue
		}
		value, fraction, total, err := percentileLine(text, scale)
		if err == nil && value < previous {
			err = fmt.Errorf("%w: value %d: must not be less than %d before", ErrFormat, value, previous)
		}
		if err == nil && total < below {
			err = fmt.Errorf("%w: total count %d: must not be less than %d before", ErrFormat, total, below)
		}
		if err != nil {
			return nil, &LineError{Line: n, Err: err}
		}
		if total > below {
			low := uint64(0)
			if below > 0 {
				low = min(previous+1, value)
			}
			aligned = aligned || len(buckets) == 0 && fraction == 0
			buckets = append(buckets, otelhdr.Bucket{Low: low, High: value, Count: total - below})
			below, previous, ends = total, value, ends|(value+1)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &LineError{Line: n, Err: fmt.Errorf("%w: must be shorter than %d bytes", ErrFormat, bufio.MaxScanTokenSize)}
	case err != nil:
		return nil, err
	}
	if aligned && !known {
		least = buckets[0].High + 1 - ends&-ends
	}
	if len(buckets) != 0 {
		buckets[0].Low = min(least, buckets[0].High)
	}
	return otelhdr.NewSnapshot(slices.Values(buckets), otelhdr.WithRelativeError(relativeError), otelhdr.WithEquivalent(otelhdr.EquivalentHigh))
}

// percentileLine reads value, percentile, total count and, on all lines but the last,
// 1/(1-percentile).
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

// minimum returns the value of a line of ours: #[Min = 512.000].
func minimum(text string, scale float64) (uint64, bool) {
	number, ok := strings.CutPrefix(text, "#[Min")
	v, err := strconv.ParseFloat(strings.Trim(number, " =]"), 64)
	v = math.Floor(v * scale)
	return uint64(max(v, 0)), ok && err == nil && v < 1<<63
}

// subBuckets returns the relative error that the last line of a distribution has:
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
