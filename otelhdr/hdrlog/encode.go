package hdrlog

import (
	"errors"
	"fmt"
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

// digitErrors are the relative errors of 1 to 5 significant digits.
var digitErrors = [...]float64{0.5 / (1 << 4), 0.5 / (1 << 7), 0.5 / (1 << 10), 0.5 / (1 << 14), 0.5 / (1 << 17)}

// digitsFor returns the least number of digits whose error is no more than e, or 5.
func digitsFor(e float64) int {
	for i, of := range digitErrors {
		if of <= e {
			return i + 1
		}
	}
	return len(digitErrors)
}

// Encode returns s as base64 of HdrHistogram's compressed format, version 2: HISTFAAA…. It needs memory for all buckets
// up to the maximum, at 3 digits at most 0.5 MB, at 5 digits 50 MB.
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
	if s.Max() > math.MaxInt64 {
		return nil, fmt.Errorf("%w: %d: must be below 2^63", ErrValue, s.Max())
	}
	if s.Count() > math.MaxInt64 {
		return nil, fmt.Errorf("%w: count %d: must be below 2^63", ErrValue, s.Count())
	}
	// Java rejects a range of less than one doubling.
	unit := unitOf(s)
	h := hdr.New(unit, max(int64(s.Max()), 2*unit), digitsFor(s.Resolution()))
	lowest, highest := s.Range()
	for b := range s.Buckets() {
		v := min(b.Mid(), s.Max())
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

// unitOf returns the lowest discernible value that keeps the bounds of buckets wider than the layout of s, or 1 if it has none.
func unitOf(s *otelhdr.Snapshot) int64 {
	all, wide := uint64(1)<<40, false
	for b := range s.Buckets() {
		width := b.High - b.Low + 1
		wide = wide || width > 1 && float64(width) > 2*s.Resolution()*float64(b.Low)
		all |= b.Low | (b.High + 1)
	}
	if !wide {
		return 1
	}
	return int64(all & -all)
}
