package perf

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// words makes a record of 64-bit words.
func words(kind uint32, misc uint16, body ...uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = binary.NativeEndian.AppendUint16(b, uint16(recordHeaderSize+8*len(body)))
	for _, w := range body {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

// ids are two numbers of 32 bits in one word.
func ids(process, thread uint32) uint64 {
	b := binary.NativeEndian.AppendUint32(nil, process)
	return binary.NativeEndian.Uint64(binary.NativeEndian.AppendUint32(b, thread))
}

const (
	testProcess = 7
	user        = 2 // PERF_RECORD_MISC_USER
)

func TestParseSamples(t *testing.T) {
	const kernelMark = ^uint64(128) + 1
	for name, c := range map[string]struct {
		record []byte
		want   []Sample
		counts SampleCounts
	}{
		"user": {
			words(recordSample, user, 100, ids(7, 8), 99, 3, contextUser, 100, 200, stackBytes, 11, 12, stackBytes),
			[]Sample{{Thread: 8, Time: 99, Stack: []uint64{100, 200}, Top: [2]uint64{11, 12}}},
			SampleCounts{Samples: 1},
		},
		"kernel": {
			words(recordSample, miscKernel, 1<<63, ids(7, 8), 99, 4, kernelMark, 1<<63, contextUser, 100, 0),
			[]Sample{{Thread: 8, Time: 99, Kernel: true, Stack: []uint64{100}}},
			SampleCounts{Samples: 1},
		},
		"stack that could not be read": {
			words(recordSample, user, 100, ids(7, 8), 99, 2, contextUser, 100, stackBytes, 0, 0, 0),
			[]Sample{{Thread: 8, Time: 99, Stack: []uint64{100}}},
			SampleCounts{Samples: 1},
		},
		"no chain": {
			words(recordSample, user, 100, ids(7, 8), 99, 0, 0),
			[]Sample{{Thread: 8, Time: 99, Stack: []uint64{100}}},
			SampleCounts{Samples: 1},
		},
		"no chain in the kernel": {
			words(recordSample, miscKernel, 1<<63, ids(7, 8), 99, 0, 0),
			[]Sample{{Thread: 8, Time: 99, Kernel: true}},
			SampleCounts{Samples: 1},
		},
		"another process": {words(recordSample, user, 100, ids(6, 8), 99, 0, 0), nil, SampleCounts{Foreign: 1}},
		"lost":            {words(recordLost, 0, 1, 42), nil, SampleCounts{Lost: 42}},
		"lost samples":    {words(recordLostSamples, 0, 43), nil, SampleCounts{Lost: 43}},
		"throttle":        {words(recordThrottle, 0, 1, 2, 3), nil, SampleCounts{Throttled: 1}},
		"unthrottle":      {words(6, 0, 1, 2, 3), nil, SampleCounts{}},
		"unknown":         {words(99, 0, 1), nil, SampleCounts{}},
		"no header":       {[]byte{9}, nil, SampleCounts{Malformed: 1}},
		"short sample":    {words(recordSample, user, 100, ids(7, 8), 99), nil, SampleCounts{Malformed: 1}},
		"short chain":     {words(recordSample, user, 100, ids(7, 8), 99, 2, 100), nil, SampleCounts{Malformed: 1}},
		"endless chain":   {words(recordSample, user, 100, ids(7, 8), 99, 1<<63, 100), nil, SampleCounts{Malformed: 1}},
		"short lost":      {words(recordLost, 0, 1), nil, SampleCounts{Malformed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := recordParser{process: testProcess}
			var got []Sample
			p.parse(c.record, func(s *Sample) { got = append(got, *s) })
			if diff := cmp.Diff(c.want, got, cmp.Transformer("stack", func(s []uint64) []uint64 {
				if len(s) == 0 {
					return nil
				}
				return s
			})); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.counts, p.counts); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseAllocs(t *testing.T) {
	p := recordParser{process: testProcess}
	record := words(recordSample, user, 100, ids(7, 8), 99, 3, contextUser, 100, 200, stackBytes, 11, 12, stackBytes)
	each := func(*Sample) {}
	p.parse(record, each)
	if n := testing.AllocsPerRun(100, func() { p.parse(record, each) }); n != 0 {
		t.Errorf("parse allocates %v times, want 0", n)
	}
}

// FuzzParseRing gives the reader memory with anything in it.
func FuzzParseRing(f *testing.F) {
	f.Add(words(recordSample, user, 100, ids(7, 8), 99, 3, contextUser, 100, 200, stackBytes, 11, 12, stackBytes), uint64(0), uint64(96))
	f.Add(words(recordLost, 0, 1, 42), uint64(0), uint64(24))
	f.Add([]byte{9, 0, 0, 0, 2, 0, 4, 0}, uint64(0), uint64(8))
	f.Fuzz(func(t *testing.T, content []byte, tail, head uint64) {
		data := make([]byte, 256)
		copy(data, content)
		tail &^= 7
		r := ring{head: &head, tail: &tail, data: data}
		p := recordParser{process: testProcess}
		records := 0
		r.drain(func(record []byte) {
			if records++; records > 1<<20 {
				t.Fatalf("%d records in %d bytes", records, head-tail)
			}
			p.parse(record, func(s *Sample) {
				if len(s.Stack) > recordMaxSize/8 {
					t.Errorf("stack of %d in a record of %d bytes", len(s.Stack), len(record))
				}
			})
		})
		if tail != head {
			t.Errorf("tail %d, head %d: must be equal when the ring has been read", tail, head)
		}
	})
}

// TestRingWraps writes records of any size, as the kernel does, and reads them back.
func TestRingWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := make([]byte, 1<<rapid.IntRange(6, 10).Draw(t, "log2 size"))
		head := uint64(8 * rapid.IntRange(0, 1000).Draw(t, "begin"))
		tail := head
		r := ring{head: &head, tail: &tail, data: data}
		written, read := [][]byte{}, [][]byte{}
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for range rapid.IntRange(0, 5).Draw(t, "records") {
				record := words(99, 0, rapid.SliceOfN(rapid.Uint64(), 0, 6).Draw(t, "body")...)
				if head+uint64(len(record))-tail > uint64(len(data)) {
					break // the kernel would count it as lost
				}
				for i, b := range record {
					data[(head+uint64(i))%uint64(len(data))] = b
				}
				head += uint64(len(record))
				written = append(written, record)
			}
			if !r.drain(func(record []byte) { read = append(read, append([]byte(nil), record...)) }) {
				t.Fatal("drain found what is no record")
			}
			if head != tail {
				t.Fatalf("tail %d, head %d: must be equal when the ring has been read", tail, head)
			}
		}
		if diff := cmp.Diff(written, read); diff != "" {
			t.Fatalf("records (-written +read):\n%s", diff)
		}
	})
}

func TestRingSkipsWhatIsNoRecord(t *testing.T) {
	data := make([]byte, 64) // a size of 0 would never end
	head, tail := uint64(16), uint64(0)
	r := ring{head: &head, tail: &tail, data: data}
	if r.drain(func([]byte) { t.Error("a record was read") }) || tail != head {
		t.Errorf("drain = true or tail %d: want false and %d", tail, head)
	}
}
