package stacks

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/otelprof/otelprof/internal/naming"
)

// ErrFormat is wrapped by errors about files that are no recordings.
var ErrFormat = errors.New("stacks: recording")

// maxProfileBytes bounds what is read, before and after it is unpacked.
const maxProfileBytes = 128 << 20

// Read reads a recording, or any other CPU profile in pprof's format, gzipped or not. Of frames it
// keeps what a [Frame] has. A profile of a process in which spans are labeled, taken by any tool,
// has its regions, but without their names unless they are among the labels. The error wraps
// [ErrFormat] for what is not a CPU profile.
func Read(r io.Reader) (*Recording, error) {
	data, err := readProfileBytes(r, maxProfileBytes)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: must be a profile in pprof's format: %w", ErrFormat, err)
	}
	return fromProfile(p)
}

func readProfileBytes(r io.Reader, most int) ([]byte, error) {
	data, err := readLimited(r, "file", most)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: empty: must be a profile in pprof's format", ErrFormat)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = readLimited(zr, "unpacked file", most)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%w: gzip: truncated: must be whole", ErrFormat)
	case errors.Is(err, ErrFormat) || err == nil:
		return data, err
	default:
		return nil, fmt.Errorf("%w: gzip: %w", ErrFormat, err)
	}
}

func readLimited(r io.Reader, what string, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, fmt.Errorf("%w: %s: must have at most %d bytes", ErrFormat, what, most)
	}
	return data, nil
}

func fromProfile(p *profile.Profile) (*Recording, error) {
	samples, nanos, err := sampleColumns(p)
	if err != nil {
		return nil, err
	}
	r := &Recording{
		Duration: time.Duration(max(0, p.DurationNanos)),
		CPU:      time.Duration(numberComment(p.Comments, cpuComment)),
		Lost:     numberComment(p.Comments, lostComment),
		Origin:   originOf(p.Comments),
	}
	if p.TimeNanos != 0 {
		r.Start = time.Unix(0, p.TimeNanos).UTC()
	}
	if p.Period > 0 {
		r.Hz = int((int64(time.Second) + p.Period/2) / p.Period)
	}
	table, trees := &table{}, map[int]*Tree{}
	var stack []FrameID
	var sum Weight
	for i, s := range p.Sample {
		w := Weight{Nanos: s.Value[nanos]}
		switch {
		case samples >= 0:
			w.Samples = s.Value[samples]
		case p.Period > 0:
			w.Samples = w.Nanos / p.Period
		}
		if w.Samples < 0 || w.Nanos < 0 {
			return nil, fmt.Errorf("%w: sample %d: %d samples, %d ns: must not be negative", ErrFormat, i, w.Samples, w.Nanos)
		}
		if w.Samples > math.MaxInt64-sum.Samples || w.Nanos > math.MaxInt64-sum.Nanos {
			return nil, fmt.Errorf("%w: sample %d: %d samples, %d ns: must be at most %d with those before", ErrFormat, i, w.Samples, w.Nanos, int64(math.MaxInt64))
		}
		sum.add(w)
		stack = stack[:0]
		for _, l := range s.Location {
			for _, line := range l.Line {
				stack = append(stack, table.id(NewFrame(line.Function.Name, line.Function.Filename, int(line.Line))))
			}
			if len(l.Line) == 0 {
				stack = append(stack, table.id(NewFrame("", "", 0)))
			}
		}
		number := numberOf(s)
		if trees[number] == nil {
			trees[number] = newTree(table)
		}
		trees[number].AddInterned(stack, w)
	}
	names := regionNames(p)
	for number, tree := range trees {
		region, ok := names[number]
		if !ok && number != 0 {
			region.Name = "region " + strconv.Itoa(number)
		}
		r.Regions = append(r.Regions, RegionTree{Region: region, Number: number, Tree: tree})
	}
	r.sort()
	return r, nil
}

// sampleColumns finds the number of samples, -1 if there is none, and the processor time.
func sampleColumns(p *profile.Profile) (samples, nanos int, err error) {
	samples, nanos = -1, -1
	var have []string
	for i, t := range p.SampleType {
		switch {
		case t.Type == "samples" && t.Unit == "count":
			samples = i
		case t.Type == "cpu" && t.Unit == "nanoseconds":
			nanos = i
		}
		have = append(have, t.Type+"/"+t.Unit)
	}
	if nanos < 0 {
		return 0, 0, fmt.Errorf("%w: sample types %q: must have cpu/nanoseconds, as CPU profiles do", ErrFormat, strings.Join(have, " "))
	}
	return samples, nanos, nil
}

// numberOf returns the region of a sample: recordings have it as a number, and the runtime's own
// profiles as text.
func numberOf(s *profile.Sample) int {
	if n := s.NumLabel[naming.RegionLabel]; len(n) > 0 && n[0] > 0 {
		return int(n[0])
	}
	if text := s.Label[naming.RegionLabel]; len(text) > 0 {
		if n, err := strconv.Atoi(text[0]); err == nil && n > 0 {
			return n
		}
	}
	return 0
}
