package hdr

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
)

func snapshotOf(t *testing.T, values ...uint64) *otelhdr.Snapshot {
	t.Helper()
	h, err := otelhdr.NewHistogram(otelhdr.WithSignificantDigits(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		h.Record(v)
	}
	return h.Snapshot(nil)
}

// TestMergeInterval merges what has times and a maximum with what has none.
func TestMergeInterval(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	early := hdrlog.Interval{Tag: "a", Start: at, Length: time.Second, Max: 7, Snapshot: snapshotOf(t, 7000)}
	late := hdrlog.Interval{Tag: "a", Start: at.Add(time.Minute), Length: time.Second, Max: 9, Snapshot: snapshotOf(t, 9000)}
	idle := hdrlog.Interval{Tag: "a", Start: at.Add(time.Hour), Length: time.Second, Snapshot: snapshotOf(t)}
	bare := hdrlog.Interval{Snapshot: snapshotOf(t, 5000)}
	for _, tt := range []struct {
		name string
		of   []hdrlog.Interval
		want hdrlog.Interval
	}{
		{"one", []hdrlog.Interval{late}, late},
		{"two", []hdrlog.Interval{late, early}, hdrlog.Interval{Tag: "a", Start: at, Length: 61 * time.Second, Max: 9}},
		{"one without values", []hdrlog.Interval{early, idle}, hdrlog.Interval{Tag: "a", Start: at, Length: time.Hour + time.Second, Max: 7}},
		{"the first without times", []hdrlog.Interval{bare, late, early}, hdrlog.Interval{Start: at, Length: 61 * time.Second}},
		{"the last without times", []hdrlog.Interval{early, bare}, hdrlog.Interval{Start: at, Length: time.Second}},
		{"none with times", []hdrlog.Interval{bare, bare}, hdrlog.Interval{Start: time.Unix(0, 0)}},
	} {
		var files []histogramFile
		for _, i := range tt.of {
			files = append(files, histogramFile{intervals: []hdrlog.Interval{i}})
		}
		got, err := mergeInterval(files)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(hdrlog.Interval{}, "Snapshot")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Of a log with many corrupt lines the first ones are reported, and how many more there are.
func TestCorruptLinesAreCounted(t *testing.T) {
	var log bytes.Buffer
	at := time.Unix(1_700_000_000, 0)
	if err := hdrlog.NewWriter(&log, at).Write(hdrlog.Interval{Start: at, Length: time.Second, Snapshot: snapshotOf(t, 5)}); err != nil {
		t.Fatal(err)
	}
	for corrupt, want := range map[int]string{10: "", 30: ": 20 more lines; left out\n"} {
		file := filepath.Join(t.TempDir(), "a.hlog")
		if err := os.WriteFile(file, []byte(log.String()+strings.Repeat("1,2,3\n", corrupt)), 0o600); err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		code := Command.Main([]string{"print", file}, strings.NewReader(""), io.Discard, &errs)
		if lines := strings.Count(errs.String(), ": line "); code != 0 || lines != 10 || !strings.HasSuffix(errs.String(), want) || want == "" && strings.Contains(errs.String(), "more") {
			t.Errorf("print of %d corrupt lines ends with %d, and reports %d of them: %s", corrupt, code, lines, &errs)
		}
	}
}

// full is where nothing can be written to.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestOutputIsWrittenOrAnError: a table that cannot be written is an error.
func TestOutputIsWrittenOrAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(file, []byte(csvHeader+"\n1,1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"print", file}, {"print", "-lines", file}, {"diff", file, file}, {"convert", file}} {
		var errs bytes.Buffer
		if code := Command.Main(args, strings.NewReader(""), full{}, &errs); code != 1 || !strings.Contains(errs.String(), "disk full") {
			t.Errorf("hdr %s to a full disk ends with %d: %q", args[0], code, &errs)
		}
	}
}

// TestConvertKeepsTheInterval: a log of one interval that becomes a log keeps what that states.
func TestConvertKeepsTheInterval(t *testing.T) {
	file := filepath.Join(t.TempDir(), "one.hlog")
	var log, out, errs bytes.Buffer
	want := hdrlog.Interval{Tag: "a", Start: time.Unix(1_700_000_000, 0).UTC(), Length: time.Second, Max: 7, Snapshot: snapshotOf(t, 7000)}
	if err := hdrlog.NewWriter(&log, want.Start).Write(want); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, log.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := Command.Main([]string{"convert", "-to", "hlog", file}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("convert ends with %d: %s", code, errs.String())
	}
	got, err := hdrlog.ReadAll(&out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]hdrlog.Interval{want}, got, cmpopts.IgnoreFields(hdrlog.Interval{}, "Snapshot")); diff != "" {
		t.Errorf("convert (-before +after):\n%s", diff)
	}
}

// TestReaderBoundsMemory: intervals that take much are added up, or refused where they are wanted
// one by one.
func TestReaderBoundsMemory(t *testing.T) {
	var log bytes.Buffer
	w := hdrlog.NewWriter(&log, time.Unix(1_700_000_000, 0))
	for n := range 20 {
		if err := w.Write(hdrlog.Interval{Start: time.Unix(1_700_000_000+int64(n), 0), Length: time.Second, Snapshot: snapshotOf(t, 7000)}); err != nil {
			t.Fatal(err)
		}
	}
	one, err := hdrlog.ReadAll(bytes.NewReader(log.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	most := 10 * int64(one[0].Snapshot.SizeBytes())
	r := reader{tag: "*", scale: 1, most: most}
	all, err := r.decode("log", bytes.NewReader(log.Bytes()))
	if err != nil || r.held > most/2 {
		t.Fatalf("%d bytes held, %v, want at most %d", r.held, err, most/2)
	}
	sum, err := mergeInterval([]histogramFile{{intervals: all}})
	if err != nil || sum.Snapshot.Count() != 20 || sum.Length != 20*time.Second {
		t.Errorf("%d values in %v, %v, want 20 in 20s", sum.Snapshot.Count(), sum.Length, err)
	}
	r = reader{tag: "*", scale: 1, most: most, each: true}
	if _, err := r.decode("log", bytes.NewReader(log.Bytes())); err == nil || !strings.Contains(err.Error(), "MiB in memory: must be less") {
		t.Errorf("one by one: %v", err)
	}
}
