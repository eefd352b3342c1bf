package hdrlog

import (
	"errors"
	"fmt"
	"iter"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/otelprof/otelprof/otelhdr"
)

var (
	// ErrFormat is wrapped by every error about text that is not what it should be.
	ErrFormat = errors.New("hdrlog: invalid format")
	// ErrValue is wrapped by the error about a snapshot that HdrHistogram has no place for.
	ErrValue = errors.New("hdrlog: value out of range")
)

// digitsFor returns the least number of digits whose error is no more than e, or 5.
func digitsFor(e float64) int {
	digits := 1
	for digits < len(digitScales)-1 && math.Ldexp(0.5, -int(digitScales[digits])) > e {
		digits++
	}
	return digits
}

// Encode returns s as base64 of HdrHistogram's compressed format, version 2: HISTFAAA…. It needs
// memory for all buckets up to the maximum, at 3 digits at most 0.5 MB, at 5 digits 50 MB.
func Encode(s *otelhdr.Snapshot) (string, error) {
	h, err := toHdr(s)
	if err != nil {
		return "", err
	}
	b, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("hdrlog: encode: %w", err)
	}
	return string(b), nil
}

// toHdr returns s as the codec has it.
func toHdr(s *otelhdr.Snapshot) (*hdr.Histogram, error) {
	digits := digitsFor(s.Resolution())
	unit, err := unitOf(s, digits)
	if err != nil {
		return nil, err
	}
	return recorded(s, s.Buckets(), unit, digits, otelhdr.Bucket.Mid)
}

// recorded returns the buckets of s as the codec has them, each in range counted as the value of it
// that of returns.
func recorded(s *otelhdr.Snapshot, buckets iter.Seq[otelhdr.Bucket], unit int64, digits int, of func(otelhdr.Bucket) uint64) (*hdr.Histogram, error) {
	if s.Max() > math.MaxInt64 {
		return nil, fmt.Errorf("%w: %d: must be below 2^63", ErrValue, s.Max())
	}
	if s.Count() > math.MaxInt64 {
		return nil, fmt.Errorf("%w: count %d: must be below 2^63", ErrValue, s.Count())
	}
	// Java rejects a range of less than one doubling.
	h := hdr.New(unit, max(int64(s.Max()), 2*unit), digits)
	lowest, highest := s.Range()
	for b := range buckets {
		v := min(of(b), s.Max())
		switch {
		case b.High < lowest:
			v = s.Min()
		case b.Low > highest:
			v = s.Max()
		}
		if err := h.RecordValues(int64(v), int64(b.Count)); err != nil {
			return nil, fmt.Errorf("%w: %d: %w", ErrValue, v, err)
		}
	}
	return h, nil
}

// unitOf returns the lowest discernible value with which a bucket of HdrHistogram of these digits
// holds each bucket of s that is wider than its layout. Where one takes a bucket more than twice as
// wide, as it lies across the bounds of those of HdrHistogram, it has no place there.
func unitOf(s *otelhdr.Snapshot, digits int) (int64, error) {
	g := geometry{scale: digitScales[digits]}
	lowest, highest := s.Range()
	var wide []otelhdr.Bucket
	for b := range s.Buckets() {
		width := b.High - b.Low + 1
		out := b.High < lowest || b.Low > highest // counted as an extreme
		if out || width == 1 || width != 0 && float64(width) <= 2*s.Resolution()*float64(b.Low) {
			continue
		}
		for b.High > g.holding(b.Low).High && g.unit < maxUnit {
			g.unit++
		}
		wide = append(wide, b)
	}
	for _, b := range wide { // by the unit of all
		of, width := g.holding(b.Low), b.High-b.Low+1
		if b.High > of.High || width != 0 && (of.High-of.Low)/2 >= width {
			return 0, fmt.Errorf("%w: bucket from %d to %d: must be within one of HdrHistogram's that is at most twice as wide",
				ErrValue, b.Low, b.High)
		}
	}
	return 1 << g.unit, nil
}
