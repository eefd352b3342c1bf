package hdr

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

// A format is how histograms are written down.
type format string

const (
	formatHlog   format = "hlog"
	formatHgrm   format = "hgrm"
	formatBase64 format = "base64"
	formatCSV    format = "csv"
	formatJSON   format = "json"
)

var formats = []format{formatHlog, formatHgrm, formatBase64, formatCSV, formatJSON}

// csvHeader is the first line of CSV; the bounds are inclusive.
const csvHeader = "low,high,count"

// detect finds the format by the first line that is not empty.
func detect(r io.Reader) (io.Reader, format, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head, err := in.Peek(1 << 12)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, "", err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(head)), "\n")
	first = strings.TrimSpace(first)
	switch {
	case first == "":
		return nil, "", errors.New("empty")
	case strings.HasPrefix(first, "{"):
		return in, formatJSON, nil
	case strings.HasPrefix(first, csvHeader):
		return in, formatCSV, nil
	case strings.HasPrefix(first, "Value"):
		return in, formatHgrm, nil
	case strings.HasPrefix(first, "HIST"):
		return in, formatBase64, nil
	default:
		return in, formatHlog, nil
	}
}

// readSnapshot reads one histogram of any format but logs.
func readSnapshot(r io.Reader, f format, scale float64) (*otelhdr.Snapshot, error) {
	switch f {
	case formatHgrm:
		return hdrlog.ReadPercentiles(r, scale)
	case formatBase64:
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		return hdrlog.Decode(string(text))
	case formatCSV:
		return readCSV(r)
	default:
		return readJSON(r)
	}
}

// write writes an interval in any format.
func (f format) write(w io.Writer, i hdrlog.Interval, scale float64) error {
	switch f {
	case formatHlog:
		return hdrlog.NewWriter(w, i.Start).Write(i)
	case formatHgrm:
		return hdrlog.WritePercentiles(w, i.Snapshot, 5, scale)
	case formatBase64:
		text, err := hdrlog.Encode(i.Snapshot)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, text)
		return err
	case formatCSV:
		return writeCSV(w, i.Snapshot)
	default:
		return writeJSON(w, i.Snapshot)
	}
}

func writeCSV(w io.Writer, s *otelhdr.Snapshot) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, csvHeader)
	for b := range s.Buckets() {
		fmt.Fprintf(out, "%d,%d,%d\n", b.Low, b.High, b.Count)
	}
	return out.Flush()
}

func readCSV(r io.Reader) (*otelhdr.Snapshot, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = 3
	if _, err := in.Read(); err != nil {
		return nil, err
	}
	var buckets []otelhdr.Bucket
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return fromBuckets(buckets)
		}
		if err != nil {
			return nil, err
		}
		var b otelhdr.Bucket
		for i, to := range []*uint64{&b.Low, &b.High, &b.Count} {
			if *to, err = strconv.ParseUint(fields[i], 10, 64); err != nil {
				line, _ := in.FieldPos(i)
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
		buckets = append(buckets, b)
	}
}

// fromBuckets returns a snapshot of buckets of unknown layout. It follows from their widths: in a
// layout with blocks of 2^k, a bucket is at most 2^-k as wide as its values are great, and the
// first one of a block exactly that.
func fromBuckets(buckets []otelhdr.Bucket) (*otelhdr.Snapshot, error) {
	scale := 3 // the coarsest
	for _, b := range buckets {
		if b.Low <= b.High && b.High-b.Low < math.MaxUint64 {
			scale = max(scale, bits.Len64(b.Low/(b.High-b.Low+1))-1)
		}
	}
	e := 0.5 / float64(uint64(1)<<min(scale, 18))
	return otelhdr.NewSnapshot(slices.Values(buckets), otelhdr.WithRelativeError(e), otelhdr.WithEquivalent(otelhdr.EquivalentHigh))
}

// histogramJSON is a histogram as JSON. Only the resolution and the buckets are read.
type histogramJSON struct {
	Count         uint64           `json:"count"`
	Min           uint64           `json:"min"`
	Max           uint64           `json:"max"`
	Mean          float64          `json:"mean"`
	StdDev        float64          `json:"std_dev"`
	RelativeError float64          `json:"relative_error"`
	Resolution    float64          `json:"resolution"` // as the relative error if that is not there
	Percentiles   []percentileJSON `json:"percentiles"`
	Buckets       []bucketJSON     `json:"buckets"`
}

type percentileJSON struct {
	Percent float64 `json:"percent"`
	Value   uint64  `json:"value"`
}

type bucketJSON struct {
	Low   uint64 `json:"low"`
	High  uint64 `json:"high"`
	Count uint64 `json:"count"`
}

func writeJSON(w io.Writer, s *otelhdr.Snapshot) error {
	h := histogramJSON{
		Count: s.Count(), Min: s.Min(), Max: s.Max(), Mean: s.Mean(), StdDev: s.StdDev(), RelativeError: s.RelativeError(),
		Resolution: s.Resolution(), Buckets: []bucketJSON{},
	}
	for _, p := range s.Summary(nil).Percentiles {
		h.Percentiles = append(h.Percentiles, percentileJSON{Percent: p.Percent, Value: p.Value})
	}
	for b := range s.Buckets() {
		h.Buckets = append(h.Buckets, bucketJSON(b))
	}
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	return out.Encode(h)
}

func readJSON(r io.Reader) (*otelhdr.Snapshot, error) {
	var h histogramJSON
	if err := json.NewDecoder(r).Decode(&h); err != nil {
		return nil, err
	}
	buckets := make([]otelhdr.Bucket, len(h.Buckets))
	for i, b := range h.Buckets {
		buckets[i] = otelhdr.Bucket(b)
	}
	if h.Resolution == 0 {
		h.Resolution = h.RelativeError
	}
	if h.Resolution == 0 {
		return fromBuckets(buckets)
	}
	return otelhdr.NewSnapshot(slices.Values(buckets), otelhdr.WithRelativeError(h.Resolution), otelhdr.WithEquivalent(otelhdr.EquivalentHigh))
}
