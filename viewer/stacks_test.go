package viewer

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
)

// fakeStacks has three regions, two of one name.
type fakeStacks struct{ asked time.Duration }

func (f *fakeStacks) Snapshot(last time.Duration) *stacks.Recording {
	f.asked = last
	region := func(number int, scope, name string, samples int64) stacks.RegionTree {
		t := stacks.NewTree()
		for _, line := range []int{7, 8} {
			t.Add([]stacks.Frame{stacks.NewFrame("shop."+scope, "/src/shop.go", line), stacks.NewFrame("main.main", "/src/main.go", 3)},
				stacks.Weight{Samples: samples / 2, Nanos: samples / 2 * 1e7})
		}
		return stacks.RegionTree{Region: spans.Region{Scope: instrumentation.Scope{Name: scope}, Name: name}, Number: number, Tree: t}
	}
	return &stacks.Recording{
		Start: testStart, Duration: 10 * time.Second, Hz: 100, CPU: 2 * time.Second, Lost: 1,
		Regions: []stacks.RegionTree{
			region(1, "sql", "GET /items/{id}", 100), region(2, "http", "GET /items/{id}", 60), region(3, "sql", "b", 20), region(0, "", "", 10),
		},
	}
}

func (f *fakeStacks) Session(id spans.SessionID) (*stacks.Tree, bool) {
	return f.Snapshot(0).Regions[0].Tree, id == testID(1)
}

func (f *fakeStacks) Stats() stacks.Stats { return stacks.Stats{State: stacks.Running, Hz: 100} }

// stacksAnswer is stacksJSON as a client reads it.
type stacksAnswer struct {
	Region  string
	Lost    int64
	Hz      int
	CPUNs   int64 `json:"cpu_ns"`
	Regions []stacksRegionJSON
	Status  struct{ State string }
	Tree    struct {
		Samples  int64
		TooFew   bool `json:"too_few"`
		Nodes    int
		Children []struct {
			Func, File string
			Samples    int64
		}
	}
}

func stacksHandler(t *testing.T) (*Handler, *fakeStacks) {
	t.Helper()
	h, f := testHandler(t, nil), new(fakeStacks)
	h.stacks = f
	if err := h.renderPage(); err != nil {
		t.Fatal(err)
	}
	return h, f
}

const itemsStacks = "/api/v1/regions/stacks?name=GET%20%2Fitems%2F%7Bid%7D"

func TestProcessStacks(t *testing.T) {
	h, f := stacksHandler(t)
	got := decode[stacksAnswer](t, ask(t, h, "GET", "/api/v1/stacks?seconds=30", ""), 200)
	checkEqual(t, "samples", got.Tree.Samples, 190)
	checkEqual(t, "regions", got.Regions, "[{GET /items/{id} sql 1 100 1000000000} {GET /items/{id} http 2 60 600000000} {b sql 3 20 200000000} {  0 10 100000000}]")
	checkEqual(t, "nodes without lines", got.Tree.Nodes, 4)
	checkEqual(t, "root", got.Tree.Children, "[{main.main main.go 190}]")
	checkEqual(t, "rest", []any{got.Status.State, got.Lost, got.CPUNs, f.asked}, "[running 1 2000000000 30s]")
	lines := decode[stacksAnswer](t, ask(t, h, "GET", "/api/v1/stacks?lines=1", ""), 200)
	checkEqual(t, "nodes with lines", lines.Tree.Nodes, 7)
}

func TestRegionStacks(t *testing.T) {
	h, _ := stacksHandler(t)
	got := decode[stacksAnswer](t, ask(t, h, "GET", itemsStacks, ""), 200)
	checkEqual(t, "both scopes", []any{got.Region, got.Tree.Samples, len(got.Regions)}, "[GET /items/{id} 160 2]")
	got = decode[stacksAnswer](t, ask(t, h, "GET", itemsStacks+"&scope=http", ""), 200)
	checkEqual(t, "one scope", []any{got.Tree.Samples, len(got.Regions), got.Tree.TooFew}, "[60 1 true]")
	got = decode[stacksAnswer](t, ask(t, h, "GET", "/api/v1/regions/stacks?name=a", ""), 200)
	checkEqual(t, "without samples", []any{got.Tree.Samples, len(got.Regions), got.Tree.TooFew}, "[0 0 true]")
	checkEqual(t, "unknown", errorOf(t, ask(t, h, "GET", "/api/v1/regions/stacks?name=zzz", ""), 404), `region "zzz": must be the name of a measured region`)
}

func TestSessionStacks(t *testing.T) {
	h, _ := stacksHandler(t)
	got := decode[stacksAnswer](t, ask(t, h, "GET", "/api/v1/sessions/"+testID(1).String()+"/stacks", ""), 200)
	checkEqual(t, "samples", got.Tree.Samples, 100)
	if msg := errorOf(t, ask(t, h, "GET", "/api/v1/sessions/"+testID(2).String()+"/stacks", ""), 404); !strings.Contains(msg, "ContextWithSession") {
		t.Errorf("a session that was not asked for: %s", msg)
	}
	errorOf(t, ask(t, h, "GET", "/api/v1/sessions/x/stacks", ""), 400)
}

func TestStacksFormats(t *testing.T) {
	h, _ := stacksHandler(t)
	for format, want := range map[string]struct{ contentType, contains string }{
		"speedscope": {"application/json; charset=utf-8", `"type":"sampled"`},
		"folded":     {"text/plain; charset=utf-8", "main.main;shop.sql 100\n"},
		"svg":        {"image/svg+xml", "GET /items/{id}"},
	} {
		a := ask(t, h, "GET", itemsStacks+"&format="+format, "")
		if a.code != 200 || a.header.Get("Content-Type") != want.contentType || !strings.Contains(a.body, want.contains) {
			t.Errorf("%s: %d %q %.200s", format, a.code, a.header.Get("Content-Type"), a.body)
		}
	}
	r, err := stacks.Read(strings.NewReader(ask(t, h, "GET", "/api/v1/stacks?format=pprof", "").body))
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "recording", []any{len(r.Regions), r.Process().Total().Samples}, "[4 190]")
}

func TestStacksRefuses(t *testing.T) {
	h, _ := stacksHandler(t)
	for query, want := range map[string]string{
		"format=png": `format "png": must be one of [json pprof speedscope folded svg]`,
		"seconds=-1": `seconds "-1": must be an integer in [0, 3600], 0 for all`,
		"seconds=1h": `seconds "1h": must be an integer in [0, 3600], 0 for all`,
		"lines=yes":  `lines "yes": must be 0 or 1`,
	} {
		for _, path := range []string{"/api/v1/stacks?", itemsStacks + "&", "/api/v1/sessions/" + testID(1).String() + "/stacks?"} {
			checkEqual(t, path+query, errorOf(t, ask(t, h, "GET", path+query, ""), 400), want)
		}
	}
	without := testHandler(t, nil)
	for _, path := range []string{"/api/v1/stacks", itemsStacks, "/api/v1/sessions/" + testID(1).String() + "/stacks"} {
		checkEqual(t, path, errorOf(t, ask(t, without, "GET", path, ""), 404), "stacks profiler: must be on: start the program with OTELPROF_STACKS=on, or set it in the viewer's Sources")
	}
	errorOf(t, ask(t, h, "POST", "/api/v1/stacks", ""), 405)
}

func TestPageKnowsOfStacks(t *testing.T) {
	h, _ := stacksHandler(t)
	for has, page := range map[bool]string{true: ask(t, h, "GET", "/", "").body, false: ask(t, testHandler(t, nil), "GET", "/", "").body} {
		if strings.Contains(page, `data-stacks="true"`) != has || strings.Contains(page, `href="#/stacks"`) != has {
			t.Errorf("with a profiler %v: the page has or lacks the link", has)
		}
	}
}

// A real profiler serves through the sources.
func TestStacksOfAProfiler(t *testing.T) {
	p, err := stacks.NewProfiler(stacks.WithPaused())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	h, err := NewHandler(Sources{Regions: func() []spans.RegionStats { return nil }, Store: fakeStore{}, Stacks: p}, WithHosts("viewer.test"))
	if err != nil {
		t.Fatal(err)
	}
	got := decode[stacksAnswer](t, ask(t, h, "GET", "/api/v1/stacks", ""), 200)
	checkEqual(t, "state", []any{got.Status.State, got.Tree.Samples}, "[paused 0]")
	var doc map[string]any
	if err := json.NewDecoder(bytes.NewBufferString(ask(t, h, "GET", "/api/v1/stacks?"+url.Values{"lines": {"1"}}.Encode(), "").body)).Decode(&doc); err != nil {
		t.Error(err)
	}
}
