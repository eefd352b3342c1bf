package mark_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/mark/marktest"
)

// record returns the marks of a trace that is on while f runs, as Parse reads them.
func record(t *testing.T, f func()) (marks []mark.Mark) {
	t.Helper()
	for _, e := range marktest.Logs(t, f) {
		l := e.Log()
		m, ok := mark.Parse(l.Category, l.Message, uint64(l.Task))
		if !ok {
			t.Fatalf("not a mark: %+v", l)
		}
		marks = append(marks, m)
	}
	return marks
}

// Names are whole up to the most that the runtime leaves room for.
func TestWrittenIsRead(t *testing.T) {
	long := strings.Repeat("ä", mark.MaxName)
	whole := mark.Span{ID: 0xc00012a000, Parent: 1, SpanID: 1<<64 - 1, Remote: 0x0102030405060708, Name: "GET /a b" + strings.Repeat("x", 890)}
	longest := mark.Span{ID: 1<<64 - 1, Parent: 1<<64 - 1, SpanID: 1<<64 - 1, Remote: 1<<64 - 1, Trace: [16]byte{0: 0xab, 15: 1}, Name: long}
	cut := longest
	cut.Name = long[:mark.MaxName]
	got := record(t, func() {
		mark.LogStart("scope", whole)
		mark.LogStart("", longest)
		mark.LogEnd("scope", 7, "")
		mark.LogEnd("scope", 7, "other name")
		mark.LogProgress("order placed")
		mark.LogNone()
	})
	want := []mark.Mark{
		{Kind: mark.Start, Span: whole},
		{Kind: mark.Start, Span: cut},
		{Kind: mark.End, Span: mark.Span{ID: 7}},
		{Kind: mark.End, Span: mark.Span{ID: 7, Name: "other name"}},
		{Kind: mark.Progress, Name: "order placed"},
		{Kind: mark.Done, Op: mark.Select},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}

// A name that is cut ends with a whole letter, and one that has none is cut all the same.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name string
		want int
	}{
		{strings.Repeat("x", mark.MaxName), mark.MaxName},
		{strings.Repeat("x", mark.MaxName+1), mark.MaxName},
		{"x" + strings.Repeat("ä", mark.MaxName), mark.MaxName - 1},
		{"x" + strings.Repeat("€", mark.MaxName), mark.MaxName - 2},
		{strings.Repeat("\x80", 2*mark.MaxName), mark.MaxName - utf8.UTFMax},
	} {
		if got := mark.Cut(tt.name); got != tt.name[:tt.want] {
			t.Errorf("Cut(%.10q…) has %d bytes, want %d", tt.name, len(got), tt.want)
		}
	}
}

func TestObjects(t *testing.T) {
	var a, b mark.Object
	arguments := []int{0, 1, -1, 99, 100, -100, 1 << 20}
	got := record(t, func() {
		for _, n := range arguments {
			a.Begin(mark.Send, n)
			b.Done(mark.Add, n)
		}
	})
	if len(got) != 2*len(arguments) {
		t.Fatalf("%d marks, want %d", len(got), 2*len(arguments))
	}
	first, second := got[0].Object, got[1].Object
	if first == 0 || second == 0 || first == second {
		t.Fatalf("objects %d and %d: must be two, and not 0", first, second)
	}
	for i, n := range arguments {
		want := []mark.Mark{
			{Kind: mark.Begin, Op: mark.Send, Object: first, Arg: n},
			{Kind: mark.Done, Op: mark.Add, Object: second, Arg: n},
		}
		if diff := cmp.Diff(want, got[2*i:2*i+2]); diff != "" {
			t.Errorf("argument %d (-want +got):\n%s", n, diff)
		}
	}
}

func TestParseForeign(t *testing.T) {
	for _, l := range []struct {
		category, message string
		task              uint64
	}{
		{"", "", 0},
		{"scope", "otelprof", 0},
		{"scope", "otelprof+", 0},
		{"scope", "otelprof+1 name", 0},
		{"scope", "otelprof+1 2 3 4", 0},
		{"scope", "otelprof+1 2 3 g name", 0},
		{"scope", "otelprof+11111111111111111 2 3 4 name", 0},
		{"scope", "otelprof-", 0},
		{"scope", "otelprof--1", 0},
		{"scope", "otelprof!name", 0},
		{"otelprof-", "x", 1},
		{"otelprof!name", "x", 0},
		{"otelprof.", "", 1},
		{"otelprof.l1", "1", 1},
		{"otelprof.ll", "", 1},
		{"otelprof.h", "", 1},
		{"otelprof.H", "", 1},
		{"otelprof.l", "", 0},
		{"otelprof.l", "x", 1},
		{"otelprof.l", "99999999999999999999", 1},
	} {
		if m, ok := mark.Parse(l.category, l.message, l.task); ok {
			t.Errorf("Parse(%q, %q, %d) = %+v: want none", l.category, l.message, l.task, m)
		}
	}
}

// TestParseEarlier has what is written with less text by now, as older versions wrote it.
func TestParseEarlier(t *testing.T) {
	for _, c := range []struct {
		category, message string
		task              uint64
		want              mark.Mark
	}{
		{"scope", "otelprof-c000", 0, mark.Mark{Kind: mark.End, Span: mark.Span{ID: 0xc000}}},
		{"otelprof", "otelprof!done", 0, mark.Mark{Kind: mark.Progress, Name: "done"}},
		{"otelprof.s", "16", 3, mark.Mark{Kind: mark.Done, Op: mark.Send, Object: 3, Arg: 16}},
	} {
		if got, ok := mark.Parse(c.category, c.message, c.task); !ok || got != c.want {
			t.Errorf("Parse(%q, %q, %d) = %+v, %t: want %+v", c.category, c.message, c.task, got, ok, c.want)
		}
	}
}

// TestEndsWithoutText has the ends of spans, visits and operations take no message, which is what
// reading a trace takes most time for.
func TestEndsWithoutText(t *testing.T) {
	var o mark.Object
	for _, e := range marktest.Logs(t, func() {
		mark.LogEnd("scope", 1<<63, "")
		mark.LogProgress("order placed")
		o.Done(mark.Send, 16)
	}) {
		if l := e.Log(); l.Message != "" {
			t.Errorf("%+v: has a message", l)
		}
	}
}

// FuzzParse looks for marks that are misread: what was read is written again, and must read the
// same.
func FuzzParse(f *testing.F) {
	f.Add("scope", "otelprof+c000 0 1 2 a name", uint64(0))
	f.Add("scope", "otelprof+c000 0 1-000102030405060708090a0b0c0d0e0f 2 a name", uint64(0))
	f.Add("scope", "otelprof-c000", uint64(0))
	f.Add("scope", "otelprof-c000 new name", uint64(0))
	f.Add("otelprof-", "", uint64(0xc000))
	f.Add("otelprof", "otelprof!done", uint64(0))
	f.Add("otelprof!done", "", uint64(0))
	f.Add("otelprof.s16", "", uint64(3))
	f.Add("otelprof.G", "-1", uint64(3))
	f.Add("otelprof.y", "", uint64(0))
	f.Fuzz(func(t *testing.T, category, message string, task uint64) {
		m, ok := mark.Parse(category, message, task)
		if !ok {
			return
		}
		switch m.Kind {
		case mark.Start:
			s := m.Span
			span := fmt.Sprintf("%x", s.SpanID)
			if s.Trace != [16]byte{} {
				span += fmt.Sprintf("-%x", s.Trace)
			}
			message = fmt.Sprintf("otelprof+%x %x %s %x %s", s.ID, s.Parent, span, s.Remote, s.Name)
		case mark.End:
			message = fmt.Sprintf("otelprof-%x %s", m.Span.ID, m.Span.Name)
		case mark.Progress:
			category, message = "otelprof", "otelprof!"+m.Name
		case mark.Begin, mark.Done:
			letter := string(rune(m.Op))
			if m.Kind == mark.Begin {
				letter = strings.ToUpper(letter)
			}
			if want := "otelprof." + letter; !strings.HasPrefix(category, want) {
				t.Errorf("category %q, want %q", category, want)
			}
			category, message = "otelprof."+letter, fmt.Sprint(m.Arg)
		default:
			t.Fatalf("kind %d", m.Kind)
		}
		again, ok := mark.Parse(category, message, task)
		if !ok || again != m {
			t.Errorf("%q is %+v, but %q is %+v, %t", category, m, message, again, ok)
		}
	})
}
