package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/profile"
)

// fakeAPI answers paths, without their queries, with what stands there.
func fakeAPI(answers map[string]any) API {
	return func(_ context.Context, method, path string, _ []byte) (int, []byte, error) {
		path, _, _ = strings.Cut(path, "?")
		if method != http.MethodGet {
			path = method + " " + path
		}
		v, ok := answers[path]
		if !ok {
			return http.StatusNotFound, []byte(`{"error":"path: must be one of the API's"}`), nil
		}
		text, err := json.Marshal(v)
		return http.StatusOK, text, err
	}
}

// manyRegions are more than an answer has room for; what matters comes first.
func manyRegions(n int) (p profile.Profile, regions []map[string]any) {
	for i := range n {
		name := fmt.Sprintf("region with a name that is long %03d", i)
		effect := profile.Effect{Speedup: 0.25, Reduction: 0.2 / float64(i+1), StdErr: 0.001, Lo: 0.19 / float64(i+1), Hi: 0.21 / float64(i+1), Samples: 10}
		p.Curves = append(p.Curves, profile.Curve{Mode: profile.ModeReplay, Region: profile.Region{Scope: "s", Name: name}, Progress: "GET /", Metric: profile.MetricThroughput, BasePeriod: time.Millisecond, Effects: []profile.Effect{effect}})
		regions = append(regions, map[string]any{"name": name, "scope": "s", "kind": "internal", "count": 10, "total_ns": 1e9 / (i + 1), "self_ns": 1e9 / (i + 1), "self_share": 1 / float64(n)})
	}
	return p, regions
}

// However much there is, an answer has its length, begins with what matters most, and says how much
// is left out.
func TestLengths(t *testing.T) {
	p, regions := manyRegions(200)
	var waits []profile.Wait
	for i := range 40 {
		waits = append(waits, profile.Wait{Kind: "lock", In: p.Curves[0].Region, Where: fmt.Sprintf("example.com/a/very/long/path/of/a/package.(*service).method%d:%d", i, i), By: p.Curves[1].Region, ByWhere: strings.Repeat("x", 400), Count: 1, Total: time.Second, Longest: time.Second})
	}
	spans := make([]map[string]any, 300)
	for i := range spans {
		spans[i] = map[string]any{"name": fmt.Sprintf("span %d", i), "depth": i % 5, "duration_ns": 1e6, "self_ns": 1e5, "waits": []map[string]any{{"kind": "lock", "for_ns": 1e5, "where": "main.f:1", "by": "other"}}}
	}
	sessions := []map[string]any{{"id": strings.Repeat("a", 32), "name": "GET /", "duration_ns": 1e9}}
	outcomes := make([]profile.Outcome, 100)
	for i := range outcomes {
		outcomes[i] = profile.Outcome{From: fmt.Sprint(i), To: fmt.Sprint(i + 1), Region: p.Curves[0].Region, Progress: "GET /", Metric: profile.MetricThroughput, Faster: 0.25, Foretold: 0.2, Lo: 0.1, Hi: 0.3, Came: 0.21, Verdict: "held"}
	}
	lines := make([]map[string]any, 64)
	for i := range lines {
		lines[i] = map[string]any{"title": "examines", "text": fmt.Sprintf("region with a name that is long and longer still %03d of service", i)}
	}
	api := fakeAPI(map[string]any{
		"POST causal/plan/check": map[string]any{"lines": lines, "cost": "1 % of all time", "refused": "experiments are off"},
		"causal/outcomes":        map[string]any{"outcomes": outcomes, "held": 100, "of": 100},
		"causal/profile":         p, "regions": map[string]any{"regions": regions}, "sessions": map[string]any{"sessions": sessions},
		"sessions/" + strings.Repeat("a", 32): map[string]any{"id": strings.Repeat("a", 32), "name": "GET /", "spans": spans},
		"regions/waits":                       waitsAnswer(p.Curves[0].Region, waits),
	})
	for _, tt := range []struct {
		name, first, left string
		answer            func() (string, error)
	}{
		{"rank", "region with a name that is long 000", "", func() (string, error) { return Rank(t.Context(), api, "") }},
		{"explain", "region with a name that is long 000 (internal", "shown)", func() (string, error) { return Explain(t.Context(), api, p.Curves[0].Region.Name, "") }},
		{"session", "GET /", "of 300 spans shown)", func() (string, error) { return Session(t.Context(), api, "", "") }},
		{"verify", "100 of 100", "of 100 outcomes shown)", func() (string, error) { return Verify(t.Context(), api) }},
		{"plan_check", "it would not be started here: experiments are off", "of 64 lines of the plan shown)", func() (string, error) { return PlanCheck(t.Context(), api, "{}") }},
		{"whatif", "causal profile", "", func() (string, error) { return WhatIf(t.Context(), api, p.Curves[3].Region.Name) }},
	} {
		text, err := tt.answer()
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		first, _, _ := strings.Cut(text, "\n")
		if len(text) > mostBytes || !strings.Contains(first, tt.first) || !strings.Contains(text, tt.left) {
			t.Errorf("%s: %d bytes, want at most %d, that begin with %q and have %q:\n%s", tt.name, len(text), mostBytes, tt.first, tt.left, text)
		}
	}
}

// Two versions of one scope are two regions.
func TestCompareVersions(t *testing.T) {
	asked := 0
	api := API(func(_ context.Context, _, _ string, _ []byte) (int, []byte, error) {
		asked++
		first := 1000
		if asked > 1 {
			first = 1005
		}
		text, err := json.Marshal(map[string]any{"regions": []map[string]any{
			{"name": "x", "scope": "a", "count": first, "total_ns": 1e6 * first}, {"name": "x", "scope": "a", "scope_version": "2", "count": 10, "total_ns": 1e9},
		}})
		return http.StatusOK, text, err
	})
	text, err := Compare(t.Context(), api, 1)
	if rows := strings.Split(strings.TrimSpace(text), "\n"); err != nil || len(rows) != 3 || !strings.HasPrefix(rows[2], "x       5 ") {
		t.Errorf("%q, %v, want one row, of 5 a second", text, err)
	}
}

// Of regions of one name in several scopes one is explained, which the answer says, and a scope
// chooses another.
func TestExplainScopes(t *testing.T) {
	api := fakeAPI(map[string]any{"sessions": map[string]any{"sessions": []any{}}, "regions": map[string]any{"regions": []map[string]any{
		{"name": "read", "scope": "db", "count": 10},
		{"name": "other", "scope": "web", "count": 9},
		{"name": "read", "scope": "cache", "scope_version": "1.2", "count": 8},
	}}})
	const more = "1 more regions have this name"
	for _, tt := range []struct{ region, scope, first, second string }{
		{"read", "", "read (, scope db)", more + ", and requests below may be theirs; the argument scope names another scope: cache 1.2"},
		{"read", "cache", "read (, scope cache)", more + ", and requests below may be theirs; the argument scope names another scope: db"},
		{"other", "", "other (, scope web)", ""},
	} {
		text, err := Explain(t.Context(), api, tt.region, tt.scope)
		first, second, _ := strings.Cut(text, "\n")
		second, _, _ = strings.Cut(second, "\n")
		if err != nil || !strings.HasPrefix(first, tt.first) || second != tt.second {
			t.Errorf("%s of %q: %v, lines %q and %q; want %q and %q", tt.region, tt.scope, err, first, second, tt.first, tt.second)
		}
	}
	if _, err := Explain(t.Context(), api, "read", "web"); err == nil || err.Error() != `scope "web" of region "read": must be one of db, cache` {
		t.Errorf("a scope without that region: %v", err)
	}
}

// A process that has begun anew, and has counted more by now, is not the one before.
func TestCompareAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		api := API(func(_ context.Context, _, _ string, _ []byte) (int, []byte, error) {
			asked++
			text, err := json.Marshal(map[string]any{
				"since": fmt.Sprintf("2026-01-01T00:00:0%dZ", asked), "regions": []map[string]any{{"name": "x", "count": 10 * asked, "total_ns": 1e6}},
			})
			return http.StatusOK, text, err
		})
		if text, err := Compare(t.Context(), api, 1); err == nil || !strings.Contains(err.Error(), "anew at 2026-01-01T00:00:02Z") {
			t.Errorf("%q, %v; want that the process began anew", text, err)
		}
	})
}

// Names of a kilobyte leave room for the rest.
func TestLongNames(t *testing.T) {
	var regions []map[string]any
	for i := range 20 {
		regions = append(regions, map[string]any{"name": fmt.Sprint(i) + strings.Repeat("é", 1000), "scope": "s", "count": 10})
	}
	api := fakeAPI(map[string]any{"regions": map[string]any{"regions": regions}})
	if _, err := Explain(t.Context(), api, "x", ""); err == nil || len(err.Error()) > mostBytes || !strings.Contains(err.Error(), "19é") {
		t.Errorf("%v: want all of 20 in %d bytes", err, mostBytes)
	}
}

// An error is no longer than an answer, whatever it repeats.
func TestLongErrors(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	for _, tool := range New(fakeAPI(map[string]any{"regions": map[string]any{"regions": []any{}}}), true) {
		if _, err := tool.Call(t.Context(), json.RawMessage(`{"`+long+`":1}`)); err == nil || len(err.Error()) > mostBytes || !strings.Contains(err.Error(), "arguments of "+tool.Name) {
			t.Errorf("%s: an error of %d bytes, want at most %d", tool.Name, len(fmt.Sprint(err)), mostBytes)
		}
		if tool.Name == "explain" {
			if _, err := tool.Call(t.Context(), json.RawMessage(`{"region":"`+long+`"}`)); err == nil || len(err.Error()) > mostBytes {
				t.Errorf("a long region: an error of %d bytes, want at most %d", len(fmt.Sprint(err)), mostBytes)
			}
		}
	}
}

// A name of several lines is one line of an answer, which counts its rows right.
func TestNamesOfManyLines(t *testing.T) {
	spans := make([]map[string]any, 300)
	for i := range spans {
		spans[i] = map[string]any{"name": "SELECT a,\n\tb\vFROM c", "duration_ns": 1e6, "self_ns": 1e5}
	}
	id := strings.Repeat("a", 32)
	api := fakeAPI(map[string]any{"sessions/" + id: map[string]any{"id": id, "name": "GET /\r\n", "spans": spans}})
	text, err := Session(t.Context(), api, id, "")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if want := fmt.Sprintf("(%d of 300 spans shown)", len(lines)-3); lines[len(lines)-1] != want || !strings.HasPrefix(lines[2], "SELECT a,  b FROM c  ") {
		t.Errorf("%d lines, of which the last is %q, want %q:\n%s", len(lines), lines[len(lines)-1], want, text)
	}
}

// Large numbers are whole, and the longest wait is so on 32 bits, too.
func TestNumbers(t *testing.T) {
	longest := span{Waits: []wait{{Kind: "network", For: 4e9}, {Kind: "lock", For: 1e6}}}.longestWait()
	got := []string{duration(3.6e12), duration(999.6e9), duration(1.234e6), duration(-2e3), percent(12.5), percent(0.4567), number(12345.6), longest}
	if diff := cmp.Diff([]string{"3600 s", "1000 s", "1.23 ms", "-2 µs", "1250 %", "45.7 %", "12346", "4 s network"}, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func waitsAnswer(of profile.Region, all []profile.Wait) any {
	return map[string]any{"regions": []profile.RegionWaits{{Region: of, Spans: 10, Time: 100 * time.Second, Waits: all}}}
}

// What is asked about and not there has an error that says what is.
func TestErrors(t *testing.T) {
	p, regions := manyRegions(30)
	api := fakeAPI(map[string]any{"causal/profile": p, "regions": map[string]any{"regions": regions}, "sessions": map[string]any{"sessions": []any{}}})
	for want, answer := range map[string]func() (string, error){
		`region "x": must be one of region with a name that is long 000`: func() (string, error) { return Explain(t.Context(), api, "x", "") },
		"and 10 more":                     func() (string, error) { return WhatIf(t.Context(), api, "x") },
		`progress point "x": must be one`: func() (string, error) { return Rank(t.Context(), api, "x") },
		"it has none":                     func() (string, error) { return Session(t.Context(), api, "", "x") },
		"seconds 21: must be in [1, 20]":  func() (string, error) { return Compare(t.Context(), api, 21) },
	} {
		if text, err := answer(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %v; want %q", text, err, want)
		}
	}
	if _, err := Rank(t.Context(), fakeAPI(nil), ""); err == nil || !strings.Contains(err.Error(), "causal controller") {
		t.Errorf("without a controller: %v", err)
	}
}

// An agent's experiment stays within the program's caps, and begins only where the program lets it.
func TestExperiment(t *testing.T) {
	p, _ := manyRegions(5)
	standing := func(enabled bool, state string) map[string]any {
		return map[string]any{"plan": map[string]any{"id": "mine"}, "status": map[string]any{
			"enabled": enabled, "state": state, "caps": map[string]any{"per_span": "5ms", "per_trace": "25ms", "duty": "4%", "total": "60s"},
		}}
	}
	var sent map[string]any
	api := func(now map[string]any, refused string) API {
		answers := fakeAPI(map[string]any{
			"causal/profile": p, "causal/plan": now, "PUT causal/plan": standing(true, "running"), "DELETE causal/plan": standing(true, "stopped"),
			"POST causal/plan/check": map[string]any{"cost": "at most little", "refused": refused},
		})
		return func(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
			if method == http.MethodPut {
				if err := json.Unmarshal(body, &sent); err != nil {
					t.Fatal(err)
				}
			}
			return answers(ctx, method, path, body)
		}
	}
	for _, tt := range []struct {
		name string
		api  API
		a    experimentArguments
		want string
	}{
		{"no opt-in", api(standing(false, "idle"), ""), experimentArguments{}, "OTELPROF_EXPERIMENTS=on"},
		{"another plan", api(standing(true, "running"), ""), experimentArguments{}, "plan mine is in force"},
		{"beyond a cap", api(standing(true, "idle"), ""), experimentArguments{Duty: 5}, "duty_percent 5: must be in (0, 4]: the program's cap limits.duty is 4%"},
		{"too long", api(standing(true, "idle"), ""), experimentArguments{Minutes: 31}, "minutes 31: must be in [0.5, 30]"},
		{"too many", api(standing(true, "idle"), ""), experimentArguments{Regions: make([]string, 4)}, "regions: 4: must be at most 3"},
		{"not allowed", api(standing(true, "idle"), "mode slowdown: is not allowed"), experimentArguments{}, "mode slowdown: is not allowed"},
	} {
		if text, err := experiment(t.Context(), tt.api, tt.a); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, text, err, tt.want)
		}
	}
	if sent != nil {
		t.Fatalf("a plan was sent: %v", sent)
	}
	text, err := experiment(t.Context(), api(standing(true, "stopped"), ""), experimentArguments{Minutes: 2, Reason: "why not"})
	if err != nil || !strings.Contains(text, "at most little") || !strings.Contains(text, "after 2 minutes at most") {
		t.Errorf("%q, %v", text, err)
	}
	limits, _ := sent["limits"].(map[string]any)
	if sent["mode"] != "slowdown" || sent["reason"] != "why not" || limits["duty"] != "4%" || sent["author"] != "agent of no name" {
		t.Errorf("sent %v", sent)
	}
	if text, err := experiment(t.Context(), api(standing(true, "running"), ""), experimentArguments{Stop: true}); err != nil || !strings.Contains(text, "no experiment is in force") {
		t.Errorf("stop: %q, %v", text, err)
	}
}

// Arguments that a tool does not know are an error, so that a misspelt one is not taken for none.
func TestArguments(t *testing.T) {
	for _, tool := range New(fakeAPI(nil), true) {
		if _, err := tool.Call(t.Context(), json.RawMessage(`{"wrong":1}`)); err == nil || !strings.Contains(err.Error(), "arguments of "+tool.Name) {
			t.Errorf("%s: %v", tool.Name, err)
		}
		if !json.Valid(tool.Input) {
			t.Errorf("%s: input %s", tool.Name, tool.Input)
		}
	}
	if n := len(New(nil, false)); n != 7 {
		t.Errorf("%d tools that read, want 7", n)
	}
}
