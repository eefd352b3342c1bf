package saved_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/saved"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrlog"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// read reads one text.
func read(t *testing.T, name, text string, opts ...saved.Option) *saved.Data {
	t.Helper()
	r, err := saved.NewReader(opts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Read(t.Context(), name, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return r.Data()
}

// A line is one line of traces.jsonl with one span; times are in ms.
func line(traceID, id, parent, name string, from, to int) string {
	const epoch = 1_700_000_000_000
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"s"},`+
		`"spans":[{"traceId":"%032s","spanId":"%016s","parentSpanId":"%s","flags":257,"name":%q,"startTimeUnixNano":"%d000000","endTimeUnixNano":"%d000000"}]}]}]}`+"\n",
		traceID, id, strings.Repeat("0", (16-len(parent))%16)+parent, name, epoch+from, epoch+to)
}

// outline is the tree of a session: depth, name, start, duration and self time in ms.
func outline(s *spans.SessionRecord) (out []string) {
	for _, x := range s.Spans {
		text := fmt.Sprintf("%s%s %d+%d self %d", strings.Repeat(".", x.Depth), x.Name, x.Start.Milliseconds(), x.Duration.Milliseconds(), x.SelfTime.Milliseconds())
		if x.Late {
			text += " late"
		}
		out = append(out, text)
	}
	return out
}

func sessionsOf(d *saved.Data) []*spans.SessionRecord { return d.Store.Sessions(spans.Query{}) }

func TestCollectorFile(t *testing.T) {
	r, err := saved.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	collected, err := os.ReadFile(filepath.Join("testdata", "collector.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Read(t.Context(), "collector.json", bytes.NewReader(collected)); err != nil {
		t.Fatal(err)
	}
	d := r.Data()
	if diff := cmp.Diff([]string{"frontend", "stock"}, d.Services); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	all := sessionsOf(d)
	if len(all) != 2 {
		t.Fatalf("%d sessions, want 2", len(all))
	}
	// The parent of the refill has not ended; it ran in the same process.
	if refill := all[0]; refill.Name != "refill" || refill.Open != 1 || refill.Spans[0].Parent != -1 {
		t.Errorf("refill = %+v, want one open span above it", refill)
	}
	s := all[1]
	want := []string{"GET / 0+100 self 50", ".call 10+50 self 20", "..GET /stock 20+30 self 30"}
	if diff := cmp.Diff(want, outline(s)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if s.ID.String() != "0af7651916cd43dd8448eb211c80319c" || s.Errors != 1 || s.Open != 0 {
		t.Errorf("session %s with %d errors, %d open; want the trace's ID, 1, 0", s.ID, s.Errors, s.Open)
	}
	text := func(kvs []attribute.KeyValue) (all []string) {
		for _, kv := range kvs {
			all = append(all, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
		}
		return all
	}
	if diff := cmp.Diff([]string{"retry=false", `tags=["a","b"]`, `mixed=["a",7]`, `deep={"x":0.5}`}, text(s.Spans[1].Attributes)); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"service.name=stock"}, text(s.Spans[2].Attributes)); diff != "" {
		t.Errorf("another service's span (-want +got):\n%s", diff)
	}
	stock := s.Spans[2]
	if len(stock.Events) != 1 || stock.Events[0].Time != 49*time.Millisecond || stock.StatusText != "no answer" || stock.Kind != trace.SpanKindServer {
		t.Errorf("span of stock = %+v, want an exception after 49 ms", stock)
	}
	if links := s.Spans[1].Links; len(links) != 1 || links[0].TraceID != trace.TraceID(all[0].ID) {
		t.Errorf("links = %v, want one to the refill", links)
	}
	var scopes []string
	for _, g := range d.Regions {
		scopes = append(scopes, g.Scope.Name+" "+g.Name)
	}
	if diff := cmp.Diff([]string{"frontend: net/http GET /", "stock: net/http GET /stock", "frontend: net/http call", "stock: net/http refill"}, scopes); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
}

func TestService(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "collector.json"))
	if err != nil {
		t.Fatal(err)
	}
	d := read(t, "c.json", string(text), saved.WithService("frontend"))
	if d.Sessions != 1 || len(d.Regions) != 2 || d.Regions[0].Scope.Name != "net/http" {
		t.Errorf("%d sessions, regions %v; want those of frontend", d.Sessions, d.Regions)
	}
}

func TestTrees(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"children before parents", []string{
			line("1", "3", "2", "c", 20, 30), line("1", "2", "1", "b", 10, 40), line("1", "1", "", "a", 0, 100),
		}, []string{"a 0+100 self 70", ".b 10+30 self 20", "..c 20+10 self 10"}},
		{"side by side", []string{
			line("1", "1", "", "a", 0, 100), line("1", "2", "1", "b", 10, 40), line("1", "3", "1", "c", 20, 60), line("1", "4", "1", "d", 30, 35), line("1", "5", "1", "e", 70, 80),
		}, []string{"a 0+100 self 40", ".b 10+30 self 30", ".c 20+40 self 40", ".d 30+5 self 5", ".e 70+10 self 10"}},
		{"late", []string{
			line("1", "1", "", "a", 0, 100), line("1", "2", "1", "b", 90, 150),
		}, []string{"a 0+100 self 90", ".b 90+60 self 60 late"}},
		{"no root", []string{
			line("1", "2", "1", "b", 10, 20), line("1", "3", "1", "c", 30, 50),
		}, []string{"b 0+10 self 10", "c 20+20 self 20"}},
		{"again", []string{
			line("1", "1", "", "a", 0, 100), line("1", "2", "1", "b", 10, 20), line("1", "2", "1", "b", 10, 20),
		}, []string{"a 0+100 self 90", ".b 10+10 self 10"}},
		{"a circle", []string{
			line("1", "2", "3", "b", 10, 20), line("1", "3", "2", "c", 12, 18), line("1", "4", "4", "d", 15, 16),
		}, []string{"c 2+6 self 0", ".b 0+10 self 10", "d 5+1 self 1"}},
		{"ends before it starts", []string{line("1", "1", "", "a", 10, 5)}, []string{"a 0+0 self 0"}},
	} {
		all := sessionsOf(read(t, "t.jsonl", strings.Join(tt.lines, "")))
		if len(all) != 1 {
			t.Errorf("%s: %d sessions, want 1", tt.name, len(all))
			continue
		}
		if diff := cmp.Diff(tt.want, outline(all[0])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestDamage checks that a damaged place loses itself only, and is reported exactly.
func TestDamage(t *testing.T) {
	a, b := line("a", "1", "", "a", 0, 1), line("b", "1", "", "b", 0, 1)
	for _, tt := range []struct {
		name, text string
		sessions   int
		want       string
	}{
		{"torn last", a + b[:100], 1, fmt.Sprintf("t.jsonl: line 2, byte %d: torn line: the file ends in the middle of it", len(a))},
		{"torn in a string", a + b[:25] + "\n" + b, 2, fmt.Sprintf("line 2, byte %d: torn line: the line ends in the middle of it", len(a))},
		{"torn between", a + b[:1+strings.Index(b, "[")] + "\n" + b, 2, fmt.Sprintf("line 2, byte %d: torn line: another one begins in line 3", len(a))},
		{"not JSON", a + strings.Replace(b, `"name":"s"`, `"name":s`, 1) + a, 1, fmt.Sprintf("line 2, byte %d: must be JSON: invalid character 's'", len(a)+strings.Index(b, `"name":"s"`)+7)},
		{"not OTLP", a + `{"resourceSpans":7}` + "\n" + b, 2, "line 2"},
		{"foreign line", a + "hello\n" + b, 2, fmt.Sprintf(`line 2, byte %d: "hello": must be a JSON object`, len(a))},
		{"foreign object", a + `{"traceEvents":[]}` + "\n" + b, 2, `"{\"traceEvents\":[]}"…: must be OTLP-JSON`},
		{"no trace ID", a + line("0", "1", "", "x", 0, 1) + b, 2, "line 2, byte " + fmt.Sprint(len(a)) + ": span with trace ID zero"},
		{"no span ID", a + line("c", "0", "", "x", 0, 1) + b, 2, "span with ID zero"},
		{"two on a line", strings.TrimSpace(a) + " " + b, 2, ""},
		{"blank lines, CRLF", "\n\n" + strings.ReplaceAll(a+"\n"+b, "\n", "\r\n"), 2, ""},
		{"byte order mark", "\xef\xbb\xbf" + a, 1, ""},
		{"no last newline", strings.TrimSpace(a), 1, ""},
	} {
		d := read(t, "t.jsonl", tt.text)
		var said []string
		for _, p := range d.Files[0].Problems {
			said = append(said, p.Error())
		}
		if d.Sessions != tt.sessions || d.Files[0].Damaged > 1 || !strings.Contains(strings.Join(said, "\n"), tt.want) || tt.want == "" && len(said) > 0 {
			t.Errorf("%s: %d sessions, says %q; want %d, %q", tt.name, d.Sessions, said, tt.sessions, tt.want)
		}
	}
}

// TestTruncatedGzip checks that what was packed before the end is there.
func TestTruncatedGzip(t *testing.T) {
	var text strings.Builder
	for i := range 2000 {
		text.WriteString(line(fmt.Sprintf("%x", i*7919+1), "1", "", fmt.Sprint(i*i), i, i+1))
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err := zip.Write([]byte(text.String()))
	if err := errors.Join(err, zip.Close()); err != nil {
		t.Fatal(err)
	}
	d := read(t, "t.jsonl.gz", packed.String()[:packed.Len()/2])
	p := d.Files[0].Problems
	if d.Sessions < 500 || d.Sessions > 1500 || len(p) != 1 || !errors.Is(p[0], io.ErrUnexpectedEOF) || p[0].Line != d.Sessions+1 {
		t.Errorf("%d sessions, problems %v; want about half of 2000, and where it ends", d.Sessions, p)
	}
}

func TestForeignFiles(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"notes.txt":   {"buy milk", `notes.txt: "buy milk": must be OTLP-JSON`},
		"trace.zst":   {"\x28\xb5\x2f\xfd\x00", "trace.zst: zstd: must be unpacked first"},
		"x.json":      {`{"traceEvents":[]}`, `x.json: line 1, byte 0: "{\"traceEvents\":[]}"…: must be OTLP-JSON`},
		"other.json":  {"[1]", "must be OTLP-JSON"},
		"broken.gz":   {"\x1f\x8bxx", "broken.gz: gzip: "},
		"picture.png": {"\x89PNG\r\n\x1a\n\x00\x00", "must be OTLP-JSON, .hlog, a pprof profile or a causal profile"},
		"newer.json":  {`{"api":"causal-profile/v9"}`, `api "causal-profile/v9": must be`},
		"x.coz":       {"startup\ttime=1\n", "x.coz: profile.coz without an experiment"},
	} {
		r, err := saved.NewReader()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Read(t.Context(), name, strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// Files of a folder come once each, by links too, and a file that cannot be opened is an error with
// its name.
func TestEachFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.jsonl", ".hidden", "b.jsonl", "b.jsonl.lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "c")
	if err := os.WriteFile(elsewhere, []byte("c"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"a-again.jsonl": "a.jsonl", "z.jsonl": elsewhere, "torn.jsonl": "gone.jsonl", "link-below": "below"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	refused := errors.New("refused")
	var got []string
	err := saved.EachFile([]string{filepath.Join(dir, "b.jsonl"), dir, filepath.Join(dir, "missing")}, func(name string, in io.Reader) error {
		text, err := io.ReadAll(in)
		got = append(got, filepath.Base(name)+" has "+string(text))
		return errors.Join(err, refused)
	})
	if diff := cmp.Diff([]string{"b.jsonl has b.jsonl", "a-again.jsonl has a.jsonl", "z.jsonl has c"}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if !strings.Contains(fmt.Sprint(err), filepath.Join(dir, "torn.jsonl")+": ") {
		t.Errorf("%v, want the link that leads nowhere", err)
	}
	if !errors.Is(err, refused) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(dir, "missing")+": ") {
		t.Errorf("%v, want what was refused, and what is missing", err)
	}
}

// TestRoom checks that the sessions that ended last stay, in any order, and that nothing is
// missing in the regions.
func TestRoom(t *testing.T) {
	var up, down strings.Builder
	const n = 50
	for i := range n {
		up.WriteString(line(fmt.Sprintf("%x", i+1), "1", "", "a", 10*i, 10*i+5))
		up.WriteString(line(fmt.Sprintf("%x", i+1), "2", "1", "b", 10*i+1, 10*i+2))
		down.WriteString(line(fmt.Sprintf("%x", n-i), "1", "", "a", 10*(n-i), 10*(n-i)+5))
	}
	for _, tt := range []struct {
		name, text string
		opt        saved.Option
		kept, a    int
	}{
		{"up", up.String(), saved.WithMaxSessions(10), 10, n},
		{"down", down.String(), saved.WithMaxSessions(10), 10, n},
		{"bytes", up.String(), saved.WithMaxBytes(4800), 4, n},
		{"one", up.String(), saved.WithMaxBytes(1), 1, n},
	} {
		d := read(t, "t.jsonl", tt.text, tt.opt)
		all := sessionsOf(d)
		if len(all) != tt.kept || d.Sessions != tt.kept || d.Dropped.StoreError != uint64(n-tt.kept) {
			t.Errorf("%s: %d sessions, %+v; want %d, the rest dropped", tt.name, len(all), d.Dropped, tt.kept)
		}
		for i, s := range all {
			if want := fmt.Sprintf("%032x", n-i); s.ID.String() != want {
				t.Errorf("%s: session %d is %s, want %s", tt.name, i, s.ID, want)
			}
		}
		if d.Regions[0].Name != "a" || d.Regions[0].Count != uint64(tt.a) {
			t.Errorf("%s: %s counts %d, want a %d", tt.name, d.Regions[0].Name, d.Regions[0].Count, tt.a)
		}
	}
	if _, err := saved.NewReader(saved.WithMaxSessions(0), saved.WithMaxBytes(-1)); !errors.Is(err, saved.ErrConfig) ||
		!strings.Contains(err.Error(), "saved: configuration: sessions 0: must be above 0\nsaved: configuration: bytes -1") {
		t.Errorf("no room: %v", err)
	}
}

// Spans that come after their session has gone have the same part of self time as the others.
func TestSelfTimeWithoutSession(t *testing.T) {
	var text strings.Builder
	for i := range 50 { // the latest first
		id, from := fmt.Sprintf("%x", i+1), 10*(50-i)
		text.WriteString(line(id, "1", "", "a", from, from+10))
		text.WriteString(line(id, "2", "1", "b", from+1, from+5))
	}
	d := read(t, "t.jsonl", text.String(), saved.WithMaxSessions(10))
	if len(d.Regions) != 2 || d.Alone != 39+40 { // the root that came last before its session went is known
		t.Fatalf("%d regions, %d spans without their session; want 2, 79", len(d.Regions), d.Alone)
	}
	for _, r := range d.Regions {
		self := float64(r.Self) / float64(r.Total)
		if r.Name == "a" && (self < 0.6 || self > 0.65) || r.Name == "b" && self != 1 {
			t.Errorf("%s: self time %v of %v, want about 60 %% of a, and all of b", r.Name, r.Self, r.Total)
		}
	}
}

func TestStore(t *testing.T) {
	var text strings.Builder
	for i := range 5 {
		text.WriteString(line(fmt.Sprintf("%x", i+1), "1", "", []string{"even", "odd"}[i%2], 10*i, 10*i+5-i))
	}
	d := read(t, "t.jsonl", text.String())
	for _, tt := range []struct {
		q    spans.Query
		want []byte
	}{
		{spans.Query{}, []byte{5, 4, 3, 2, 1}},
		{spans.Query{Worst: true, Limit: 2}, []byte{1, 2}},
		{spans.Query{Name: "odd"}, []byte{4, 2}},
		{spans.Query{MinDuration: 3 * time.Millisecond}, []byte{3, 2, 1}},
		{spans.Query{ErrorsOnly: true}, nil},
	} {
		var got []byte
		for _, s := range d.Store.Sessions(tt.q) {
			got = append(got, s.ID[15])
		}
		if !bytes.Equal(got, tt.want) {
			t.Errorf("Sessions(%+v) = %v, want %v", tt.q, got, tt.want)
		}
	}
	if s, ok := d.Store.Session(spans.SessionID{15: 3}); !ok || s.ID[15] != 3 {
		t.Errorf("Session(3) = %v, %v", s, ok)
	}
	if _, ok := d.Store.Session(spans.SessionID{15: 9}); ok {
		t.Error("Session(9) is found")
	}
	if err := d.Store.Append(nil); err == nil {
		t.Error("Append is accepted")
	}
}

func TestIntervals(t *testing.T) {
	h, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	for v := range uint64(1000) {
		h.Record(1000 * (v + 1))
	}
	var log bytes.Buffer
	w := hdrlog.NewWriter(&log, time.Unix(1_700_000_000, 0))
	for _, tag := range []string{"", "write", ""} {
		if err := w.Write(hdrlog.Interval{Tag: tag, Start: time.Unix(1_700_000_000, 0), Length: time.Second, Snapshot: h.Snapshot(nil)}); err != nil {
			t.Fatal(err)
		}
	}
	d := read(t, "some/read.hlog", log.String()+"1,2,3\n")
	counts := map[string]uint64{}
	for _, r := range d.Regions {
		counts[r.Name] = r.Count
	}
	if diff := cmp.Diff(map[string]uint64{"read": 2000, "write": 1000}, counts); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
	if p := d.Files[0].Problems; len(p) != 1 || p[0].Line == 0 || !strings.HasPrefix(p[0].Error(), fmt.Sprintf("some/read.hlog: line %d: ", p[0].Line)) {
		t.Errorf("problems = %v, want one with its line, and no byte, which is not known", p)
	}
	d = read(t, "some/read.hlog", log.String(), saved.WithMaxBytes(1))
	if p := d.Files[0].Problems; d.Files[0].Intervals != 1 || len(p) != 1 || !strings.Contains(p[0].Error(), "MiB of memory") {
		t.Errorf("with room for one: %d intervals, problems %v", d.Files[0].Intervals, p)
	}
}

func TestProfiles(t *testing.T) {
	profile := profile.Profile{Mode: profile.ModeOverlap, Curves: []profile.Curve{{
		Mode: profile.ModeOverlap, Region: profile.Region{Scope: "shop", Name: "price"}, Progress: "checkout", Metric: profile.MetricThroughput,
		BasePeriod: 20 * time.Millisecond,
		Effects:    []profile.Effect{{Speedup: 0.5, Reduction: 0.25, Lo: 0.24, Hi: 0.26, Samples: 6, Reductions: []float64{0.25, 0.25, 0.24, 0.26, 0.25, 0.25}}},
	}}}
	var asJSON, asCoz bytes.Buffer
	if err := errors.Join(profile.WriteJSON(&asJSON), profile.WriteCoz(&asCoz)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"profile.json": asJSON.String(), "profile.coz": asCoz.String()} {
		d := read(t, name, text)
		if d.Profile == nil || len(d.Profile.Curves) != 1 || len(d.Profile.Curves[0].Effects) != 1 {
			t.Errorf("%s: %+v, want one curve", name, d.Profile)
			continue
		}
		c := d.Profile.Curves[0]
		if e := c.Effects[0]; c.Region.Name != "price" || c.Progress != "checkout" || c.BasePeriod != 20*time.Millisecond || e.Speedup != 0.5 || e.Reduction < 0.249 || e.Reduction > 0.251 {
			t.Errorf("%s: %+v, want 25 %% at 50 %%", name, c)
		}
	}
}

// TestCozRounds reads what Coz itself writes: many experiments, of which a curve has an interval.
func TestCozRounds(t *testing.T) {
	text := cozText("\tselected-samples=3", "throughput-point\tname=done\tdelta=10\nlatency-point\tname=l\tarrivals=1\tdepartures=1\tdifference=0\n")
	d := read(t, "profile.coz", text+"experiment\tselected=a.go:7\tspeedup=x\n")
	e := d.Profile.Curves[0].Effects[0]
	if e.Samples != 8 || !e.Known() || !(e.Lo < e.Reduction && e.Reduction < e.Hi) || e.Reduction < 0.19 || e.Reduction > 0.22 {
		t.Errorf("effect = %+v, want about 20 %% of 8 samples within an interval", e)
	}
	if p := d.Files[0].Problems; len(p) != 1 || p[0].Line != 50 || !strings.Contains(p[0].Error(), `speedup "x": must be a number in [0, 1]`) {
		t.Errorf("problems = %v", p)
	}
}

// What one experiment says is no answer, and merged with others it brings no doubts along.
func TestCozOneExperiment(t *testing.T) {
	text := "startup\ttime=1\n"
	experiment := func(speedup float64, duration int) {
		text += fmt.Sprintf("experiment\tselected=a.go:7\tspeedup=%g\tduration=%d\nthroughput-point\tname=done\tdelta=10\n", speedup, duration*1000)
	}
	experiment(0, 1000)
	experiment(0.25, 3000)
	experiment(0.5, 800)
	alone := text
	for i := range 6 {
		experiment(0.75, 700+i)
	}
	if v := read(t, "profile.coz", alone).Profile.Curves[0].Verdict; v != profile.VerdictUnclear {
		t.Errorf("verdict %q of one experiment, want %q", v, profile.VerdictUnclear)
	}
	c := read(t, "profile.coz", text).Profile.Curves[0]
	for i, lo := range []float64{-2, -1} {
		if e := c.Effects[i]; e.Lo != lo || e.Hi != 1 || len(e.Warnings) > 0 {
			t.Errorf("effect = %+v of one experiment, want %v .. 1 and no warning", e, lo)
		}
	}
	if e := c.Effects[2]; !(e.Lo > 0.2 && e.Hi < 0.4) || len(e.Warnings) > 0 {
		t.Errorf("effect = %+v of six experiments, want about 30 %% and no warning", e)
	}
}

func TestCancel(t *testing.T) {
	r, err := saved.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Read(ctx, "t.jsonl", strings.NewReader(line("1", "1", "", "a", 0, 1))); !errors.Is(err, context.Canceled) {
		t.Errorf("Read after the end = %v", err)
	}
}

// TestRecordings merges two profiles: what was sampled in one region has one tree.
func TestRecordings(t *testing.T) {
	r, err := saved.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		tree := stacks.NewTree()
		tree.Add([]stacks.Frame{stacks.NewFrame("sum", "a.go", 7), stacks.NewFrame("main", "a.go", 1)}, stacks.Weight{Samples: 5, Nanos: 5e7})
		recording := stacks.Recording{
			Start: time.Unix(int64(1000-i), 0), Duration: time.Second, Hz: 100, Origin: stacks.Origin{Service: "shop", PID: 1 + i},
			Regions: []stacks.RegionTree{{Region: spans.Region{Name: "price", Scope: instrumentation.Scope{Name: "shop"}}, Number: 3 + i, Tree: tree}},
		}
		var b bytes.Buffer
		if err := recording.WritePprof(&b); err != nil {
			t.Fatal(err)
		}
		if err := r.Read(t.Context(), fmt.Sprintf("cpu%d.pb.gz", i), &b); err != nil {
			t.Fatal(err)
		}
	}
	sum := r.Data().Stacks
	if sum == nil || len(sum.Regions) != 1 || sum.Duration != 2*time.Second || sum.Start.Unix() != 999 {
		t.Fatalf("stacks = %+v, want one region of 2 s", sum)
	}
	if sum.Origin != (stacks.Origin{}) {
		t.Errorf("two processes are one, %v", sum.Origin)
	}
	if tree, ok := sum.Tree("price"); !ok || tree.Total() != (stacks.Weight{Samples: 10, Nanos: 1e8}) || tree.Len() != 2 {
		t.Errorf("tree = %+v, want 10 samples of 2 calls", tree)
	}
}
