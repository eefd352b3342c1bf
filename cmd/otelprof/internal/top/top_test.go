package top

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

func topRegions(prices uint64) []topRegion {
	return []topRegion{
		{
			topKey: topKey{Scope: "shop", Name: "price cart with every discount"}, SelfShare: 0.9,
			topFigures: topFigures{Count: prices, Self: int64(prices) * 1e6, P50: 990, P90: 12_345, P99: 1_234_567, Max: 2_000_000_000},
			Cumulative: topDistribution{topBuckets{{896, 1023, 100}, {2048, 2079, prices - 100}}},
		},
		{
			topKey: topKey{Scope: "shop", Name: "ship"}, SelfShare: 0.1,
			topFigures: topFigures{Count: 7, Errors: 2, Self: 1e6, P50: 1_000_000, P90: 2_000_000, P99: 3_000_000, Max: 4_000_000},
		},
	}
}

func topPolls() (before, after topPoll) {
	at := time.Unix(1_700_000_000, 0)
	before = topPoll{at: at, Regions: topRegions(100)}
	after = topPoll{at: at.Add(2 * time.Second), Regions: topRegions(150)}
	after.effects = effectsOf(profile.Profile{Curves: []profile.Curve{{
		Region: profile.Region{Scope: "shop", Name: "ship"}, Progress: "order",
		Effects: []profile.Effect{{Speedup: 0.25, Reduction: 0.1, Lo: 0.08, Hi: 0.12}, {Speedup: 0.5, Reduction: 0.2, Lo: 0.18, Hi: 0.22}, {Speedup: 0.75, Withheld: profile.Withheld{Code: withheldcode.Iterations, Count: 2, Need: 5}}},
	}}})
	return before, after
}

func TestTopTable(t *testing.T) {
	before, after := topPolls()
	rows := after.rows(topPoll{}, before)
	for _, tt := range []struct {
		sort  string
		width int
		want  []string
	}{
		{"self", 0, []string{
			"region                          rate/s  count  errors     p50     p90     p99     max  self%▾                      effect",
			"price cart with every discount      25    150       0   990ns  12.3µs  1.23ms   2.00s    99.3",
			"ship                                 0      7       2  1.00ms  2.00ms  3.00ms  4.00ms     0.7  +20.0% (18.0..22.0) at 50%",
		}},
		{"p99", 60, []string{
			"region                  rate/s  count     p50    p99▾  self%",
			"ship                         0      7  1.00ms  3.00ms    0.7",
			"price cart with every…      25    150   990ns  1.23ms   99.3",
		}},
	} {
		var got []string
		for _, line := range (topTable{rows: rows, sort: tt.sort}).lines(tt.width) {
			if n := utf8.RuneCountInString(line); tt.width > 0 && n > tt.width {
				t.Errorf("by %s: line of %d columns in %d: %q", tt.sort, n, tt.width, line)
			}
			got = append(got, strings.TrimRight(line, " "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("by %s, width %d (-want +got):\n%s", tt.sort, tt.width, diff)
		}
	}
	order := func(column string) string {
		return strings.Fields(topTable{rows: rows, sort: column, most: 1}.lines(0)[1])[0]
	}
	for column, want := range map[string]string{"self": "price", "p99": "ship", "p90": "ship", "p50": "ship", "max": "price", "count": "price", "rate": "price", "errors": "ship", "effect": "ship", "ipc": "price", "name": "price"} {
		if got := order(column); got != want {
			t.Errorf("first by %s is %s, want %s", column, got, want)
		}
	}
	if len(topSorts) != 11 {
		t.Errorf("%d columns, the test knows 11", len(topSorts))
	}
}

// TestTopColumns checks that the keys reach every column, and that each has its turn in a narrow
// table.
func TestTopColumns(t *testing.T) {
	var columns []string
	for _, c := range topColumns {
		columns = append(columns, c.sort)
	}
	slices.Sort(columns)
	if diff := cmp.Diff(columns, slices.Sorted(slices.Values(mostNeeded))); diff != "" {
		t.Errorf("mostNeeded (-columns +mostNeeded):\n%s", diff)
	}
	columns = append(columns, "name")
	slices.Sort(columns)
	if diff := cmp.Diff(columns, slices.Sorted(slices.Values(topSorts))); diff != "" {
		t.Errorf("topSorts (-columns +topSorts):\n%s", diff)
	}
}

// TestTopWidths draws at every width and height: nothing panics and no line is too wide.
func TestTopWidths(t *testing.T) {
	before, after := topPolls()
	after.Regions[1].Name = "evil \x1b[2J\nname"
	s := topScreen{url: "http://127.0.0.1:1", interval: time.Second, sort: "p99"}
	s.take(before)
	s.take(after)
	for width := 1; width < 150; width++ {
		for _, height := range []int{1, 2, 3, 4, 24} {
			frame := s.draw(width, height)
			if strings.Contains(frame, "\x1b[2J") {
				t.Fatalf("a name has come through: %q", frame)
			}
			visible := frame
			for _, code := range []string{homeCursor, clearLine, clearBelow} {
				visible = strings.ReplaceAll(visible, code, "")
			}
			for line := range strings.SplitSeq(visible, "\r\n") {
				line, _, _ = strings.Cut(line, "\x1b[")
				if n := utf8.RuneCountInString(line); n > width {
					t.Fatalf("line of %d columns in %d: %q", n, width, line)
				}
			}
			if lines := strings.Count(frame, "\r\n") + 1; lines > height {
				t.Fatalf("%d lines in %d", lines, height)
			}
		}
	}
}

// TestTopWindow checks that the figures are those of the window, and not of all time.
func TestTopWindow(t *testing.T) {
	before, after := topPolls()
	r := after.rows(before, before)[0]
	if r.rate != 25 || r.Count != 50 || r.window != 1 || r.Self != 50e6 {
		t.Errorf("in the window: rate %v, count %d, share %v, self %d; want 25, 50, 1 and 50 ms", r.rate, r.Count, r.window, r.Self)
	}
	if r.P50 != 2063 || r.P99 != 2063 || r.Max != 2063 {
		t.Errorf("in the window: p50 %d, p99 %d, max %d; want the middle of its only bucket, 2063", r.P50, r.P99, r.Max)
	}
	if r := after.rows(before, before)[1]; r.Count != 0 || r.nanos(r.P99) != "-" || r.Errors != 0 {
		t.Errorf("nothing has ended in the window: %+v, want no figures", r)
	}
	if r := after.rows(topPoll{}, topPoll{})[0]; r.rate != -1 || r.Count != 150 || r.P50 != 990 {
		t.Errorf("first poll: %+v, want no rate, and the figures of all time", r)
	}
	if r := before.rows(after, after)[0]; r.rate != -1 || r.Count != 100 {
		t.Errorf("after a restart: rate %v, count %d, want none, and all that is there", r.rate, r.Count)
	}
	after.Regions = before.Regions
	if r := after.rows(before, before)[0]; r.rate != 0 || r.window != 0.9 {
		t.Errorf("nothing has happened: rate %v, share %v; want 0, and that of all time", r.rate, r.window)
	}
}

// TestTopHistory checks that few polls are kept, and that a window begins about where it should.
func TestTopHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.IntRange(100, 5000).Draw(t, "interval")) * time.Millisecond
		var h topHistory
		began := time.Unix(1_700_000_000, 0)
		at := began
		for range rapid.IntRange(1, 900).Draw(t, "polls") {
			at = at.Add(interval)
			h.add(topPoll{at: at})
		}
		if len(h) > 60 {
			t.Fatalf("%d polls kept", len(h))
		}
		if !h[len(h)-1].at.Equal(at) || len(h) > 1 && at.Sub(h[len(h)-2].at) != interval {
			t.Fatal("the last two polls must stay")
		}
		for _, w := range topWindows[:2] {
			from := h.before(w.length)
			got, all := at.Sub(from.at), at.Sub(began.Add(interval))
			if len(h) > 1 && (got > all || got > w.length+w.length/15+2*interval || got < min(all, w.length)) {
				t.Errorf("window %s is %v of %v, polled every %v", w.name, got, all, interval)
			}
		}
		if !h.before(0).at.IsZero() {
			t.Error("since the start there is nothing before")
		}
	})
}

// TestTopBegunAnew checks that a program that was started again is not compared with what it was.
func TestTopBegunAnew(t *testing.T) {
	before, after := topPolls()
	s := topScreen{window: topWindows[0]}
	s.take(after)
	before.at = after.at.Add(time.Second)
	s.take(before)
	if rows, length := s.table(); len(s.history) != 1 || length != 0 || rows[0].rate != -1 || rows[0].Count != 100 {
		t.Errorf("%d polls, window of %v, %+v; want the new program's alone", len(s.history), length, rows[0])
	}
}

// Two schemas of one scope are two regions, each of which is compared with what it was.
func TestTopSchemas(t *testing.T) {
	poll := func(second, count int) (p topPoll) {
		text := fmt.Sprintf(`{"regions":[{"scope":"s","name":"x","count":%d},{"scope":"s","scope_schema_url":"u","name":"x","count":5}]}`, count)
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		p.at = time.Unix(int64(second), 0)
		return p
	}
	before, after := poll(1, 100), poll(2, 110)
	rows := after.rows(before, before)
	if after.begunAnew(before) || rows[0].rate != 10 || rows[0].Count != 10 || rows[1].rate != 0 || rows[1].Count != 0 {
		t.Errorf("begun anew %v, rows %+v; want 10 more of the first", after.begunAnew(before), rows)
	}
}

func TestTopFilter(t *testing.T) {
	before, after := topPolls()
	s := topScreen{url: "http://127.0.0.1:1", interval: time.Second, sort: "self", window: topWindows[2]}
	s.take(before)
	s.take(after)
	for _, step := range []struct{ keys, says, hides string }{
		{"/s\x7fPriq", "filter: /Priq_", "price"},
		{"\x7f", "1 of 2 regions with /Pri", "ship"},
		{"\r", "q quits", "ship"},
		{"\x1b[A", "2 regions  since the start", "filter:"},
		{"w", "last 2s of 10s", "effects"},
		{"ww", "since the start", "last"},
	} {
		for _, key := range []byte(step.keys) {
			if s.press(key) {
				t.Fatalf("key %q of %q ends it", key, step.keys)
			}
		}
		if frame := s.draw(200, 24); !strings.Contains(frame, step.says) || strings.Contains(frame, step.hides) {
			t.Errorf("after %q: %q, want %q and no %q", step.keys, frame, step.says, step.hides)
		}
	}
	s.press('/')
	if !s.press(3) {
		t.Error("Ctrl-C does not end it while the filter is typed")
	}
}

func TestTopScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := topPolls()
		s := topScreen{url: "http://127.0.0.1:1", interval: time.Second, sort: "self", colour: true}
		says := func(text string) {
			t.Helper()
			if frame := s.draw(200, 24); !strings.Contains(frame, text) {
				t.Errorf("%q is not in %q", text, frame)
			}
		}
		s.take(topPoll{err: errors.New("refused")})
		says("no connection: refused; trying again")
		s.take(before)
		says("every 1s")
		s.take(topPoll{err: errors.New("refused")})
		time.Sleep(3 * time.Second)
		s.take(topPoll{err: errors.New("reset")})
		says(red + "connection lost 3s ago: reset; trying again  http://127.0.0.1:1")
		says("ship") // what was there before stays
		s.take(after)
		says("every 1s")
		s.press(' ')
		says("held")
		s.take(before)
		says("150") // the count of after
		s.press(' ')
		if s.press('s'); s.sort != "p99" {
			t.Errorf("s sorts by %s, want p99", s.sort)
		}
		if s.press('r'); s.sort != "self" {
			t.Errorf("r sorts by %s, want self", s.sort)
		}
		if s.press('r'); s.sort != "name" {
			t.Errorf("r before the first column sorts by %s, want name", s.sort)
		}
		for _, key := range []byte{'q', 'Q', 3, 4} {
			if !s.press(key) {
				t.Errorf("key %d does not end it", key)
			}
		}
		if s.press('x') {
			t.Error("x ends it")
		}
		s.colour = false
		if frame := s.draw(80, 24); strings.Contains(frame, bold) || strings.Contains(frame, red) {
			t.Errorf("colours without colour: %q", frame)
		}
	})
}

func TestTopOnce(t *testing.T) {
	var polls atomic.Uint64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /below/api/v1/regions", func(w http.ResponseWriter, _ *http.Request) {
		n := polls.Add(1)
		fmt.Fprint(w, `{"relative_error":0.001,"regions":[{"name":"price","count":`+strings.Repeat("1", int(n))+`,"self_ns":5,"p99_ns":1500,"self_share":1}]}`)
	})
	mux.HandleFunc("GET /page/api/v1/regions", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, tt := range []struct {
		args        []string
		status      int
		out, errout string
	}{
		{[]string{"-url", server.URL + "/below", "-once", "-interval", "100ms"}, 0, "1.50µs", ""},
		{[]string{"-url", server.URL + "/below/", "-interval", "100ms"}, 0, "price", ""}, // no terminal
		{[]string{"-url", server.URL + "/below", "-json", "-interval", "100ms"}, 0, `"name": "price",`, ""},
		{[]string{"-url", server.URL + "/below", "-csv", "-interval", "100ms"}, 0, "\n,,price,", ""},
		{[]string{"-json", "-csv"}, 2, "", "-json and -csv: must not both be given"},
		{[]string{"-url", server.URL}, 1, "", "answer 404 Not Found: must be 200"},
		{[]string{"-url", server.URL + "/page"}, 1, "", "answer: must be that of a viewer: invalid character '<'"},
		{[]string{"-url", "here"}, 2, "", `url "here": must be HOST:PORT`},
		{[]string{"-interval", "1ms"}, 2, "", "interval 1ms: must be in [100ms, 1h]"},
		{[]string{"-sort", "colour"}, 2, "", `sort "colour": must be one of [self p99`},
		{[]string{"-window", "5m"}, 2, "", `window "5m": must be 10s, 1m or start`},
		{[]string{"-url", server.URL + "/below", "-interval", "100ms", "-filter", "PRI"}, 0, "price", ""},
		{[]string{"-n", "-1"}, 2, "", "n -1: must not be negative"},
	} {
		var out, errout bytes.Buffer
		status := run(append([]string{"top"}, tt.args...), strings.NewReader(""), &out, &errout)
		if status != tt.status || !strings.Contains(out.String(), tt.out) || !strings.Contains(errout.String(), tt.errout) {
			t.Errorf("top %q: status %d, output %q, errors %q; want %d, %q, %q", tt.args, status, &out, &errout, tt.status, tt.out, tt.errout)
		}
	}
}

// full is where nothing can be written to.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// A table that cannot be written is an error, and so is one that is interrupted before its first
// poll has an answer.
func TestTopOncePrintsOrFails(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"regions":[]}`) }))
	defer server.Close()
	var errout bytes.Buffer
	if status := run([]string{"top", "-interval", "100ms", server.URL}, strings.NewReader(""), full{}, &errout); status != 1 || !strings.Contains(errout.String(), "disk full") {
		t.Errorf("to a full disk: status %d, %q", status, &errout)
	}
	client, err := newTopClient(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := topFlags{url: new(server.URL), window: new("10s"), interval: new(time.Second)}
	if err := printTop(ctx, nil, client, f); !errors.Is(err, errInterrupted) {
		t.Errorf("interrupted at once: %v, want %v", err, errInterrupted)
	}
}

// TestTopFollow checks that polls go on after one that failed, and end with the context.
func TestTopFollow(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var broken atomic.Bool
	broken.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{}`)
	}))
	defer server.Close()
	client, err := newTopClient(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.close()
	ctx, cancel := context.WithCancel(t.Context())
	polls, done := make(chan topPoll), make(chan struct{})
	go func() { defer close(done); client.follow(ctx, time.Millisecond, polls) }()
	if p := <-polls; p.err == nil {
		t.Error("no error from a server that has none")
	}
	broken.Store(false)
	for p := range polls {
		if p.err == nil {
			break
		}
	}
	cancel()
	<-done
}

// Programs wrap the default transport, otelhttp's way: top has one of its own.
func TestTopWithAnotherDefaultTransport(t *testing.T) {
	before := http.DefaultTransport
	http.DefaultTransport = wrapped{before}
	defer func() { http.DefaultTransport = before }()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"regions":[]}`) }))
	defer server.Close()
	c, err := newTopClient(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if _, err := c.poll(t.Context()); err != nil {
		t.Errorf("poll = %v", err)
	}
}

type wrapped struct{ http.RoundTripper }
