package hdrlog

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/otelprof/otelprof/otelhdr"
)

// The cookies that begin a compressed histogram and, inflated, the histogram itself. Bits 4 to 7
// hold the size of a counter and are cleared here.
const (
	cookieV0           = 0x1c849308
	cookieV0Compressed = 0x1c849309
	cookieV1           = 0x1c849301
	cookieV1Compressed = 0x1c849302
	cookieV2Compressed = 0x1c849304
	cookieMask         = ^uint32(0xf0)
)

// digitScales are the log2 of the number of buckets in a block for 0 to 5 significant digits.
var digitScales = [...]uint{0, 4, 7, 10, 14, 17}

// maxEncodedBytes bounds the length of an encoded histogram. One of 5 digits with all counters in
// use has 50 MB before compression.
const maxEncodedBytes = 64 << 20

// Decode returns the histogram that text is the base64 of, in HdrHistogram's compressed format,
// version 0, 1 or 2. The error wraps [ErrFormat]; no text makes Decode panic.
func Decode(text string) (*otelhdr.Snapshot, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxEncodedBytes {
		return nil, fmt.Errorf("%w: %d bytes: must be at most %d", ErrFormat, len(text), maxEncodedBytes)
	}
	// Some writers leave the padding out.
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(data) < 8 {
		return nil, fmt.Errorf("%w: %d bytes: must be at least 8", ErrFormat, len(data))
	}
	switch cookie := binary.BigEndian.Uint32(data) & cookieMask; cookie {
	case cookieV2Compressed:
		return decodeV2(data)
	case cookieV1Compressed, cookieV0Compressed:
		s, err := decodeWords(data)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return s, nil
	default:
		return nil, fmt.Errorf("%w: cookie %#x: must be that of a compressed histogram, version 0, 1 or 2", ErrFormat, cookie)
	}
}

func decodeV2(data []byte) (*otelhdr.Snapshot, error) {
	h, err := hdr.Decode([]byte(base64.StdEncoding.EncodeToString(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	e := h.Export()
	g := geometry{scale: digitScales[e.SignificantFigures], unit: uint(bits.Len64(uint64(max(e.LowestTrackableValue, 1))) - 1)}
	return otelhdr.NewSnapshot(func(yield func(otelhdr.Bucket) bool) {
		for i, n := range e.Counts {
			if n != 0 && !yield(g.bucket(uint64(i), uint64(n))) {
				return
			}
		}
	}, options(int(e.SignificantFigures))...)
}

// options lay out what has been encoded with these digits. None means a block of one bucket, which
// those of one digit divide.
func options(digits int) []otelhdr.Option {
	return []otelhdr.Option{otelhdr.WithSignificantDigits(max(digits, 1)), otelhdr.WithEquivalent(otelhdr.EquivalentHigh)}
}

// A geometry is how HdrHistogram lays out its counters: like ours in units of 2^unit.
type geometry struct{ scale, unit uint }

// maxUnit is the greatest unit that is written.
const maxUnit = 40

// buckets returns the number of counters that cover all of int64.
func (g geometry) buckets() uint64 { return uint64(64-g.scale-g.unit) << g.scale }

func (g geometry) bucket(i, n uint64) otelhdr.Bucket {
	step := uint(max(i>>g.scale, 1) - 1)
	low := (i - uint64(step)<<g.scale) << (step + g.unit)
	return otelhdr.Bucket{Low: low, High: low + (uint64(1)<<(step+g.unit) - 1), Count: n}
}

// holding returns the bucket that v is counted in, without a count.
func (g geometry) holding(v uint64) otelhdr.Bucket {
	step := uint(bits.Len64(v>>g.unit|1<<g.scale)) - g.scale - 1 + g.unit
	low := v >> step << step
	return otelhdr.Bucket{Low: low, High: low + (1<<step - 1)}
}

// decodeWords decodes versions 0 and 1, which hold plain words. The codec has no part in it, as it
// reads version 2 only. The layout follows AbstractHistogram.decodeFromByteBuffer of HdrHistogram
// for Java.
func decodeWords(data []byte) (s *otelhdr.Snapshot, err error) {
	length := binary.BigEndian.Uint32(data[4:])
	if uint64(length) > uint64(len(data)-8) {
		return nil, fmt.Errorf("%d compressed bytes: must be %d", len(data)-8, length)
	}
	z, err := zlib.NewReader(bytes.NewReader(data[8 : 8+length]))
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(z)
	var cookie uint32
	if err := binary.Read(in, binary.BigEndian, &cookie); err != nil {
		return nil, err
	}
	digits, lowest, payload, err := readWordsHeader(in, cookie)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if digits < 0 || int(digits) >= len(digitScales) {
		return nil, fmt.Errorf("%d significant digits: must be in [0, 5]", digits)
	}
	g := geometry{scale: digitScales[digits], unit: uint(bits.Len64(uint64(max(lowest, 1))) - 1)}
	if g.scale+g.unit > 61 {
		return nil, fmt.Errorf("lowest discernible value %d: too large for %d significant digits", lowest, digits)
	}
	word := int(cookie>>4) & 0xe
	if word != 2 && word != 4 && word != 8 {
		return nil, fmt.Errorf("counters of %d bytes: must be 2, 4 or 8", word)
	}
	buckets, err := readWords(in, g, word, payload)
	if err != nil {
		return nil, err
	}
	return otelhdr.NewSnapshot(func(yield func(otelhdr.Bucket) bool) {
		for _, b := range buckets {
			if !yield(b) {
				return
			}
		}
	}, options(int(digits))...)
}

// readWordsHeader reads the header that follows the cookie of version 0 or 1. Payload is the number
// of bytes that all counters have, -1 where they go on to the end.
func readWordsHeader(in io.Reader, cookie uint32) (digits int32, lowest, payload int64, err error) {
	switch cookie & cookieMask {
	case cookieV1:
		var header struct {
			PayloadBytes, IndexOffset, Digits int32
			Lowest, Highest                   int64
			Ratio                             float64
		}
		err = binary.Read(in, binary.BigEndian, &header)
		return header.Digits, header.Lowest, int64(header.PayloadBytes), err
	case cookieV0:
		var header struct {
			Digits                 int32
			Lowest, Highest, Total int64
		}
		err = binary.Read(in, binary.BigEndian, &header)
		return header.Digits, header.Lowest, -1, err
	default:
		return 0, 0, -1, fmt.Errorf("cookie %#x: must be that of a histogram, version 0 or 1", cookie)
	}
}

// readWords reads counters of word bytes, payload bytes altogether or all there are if that is
// negative, and returns the buckets that are not empty.
func readWords(in io.Reader, g geometry, word int, payload int64) ([]otelhdr.Bucket, error) {
	var buckets []otelhdr.Bucket
	buf := make([]byte, word)
	for i := uint64(0); payload < 0 || i*uint64(word) < uint64(payload); i++ {
		if _, err := io.ReadFull(in, buf); err != nil {
			if payload < 0 && errors.Is(err, io.EOF) {
				break
			}
			return nil, fmt.Errorf("counter %d: %w", i, err)
		}
		var n int64
		switch word {
		case 2:
			n = int64(int16(binary.BigEndian.Uint16(buf)))
		case 4:
			n = int64(int32(binary.BigEndian.Uint32(buf)))
		default:
			n = int64(binary.BigEndian.Uint64(buf))
		}
		switch {
		case n == 0 && i >= g.buckets() && payload < 0:
			return buckets, nil // a buffer longer than the counters
		case i >= g.buckets():
			return nil, fmt.Errorf("counter %d: must be below %d", i, g.buckets())
		case n < 0:
			return nil, fmt.Errorf("counter %d: count %d: must not be negative", i, n)
		case n > 0:
			buckets = append(buckets, g.bucket(i, uint64(n)))
		}
	}
	return buckets, nil
}
