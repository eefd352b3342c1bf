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
	// maxMessages bounds the samples, labels, locations, lines, functions, texts and comments. One
	// has a byte or two at least, and takes some hundred when it is parsed.
	maxMessages = 4 << 20
	// maxNumbers bounds the locations and values in all samples. One has a byte at least, and takes
	// 16 when it is parsed.
	maxNumbers = 32 << 20
	// maxCalls bounds the stacks of all samples, of which each has no more calls than a tree:
	// samples share locations, which may have many lines.
	maxCalls = 128 << 20
	// maxRegions bounds the trees, of a kilobyte at least.
	maxRegions = 16 << 10
)

// Read reads a recording, or any other CPU profile in pprof's format, gzipped or not. Of frames it
// keeps what a [Frame] has. A profile of a process in which spans are labeled, taken by any tool,
// has its regions, but without their names unless they are among the labels. The error wraps
// [ErrFormat] for what is not a CPU profile, or above 128 MiB, 4 Mi messages, 32 Mi locations in
// samples, 16 Ki regions or 128 Ki calls in a stack.
func Read(r io.Reader) (*Recording, error) {
	data, err := readProfileBytes(r, maxProfileBytes)
	if err != nil {
		return nil, err
	}
	var has census
	switch {
	case !has.add(data, 0):
		return nil, fmt.Errorf("%w: must be a profile in pprof's format", ErrFormat)
	case has.messages > maxMessages:
		return nil, fmt.Errorf("%w: %d messages: must be at most %d", ErrFormat, has.messages, maxMessages)
	case has.numbers > maxNumbers:
		return nil, fmt.Errorf("%w: %d locations and values of samples: must be at most %d", ErrFormat, has.numbers, maxNumbers)
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

// A census is what a profile has, counted before it is parsed.
type census struct {
	messages int // and comments
	numbers  int // of samples: locations and values
}

// The numbers of fields of a profile, of its samples and of its locations.
const (
	fieldSample   = 2
	fieldLocation = 4
	fieldComment  = 13

	fieldOfSampleLocation = 1
	fieldOfSampleValue    = 2
	fieldOfSampleLabel    = 3
	fieldOfLocationLine   = 4
)

// add counts what is in a message of protocol buffers: in a profile, of which part is 0, or in what
// is its field part. It is false where the parser of profiles would fail, too.
func (c *census) add(data []byte, part uint64) bool {
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
			return false
		}
		if used <= 0 || length <= 0 || size > uint64(len(data)) {
			return false
		}
		if !c.field(data[:size], part, key>>3, key&7 == 2) {
			return false
		}
		data = data[size:]
	}
	return true
}

func (c *census) field(content []byte, part, number uint64, isBytes bool) bool {
	switch {
	case part == 0 && number == fieldComment:
		c.messages += numbersIn(content)
	case part == fieldSample && (number == fieldOfSampleLocation || number == fieldOfSampleValue):
		c.numbers += numbersIn(content)
	case !isBytes:
	case part == 0:
		c.messages++
		if number == fieldSample || number == fieldLocation {
			return c.add(content, number)
		}
	case part == fieldSample && number == fieldOfSampleLabel, part == fieldLocation && number == fieldOfLocationLine:
		c.messages++
	}
	return true
}

// numbersIn counts integers, one or several packed: each ends with a byte below 0x80.
func numbersIn(content []byte) (n int) {
	for _, b := range content {
		if b < 0x80 {
			n++
		}
	}
	return n
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
