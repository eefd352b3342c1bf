package stacks

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
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

const (
	// maxProfileBytes bounds what is read, before and after it is unpacked.
	maxProfileBytes = 128 << 20
	// maxMessages bounds the samples, labels, locations, lines, functions and texts. One has two
	// bytes at least, and takes some hundred when it is parsed.
	maxMessages = 4 << 20
	// maxCalls bounds the stacks of all samples, of which each has no more calls than a tree:
	// samples share locations, which may have many lines.
	maxCalls = 128 << 20
	// maxRegions bounds the trees, of a kilobyte at least.
	maxRegions = 16 << 10
)

// Read reads a recording, or any other CPU profile in pprof's format, gzipped or not. Of frames it
// keeps what a [Frame] has. A profile of a process in which spans are labeled, taken by any tool,
// has its regions, but without their names unless they are among the labels. The error wraps
// [ErrFormat] for what is not a CPU profile, or above 128 MiB, 4 Mi messages, 16 Ki regions or 128
// Ki calls in a stack.
func Read(r io.Reader) (*Recording, error) {
	data, err := readProfileBytes(r, maxProfileBytes)
	if err != nil {
		return nil, err
	}
	n, ok := messages(data, 0)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: must be a profile in pprof's format", ErrFormat)
	case n > maxMessages:
		return nil, fmt.Errorf("%w: %d messages: must be at most %d", ErrFormat, n, maxMessages)
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

// messages counts the fields of bytes in a message of protocol buffers, those of one number only
// unless that is 0: of a profile with the labels of samples and the lines of locations. It is false
// where the parser of profiles would fail, too.
func messages(data []byte, only uint64) (n int, ok bool) {
	for len(data) > 0 {
		key, used := binary.Uvarint(data)
		data = data[max(used, 0):]
		size, length := uint64(0), used
		switch key & 7 {
		case 0: // an integer
			_, length = binary.Uvarint(data)
			size = uint64(max(length, 0))
		case 1:
			size = 8
		case 2: // bytes
			size, length = binary.Uvarint(data)
			data = data[max(length, 0):]
		case 5:
			size = 4
		default:
			return 0, false
		}
		if used <= 0 || length <= 0 || size > uint64(len(data)) {
			return 0, false
		}
		number, inner := key>>3, 0
		if key&7 == 2 && (only == 0 || only == number) {
			n++
		}
		switch ok = true; {
		case only != 0 || key&7 != 2:
		case number == 2: // a sample
			inner, ok = messages(data[:size], 3)
		case number == 4: // a location
			inner, ok = messages(data[:size], 4)
		}
		if !ok {
			return 0, false
		}
		n, data = n+inner, data[size:]
	}
	return n, true
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
	stack, calls := make([]FrameID, 0, 128), 0
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
		if stack = table.stack(stack[:0], s, min(maxNodes, maxCalls-calls)); stack == nil {
			return nil, fmt.Errorf("%w: sample %d: must have at most %d calls, and all samples %d", ErrFormat, i, maxNodes, maxCalls)
		}
		calls += len(stack)
		number := numberOf(s)
		if trees[number] == nil {
			if len(trees) == maxRegions {
				return nil, fmt.Errorf("%w: sample %d: region %d: must be one of at most %d", ErrFormat, i, number, maxRegions)
			}
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

// stack appends the frames of a sample, innermost first, or returns nil where they are more than
// most.
func (t *table) stack(to []FrameID, s *profile.Sample, most int) []FrameID {
	for _, l := range s.Location {
		if len(to)+max(len(l.Line), 1) > most {
			return nil
		}
		for _, line := range l.Line {
			to = append(to, t.id(NewFrame(line.Function.Name, line.Function.Filename, int(line.Line))))
		}
		if len(l.Line) == 0 {
			to = append(to, t.id(NewFrame("", "", 0)))
		}
	}
	return to
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
