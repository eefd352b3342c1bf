package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal"
)

func topRegions(prices uint64) []topRegion {
	return []topRegion{
		{Scope: "shop", Name: "price cart with every discount", Count: prices, Self: int64(prices) * 1e6, P50: 990, P90: 12_345, P99: 1_234_567, Max: 2_000_000_000, SelfShare: 0.9},
		{Scope: "shop", Name: "ship", Count: 7, Errors: 2, Self: 1e6, P50: 1_000_000, P90: 2_000_000, P99: 3_000_000, Max: 4_000_000, SelfShare: 0.1},
	}
}

func topPolls() (before, after topPoll) {
	at := time.Unix(1_700_000_000, 0)
	before = topPoll{at: at, Regions: topRegions(100)}
	after = topPoll{at: at.Add(2 * time.Second), Regions: topRegions(150)}
	after.effects = effectsOf(causal.Profile{Curves: []causal.Curve{{
		Region: causal.RegionKey{Scope: "shop", Span: "ship"}, Progress: "order",
		Effects: []causal.Effect{{Speedup: 0.25, Reduction: 0.1, Lo: 0.08, Hi: 0.12}, {Speedup: 0.5, Reduction: 0.2, Lo: 0.18, Hi: 0.22}, {Speedup: 0.75, Withheld: "too few"}},
	}}})
	return before, after
}

func TestTopTable(t *testing.T) {
	before, after := topPolls()
	rows := after.since(before)
	for _, tt := range []struct {
		sort  string
		width int
		want  []string
	}{
		{"self", 0, []string{
			"region                          rate/s  count  errors     p50     p90     p99     max  self%▾                      effect",
			"price cart with every discount      25    150       0   990ns  12.3µs  1.23ms   2.00s   100.0",
			"ship                                 0      7       2  1.00ms  2.00ms  3.00ms  4.00ms     0.0  +20.0% (18.0..22.0) at 50%",
		}},
		{"p99", 60, []string{
			"region                  rate/s  count     p50    p99▾  self%",
			"ship                         0      7  1.00ms  3.00ms    0.0",
			"price cart with every…      25    150   990ns  1.23ms  100.0",
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
	for column, want := range map[string]string{"self": "price", "p99": "ship", "p90": "ship", "p50": "ship", "max": "price", "count": "price", "rate": "price", "errors": "ship", "effect": "ship", "name": "price"} {
		if got := order(column); got != want {
			t.Errorf("first by %s is %s, want %s", column, got, want)
		}
	}
	if len(topSorts) != 10 {
		t.Errorf("%d columns, the test knows 10", len(topSorts))
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

func TestTopRates(t *testing.T) {
	before, after := topPolls()
	if r := after.since(topPoll{})[0]; r.rate != -1 || r.window != 0.9 {
		t.Errorf("first poll: rate %v, share %v; want none, and that of all time", r.rate, r.window)
	}
	if r := before.since(after)[0]; r.rate != -1 {
		t.Errorf("after a restart: rate %v, want none", r.rate)
	}
	after.Regions = before.Regions
	if r := after.since(before)[0]; r.rate != 0 || r.window != 0.9 {
		t.Errorf("nothing has happened: rate %v, share %v; want 0, and that of all time", r.rate, r.window)
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
		says(red + "http://127.0.0.1:1  2 regions  connection lost 3s ago: reset; trying again")
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
		{[]string{"-url", server.URL}, 1, "", "answer 404 Not Found: must be 200"},
		{[]string{"-url", server.URL + "/page"}, 1, "", "answer: must be that of a viewer: invalid character '<'"},
		{[]string{"-url", "here"}, 2, "", `url "here": must be http://HOST:PORT`},
		{[]string{"-interval", "1ms"}, 2, "", "interval 1ms: must be in [100ms, 1h]"},
		{[]string{"-sort", "colour"}, 2, "", `sort "colour": must be one of [self p99`},
		{[]string{"-n", "-1"}, 2, "", "n -1: must not be negative"},
	} {
		var out, errout bytes.Buffer
		status := run(append([]string{"top"}, tt.args...), strings.NewReader(""), &out, &errout)
		if status != tt.status || !strings.Contains(out.String(), tt.out) || !strings.Contains(errout.String(), tt.errout) {
			t.Errorf("top %q: status %d, output %q, errors %q; want %d, %q, %q", tt.args, status, &out, &errout, tt.status, tt.out, tt.errout)
		}
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
