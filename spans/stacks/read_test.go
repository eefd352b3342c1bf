package stacks

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/spans"
)

// recorded is a recording of two regions and what is outside.
func recorded() *Recording {
	outside := NewTree()
	outside.Add(stack("gc:5", "scan:6"), weight(12))
	outside.Add(nil, weight(1))
	r := &Recording{
		Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Duration: 10 * time.Second, Hz: 100, CPU: 1500 * time.Millisecond, Lost: 3,
		Regions: []RegionTree{
			{Region: spans.Region{Scope: instrumentation.Scope{Name: "shop"}, Name: `GET "/x" ü` + "\n"}, Number: 2, Tree: example()},
			{Region: spans.Region{Name: "GET /x"}, Number: 7, Tree: example().WithoutLines()},
			{Tree: outside},
		},
	}
	r.sort()
	return r
}

func written(t testing.TB, r *Recording) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.WritePprof(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRecordingRoundTrip(t *testing.T) {
	want := recorded()
	got, err := Read(bytes.NewReader(written(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	describe := func(r *Recording) map[string]any {
		out := map[string]any{"start": r.Start, "duration": r.Duration, "hz": r.Hz, "cpu": r.CPU, "lost": r.Lost}
		for _, region := range r.Regions {
			out[region.Scope.Name+"/"+region.Name] = lines(region.Tree)
		}
		return out
	}
	if diff := cmp.Diff(describe(want), describe(got)); diff != "" {
		t.Errorf("read (-written +read):\n%s", diff)
	}
	if found := got.Find("GET /x"); len(found) != 1 || found[0].Number != 7 {
		t.Errorf("Find = %v", found)
	}
	if _, ok := got.Tree("nothing"); ok {
		t.Error("found a region that is not there")
	}
}

// pprofOf changes a recording's profile.
func pprofOf(t testing.TB, change func(*profile.Profile)) []byte {
	t.Helper()
	p := recorded().profile()
	change(p)
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The names of regions are labels, for all tools that know no comments of ours, and enough for
// Read.
func TestRegionsAreNamed(t *testing.T) {
	doc := pprofOf(t, func(p *profile.Profile) {
		p.Comments = nil
		for _, s := range p.Sample {
			want := map[int64][]string{2: {`GET "/x" ü` + "\n", "shop"}, 7: {"GET /x"}}[append(s.NumLabel[naming.RegionLabel], 0)[0]]
			if got := slices.Concat(s.Label[naming.NameLabel], s.Label[naming.ScopeLabel]); !slices.Equal(got, want) {
				t.Errorf("sample of region %v has the labels %v, want %q", s.NumLabel, s.Label, want)
			}
		}
	})
	r, err := Read(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]spans.Region{0: {}}
	for _, region := range recorded().Regions {
		want[region.Number] = region.Region
	}
	for _, region := range r.Regions {
		if region.Region != want[region.Number] {
			t.Errorf("region %d is %+v, want %+v", region.Number, region.Region, want[region.Number])
		}
	}
}

// The runtime's own profiles have the label as text, absolute paths, and calls that were inlined.
func TestReadForeignProfile(t *testing.T) {
	doc := pprofOf(t, func(p *profile.Profile) {
		p.Comments = nil
		f := &profile.Function{ID: 1, Name: "main.main", Filename: "/src/main.go"}
		g := &profile.Function{ID: 2, Name: "main.inlined", Filename: "/src/main.go"}
		l := &profile.Location{ID: 1, Line: []profile.Line{{Function: g, Line: 3}, {Function: f, Line: 9}}}
		bare := &profile.Location{ID: 2, Address: 77}
		p.Function, p.Location = []*profile.Function{f, g}, []*profile.Location{l, bare}
		p.Sample = []*profile.Sample{{
			Value: []int64{4, 4e7}, Location: []*profile.Location{bare, l}, Label: map[string][]string{naming.RegionLabel: {"9"}, "user": {"u"}},
		}}
	})
	r, err := Read(bytes.NewReader(doc))
	if err != nil || len(r.Regions) != 1 || r.Regions[0].Name != "region 9" {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []string{"main.main:9 4/0", " main.inlined:3 4/0", "  [unknown]:0 4/4"}
	if diff := cmp.Diff(want, lines(r.Regions[0].Tree)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// Other tools label samples with names of spans, too. Without a number these are in no region, and
// none of the names is that of all.
func TestReadNamesWithoutNumbers(t *testing.T) {
	doc := pprofOf(t, func(p *profile.Profile) {
		p.Comments = nil
		for i, s := range p.Sample {
			s.NumLabel, s.Label = nil, map[string][]string{naming.NameLabel: {"span " + strconv.Itoa(i)}}
		}
	})
	r, err := Read(bytes.NewReader(doc))
	if err != nil || len(r.Regions) != 1 || r.Regions[0].Region != (spans.Region{}) || r.Regions[0].Number != 0 {
		t.Errorf("Read = %+v, %v, want what is outside of all regions, without a name", r, err)
	}
}

// fieldOf is a field of bytes in a message of protocol buffers.
func fieldOf(number byte, content []byte) []byte {
	return slices.Concat([]byte{number<<3 | 2}, binary.AppendUvarint(nil, uint64(len(content))), content)
}

func TestReadRefuses(t *testing.T) {
	good := written(t, recorded())
	zipped := func(parts ...[]byte) []byte {
		var b bytes.Buffer
		zw := gzip.NewWriter(&b)
		for _, part := range parts {
			_, _ = zw.Write(part) // a buffer takes everything
		}
		_ = zw.Close()
		return b.Bytes()
	}
	for name, tc := range map[string]struct {
		doc  []byte
		want string
	}{
		"empty":     {nil, "empty: must be a profile"},
		"text":      {[]byte("goroutine profile: total 7\n"), "must be a profile in pprof's format"},
		"json":      {[]byte(`{"samples": 1}`), "must be a profile in pprof's format"},
		"truncated": {good[:len(good)/2], "gzip: truncated: must be whole"},
		"corrupt":   {append(bytes.Clone(good[:40]), bytes.Repeat([]byte{7}, 200)...), "gzip: "},
		"gzip text": {zipped([]byte("hello, this is text")), "must be a profile in pprof's format"},
		"heap": {pprofOf(t, func(p *profile.Profile) {
			p.SampleType = []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
		}), `sample types "alloc_objects/count inuse_space/bytes": must have cpu/nanoseconds`},
		"more than is counted": {pprofOf(t, func(p *profile.Profile) {
			p.Sample[0].Value[1] = math.MaxInt64
			p.Sample = append(p.Sample, p.Sample[0])
		}), "with those before"},
		"many empty samples": {bytes.Repeat([]byte{2<<3 | 2, 0}, maxMessages+1), "must be at most 4194304"},
		"many empty labels":  {fieldOf(fieldSample, bytes.Repeat([]byte{3<<3 | 2, 0}, maxMessages)), "must be at most 4194304"},
		"many comments":      {fieldOf(fieldComment, bytes.Repeat([]byte{1}, maxMessages+1)), "4194305 messages: must be at most 4194304"},
		"many locations":     {fieldOf(fieldSample, fieldOf(fieldOfSampleLocation, bytes.Repeat([]byte{1}, maxNumbers+1))), "33554433 locations and values of samples: must be at most 33554432"},
		"many values":        {bytes.Repeat(fieldOf(fieldSample, fieldOf(fieldOfSampleValue, bytes.Repeat([]byte{0}, 1<<20))), 33), "must be at most 33554432"},
		"many calls": {pprofOf(t, func(p *profile.Profile) {
			l := p.Location[0]
			l.Line = slices.Repeat(l.Line, 1000)
			p.Sample[0].Location = slices.Repeat([]*profile.Location{l}, 1000)
		}), "must have at most 131072 calls"},
		"many regions": {pprofOf(t, func(p *profile.Profile) {
			for i := range maxRegions + 1 {
				p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1, 1}, NumLabel: map[string][]int64{naming.RegionLabel: {int64(i + 1)}}})
			}
		}), "must be one of at most 16384"},
		"difference": {pprofOf(t, func(p *profile.Profile) { p.Sample[0].Value[1] = -1 }), "must not be negative"},
	} {
		if _, err := Read(bytes.NewReader(tc.doc)); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	bomb := bytes.Repeat(zipped(make([]byte, 1<<20)), 5) // members, which gzip reads as one
	if _, err := readProfileBytes(bytes.NewReader(bomb), 4<<20); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "at most 4194304 bytes") {
		t.Errorf("5 MiB of zeros: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	good := written(f, recorded())
	f.Add(good)
	f.Add(good[:len(good)-9])
	zr, err := gzip.NewReader(bytes.NewReader(good))
	if err != nil {
		f.Fatal(err)
	}
	var raw bytes.Buffer
	if _, err := raw.ReadFrom(zr); err != nil {
		f.Fatal(err)
	}
	f.Add(raw.Bytes())
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := Read(bytes.NewReader(doc))
		if err != nil {
			return
		}
		// An accepted recording can be written, and read again as the same.
		again, err := Read(bytes.NewReader(written(t, r)))
		if err != nil {
			t.Fatalf("written, and not read again: %v", err)
		}
		if a, b := r.Process(), again.Process(); a.Total().Samples != b.Total().Samples || a.Len() != b.Len() {
			t.Errorf("%v in %d nodes, and %v in %d when read again", a.Total(), a.Len(), b.Total(), b.Len())
		}
		var out bytes.Buffer
		for _, write := range []error{
			r.Process().WriteText(&out, TextOptions{}), r.Process().WriteSVG(&out, "fuzz"),
			r.Process().WriteSpeedscope(&out, "fuzz"), r.Process().WriteFolded(&out),
		} {
			if write != nil {
				t.Error(write)
			}
		}
	})
}
