package viewer

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

func testPlan(id string) string {
	return fmt.Sprintf(`{"api":"causal/v1","id":%q,"generation":1,"author":"mira","expires_at":%q,"mode":"dilation",
"regions":[{"span":"*"}],"progress":[{"span":"POST /checkout","type":"throughput"}]}`,
		id, time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339))
}

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

func testProfile() profile.Profile {
	return profile.Profile{
		Mode: profile.ModeDilation, PlanID: "p1", Iterations: 9, Experiments: 27,
		Curves: []profile.Curve{{
			Region: profile.Region{Scope: "sql", Name: "UPDATE stock"}, Progress: "POST /checkout", BasePeriod: time.Millisecond,
			Effects: []profile.Effect{
				{Speedup: 0.25, Reduction: 0.1, Lo: 0.08, Hi: 0.12, ThroughputGain: 1/0.9 - 1, Samples: 2, Reductions: []float64{0.09, 0.11}},
				{Speedup: 0.5, Withheld: profile.Withheld{Code: withheldcode.Iterations, Count: 2, Need: 5}},
			},
		}},
		Changes: []profile.Change{{Change: "4 processors", Progress: "POST /checkout", Effect: profile.Effect{Reduction: 0.1, Samples: 1, Reductions: []float64{0.1}}}},
	}
}

func TestCausalProfile(t *testing.T) {
	const path = "/api/v1/causal/profile"
	e := &fakeExperiments{profile: testProfile()}
	h := testHandler(t, e)
	got := decode[profile.Profile](t, ask(t, h, "GET", path+"?samples=1", ""), 200)
	checkEqual(t, "profile", got, e.profile)
	for _, query := range []string{"", "?samples=0", "?format=json"} {
		if a := ask(t, h, "GET", path+query, ""); a.code != 200 || strings.Contains(a.body, "reductions") {
			t.Errorf("%q, without a request for samples: %d %s", query, a.code, a.body)
		}
	}
	checkEqual(t, "profile that was asked for without samples", e.profile, testProfile())
	for format, want := range map[string][2]string{
		"coz": {"text/plain; charset=utf-8", "UPDATE stock"},
		"svg": {"image/svg+xml", "<svg"},
	} {
		a := ask(t, h, "GET", path+"?format="+format, "")
		if a.code != 200 || a.header.Get("Content-Type") != want[0] || !strings.Contains(a.body, want[1]) {
			t.Errorf("%s: %d %q %s", format, a.code, a.header.Get("Content-Type"), a.body)
		}
	}
	checkEqual(t, "error", errorOf(t, ask(t, h, "GET", path+"?format=png", ""), 400), `format "png": must be json, coz or svg`)
	checkEqual(t, "error", errorOf(t, ask(t, h, "GET", path+"?samples=all", ""), 400), `samples "all": must be 0 or 1`)
	if a := ask(t, testHandler(t, &fakeExperiments{}), "GET", path, ""); !strings.Contains(a.body, `"curves":[]`) {
		t.Errorf("empty profile: %s", a.body)
	}
}

func TestProfileCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cached[profile.Profile]
		get := func(compute func() profile.Profile) profile.Profile {
			p, _ := c.get(profileAge, profileRest, func() (profile.Profile, error) { return compute(), nil })
			return p
		}
		computed := 0
		takes := time.Duration(0)
		compute := func() profile.Profile {
			computed++
			time.Sleep(takes)
			return profile.Profile{Iterations: computed}
		}
		check := func(when string, want int) {
			t.Helper()
			if got := get(compute).Iterations; got != want {
				t.Errorf("%s: profile %d, want %d", when, got, want)
			}
		}
		check("at first", 1)
		time.Sleep(profileAge)
		check("while it is new", 1)
		time.Sleep(time.Nanosecond)
		takes = time.Second
		check("when it is old", 2)
		time.Sleep(profileRest * time.Second)
		check("after one that took long", 2)
		c.expire()
		check("after a change", 3)

		c.expire()
		takes = 0 // to wait for a mutex stops the bubble's time
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { get(compute) })
		}
		group.Wait()
		check("eight at once", 4)

		c.expire()
		func() {
			defer func() { _ = recover() }()
			get(func() profile.Profile { panic("a source") })
		}()
		check("after a panic", 5)
	})
}

func TestStopMakesANewProfile(t *testing.T) {
	e := &fakeExperiments{profile: testProfile()}
	h := testHandler(t, e)
	ask(t, h, "GET", "/api/v1/causal/profile", "")
	e.profile.Iterations = 10
	ask(t, h, "DELETE", "/api/v1/causal/plan", "")
	got := decode[profile.Profile](t, ask(t, h, "GET", "/api/v1/causal/profile", ""), 200)
	checkEqual(t, "iterations", got.Iterations, 10)
}

func TestCausalAbsent(t *testing.T) {
	h := testHandler(t, nil)
	for _, r := range [][2]string{
		{"GET", "profile"}, {"GET", "plan"}, {"PUT", "plan"}, {"DELETE", "plan"}, {"GET", "experiments"}, {"POST", "plan/check"}, {"POST", "record"},
	} {
		errorOf(t, ask(t, h, r[0], "/api/v1/causal/"+r[1], ""), 404)
	}
}

func TestPlan(t *testing.T) {
	plan := &plan.Plan{ID: "p1", Author: "mira"}
	e := &fakeExperiments{status: causal.Status{Enabled: true, State: causal.StateRunning, Plan: plan, Spent: time.Second}}
	h := testHandler(t, e)
	a := ask(t, h, "GET", "/api/v1/causal/plan", "")
	got := decode[planJSON](t, a, 200)
	if got.Plan == nil || got.Plan.ID != "p1" || got.Status.Plan != nil || got.Status.Spent != time.Second || got.TokenRequired || got.Replaceable {
		t.Errorf("plan %s", a.body)
	}
	if got := errorOf(t, ask(t, h, "PUT", "/api/v1/causal/plan", testPlan("x")), 403); !strings.HasSuffix(got, "OTELPROF_VIEWER_TOKEN_FILE or viewer.WithToken sets it") {
		t.Errorf("PUT without a configured token: %q", got)
	}
	after := decode[planJSON](t, ask(t, h, "DELETE", "/api/v1/causal/plan", ""), 200)
	checkEqual(t, "state", after.Status.State, causal.StateStopped)
	checkEqual(t, "stopped", e.stopped, []string{"stopped by the viewer"})
	checkEqual(t, "applied", len(e.applied), 0)
}

func TestPlanToken(t *testing.T) {
	e := &fakeExperiments{}
	h := testHandler(t, e, WithToken(testToken))
	const path = "/api/v1/causal/plan"
	for _, method := range []string{"PUT", "DELETE"} {
		for _, value := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + testToken, testToken, "Bearer " + testToken + " "} {
			a := ask(t, h, method, path, testPlan("x"), header("Authorization", value))
			errorOf(t, a, 401)
			if a.header.Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate")
			}
		}
	}
	checkEqual(t, "applied and stopped without the token", len(e.applied)+len(e.stopped), 0)

	got := decode[planJSON](t, ask(t, h, "PUT", path, testPlan("p2"), bearer(testToken)), 200)
	if got.Plan == nil || got.Plan.ID != "p2" || !got.TokenRequired || !got.Replaceable {
		t.Errorf("after PUT: %+v", got)
	}
	checkEqual(t, "applied", e.applied, []string{"viewer: p2"})
	decode[planJSON](t, ask(t, h, "DELETE", path, "", bearer(testToken)), 200)

	e.refuse = errors.New("causal: plan p3: latched")
	checkEqual(t, "refused", errorOf(t, ask(t, h, "PUT", path, testPlan("p3"), bearer(testToken)), 409), "causal: plan p3: latched")
}

// A request without the right to write applies and stops nothing, for whichever reason it is
// refused.
func TestPlanWritesAreGuarded(t *testing.T) {
	own := header("Sec-Fetch-Site", "same-origin")
	for name, tt := range map[string]struct {
		opts []Option
		more []func(*http.Request)
		put  int
		del  int
	}{
		"no token was set":         {nil, []func(*http.Request){own, bearer(testToken)}, 403, 200},
		"no token is sent":         {[]Option{WithToken(testToken)}, []func(*http.Request){own}, 401, 401},
		"another token":            {[]Option{WithToken(testToken)}, []func(*http.Request){own, bearer(testToken + "s")}, 401, 401},
		"another host":             {[]Option{WithToken(testToken)}, []func(*http.Request){own, bearer(testToken), host("evil.example")}, 403, 403},
		"a name that was rebound":  {nil, []func(*http.Request){own, host("evil.example"), arrivedOn("127.0.0.1:80")}, 403, 403},
		"another origin":           {[]Option{WithToken(testToken)}, []func(*http.Request){bearer(testToken), header("Sec-Fetch-Site", "cross-site")}, 403, 403},
		"another origin, no token": {nil, []func(*http.Request){header("Origin", "http://evil.example")}, 403, 403},
		"all is well":              {[]Option{WithToken(testToken)}, []func(*http.Request){own, bearer(testToken)}, 200, 200},
	} {
		e := &fakeExperiments{}
		h := testHandler(t, e, tt.opts...)
		if got := ask(t, h, "PUT", "/api/v1/causal/plan", testPlan("x"), tt.more...); got.code != tt.put || len(e.applied) != btoi(tt.put == 200) {
			t.Errorf("%s: PUT = %d, applied %q, want %d: %s", name, got.code, e.applied, tt.put, got.body)
		}
		if got := ask(t, h, "DELETE", "/api/v1/causal/plan", "", tt.more...); got.code != tt.del || len(e.stopped) != btoi(tt.del == 200) {
			t.Errorf("%s: DELETE = %d, stopped %q, want %d: %s", name, got.code, e.stopped, tt.del, got.body)
		}
		if len(e.rejected) != 0 {
			t.Errorf("%s: rejected %q", name, e.rejected)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The status has the author, the delay spent of the budget, the time left and the events.
func TestPlanTellsTheStory(t *testing.T) {
	c, err := causal.NewController(causal.WithExperiments(plan.DefaultLimits()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Shutdown(context.Background()) }()
	h := testHandler(t, c, WithToken(testToken))
	const path = "/api/v1/causal/plan"
	decode[planJSON](t, ask(t, h, "PUT", path, testPlan("p1"), bearer(testToken)), 200)
	errorOf(t, ask(t, h, "PUT", path, "nonsense", bearer(testToken)), 400)
	decode[planJSON](t, ask(t, h, "PUT", path, strings.Replace(testPlan("p2"), `"generation":1`, `"generation":2`, 1), bearer(testToken)), 200)
	decode[planJSON](t, ask(t, h, "DELETE", path, "", bearer(testToken)), 200)
	var kinds []causal.AuditKind
	for len(kinds) < 7 { // the ends come a moment later
		got := decode[planJSON](t, ask(t, h, "GET", path, ""), 200)
		kinds = nil
		for _, e := range got.Status.Audit {
			kinds = append(kinds, e.Kind)
		}
		if got.Plan.ID != "p2" || got.Plan.Author != "mira" || got.Status.Source != "viewer" || got.Status.Reason != "stopped by the viewer" ||
			got.Status.Limits.Total != plan.DefaultLimits().Total || got.Status.Audit[0].Author != "mira" {
			t.Fatalf("plan %+v", got)
		}
	}
	slices.Sort(kinds)
	checkEqual(t, "what has happened", kinds, "[received received rejected started started stopped stopped]")
}

func TestPlanInvalidEndsTheOneInForce(t *testing.T) {
	e := &fakeExperiments{}
	h := testHandler(t, e, WithToken(testToken))
	const path = "/api/v1/causal/plan"
	errorOf(t, ask(t, h, "PUT", path, `{"api":"causal/v1","speed":1}`, bearer(testToken)), 400)
	errorOf(t, ask(t, h, "PUT", path, "", bearer(testToken)), 400)
	got := errorOf(t, ask(t, h, "PUT", path, strings.Repeat(" ", maxBodyBytes+1), bearer(testToken)), 413)
	if !strings.Contains(got, "65536") {
		t.Errorf("error %q", got)
	}
	checkEqual(t, "rejected", len(e.rejected), 3)
	checkEqual(t, "applied", len(e.applied), 0)
}

// With keys a plan needs a signature beside the token; one without ends the plan in force, as from
// any source.
func TestPlanSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &fakeExperiments{}
	h := testHandler(t, e, WithToken(testToken), WithPlanKeys(public))
	const path = "/api/v1/causal/plan"
	plan := testPlan("x")
	signed := func(document string) func(*http.Request) {
		return header(naming.HeaderSignature, strings.TrimSpace(string(remote.Sign([]byte(document), private))))
	}
	for want, opt := range map[string]func(*http.Request){
		"none: must be there, since a public key is set": func(*http.Request) {},
		"made by none of the 1 public keys":              signed(plan + " "),
	} {
		if got := errorOf(t, ask(t, h, "PUT", path, plan, bearer(testToken), opt), 403); !strings.Contains(got, want) {
			t.Errorf("error %q, want %q", got, want)
		}
	}
	errorOf(t, ask(t, h, "PUT", path, plan, signed(plan)), 401)
	if len(e.applied) != 0 || len(e.rejected) != 2 {
		t.Errorf("applied %q, rejected %q, want none and two", e.applied, e.rejected)
	}
	if got := decode[planJSON](t, ask(t, h, "PUT", path, plan, bearer(testToken), signed(plan)), 200); got.Replaceable || len(e.applied) != 1 {
		t.Errorf("signed: %+v, applied %q, want one, and that the page does not offer it", got, e.applied)
	}
}

// The controller of the causal package itself, which has not opted in.
func TestRealController(t *testing.T) {
	c, err := causal.NewController()
	if err != nil {
		t.Fatal(err)
	}
	h := testHandler(t, c, WithToken(testToken))
	got := decode[planJSON](t, ask(t, h, "GET", "/api/v1/causal/plan", ""), 200)
	checkEqual(t, "state", got.Status.State, causal.StateIdle)
	checkEqual(t, "enabled", got.Status.Enabled, false)
	errorOf(t, ask(t, h, "PUT", "/api/v1/causal/plan", testPlan("x"), bearer(testToken)), 409)
	decode[profile.Profile](t, ask(t, h, "GET", "/api/v1/causal/profile", ""), 200)
	decode[planJSON](t, ask(t, h, "DELETE", "/api/v1/causal/plan", "", bearer(testToken)), 200)
}

// TestFleetProfile has the page show what a Prometheus has of all instances: two say how much a
// region of another service brings.
func TestFleetProfile(t *testing.T) {
	const labels = `"otelprof_causal_mode":"overlap","otelprof_causal_plan_hash":"p","otelprof_causal_progress_point":"GET /cart","otelprof_causal_speedup":"0.25","otelprof_causal_metric":"throughput","otelprof_region_name":"SELECT items","otelprof_region_scope":"stock"`
	series := ""
	for instance, effect := range []float64{0.2, 0.22} {
		for name, v := range map[string]float64{"": effect, "_low": effect - 0.02, "_high": effect + 0.02} {
			series += fmt.Sprintf(`,{"metric":{"__name__":"otelprof_causal_effect%s_ratio","job":"shop","instance":"%d",%s},"value":[1,"%g"]}`, name, instance, labels, v)
		}
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		result := series[1:]
		if strings.HasPrefix(r.FormValue("query"), "timestamp(") {
			result = `{"metric":{"otelprof_causal_plan_hash":"p"},"value":[1,"5"]}`
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, result)
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	const path = "/api/v1/causal/profile?of=fleet"
	h := testHandler(t, &fakeExperiments{profile: testProfile()}, WithPrometheus(server.URL))
	for range 2 { // the second time from what was answered
		p := decode[profile.Profile](t, ask(t, h, "GET", path, ""), 200)
		if len(p.Curves) != 1 || p.Curves[0].Region.Name != "SELECT items" || math.Abs(p.Curves[0].Effects[0].Reduction-0.21) > 1e-9 {
			t.Errorf("curves %+v, want the mean of both instances", p.Curves)
		}
	}
	if asked != 2 {
		t.Errorf("Prometheus was asked %d times, want 2", asked)
	}
	if a := ask(t, h, "GET", "/", ""); !strings.Contains(a.body, `data-fleet="true"`) {
		t.Error("the page does not offer all instances")
	}
	server.Close()
	gone := testHandler(t, &fakeExperiments{}, WithPrometheus(server.URL))
	if a := ask(t, gone, "GET", path, ""); a.code != http.StatusBadGateway || !strings.Contains(a.body, "Prometheus: ") {
		t.Errorf("a Prometheus that is gone: %d %s", a.code, a.body)
	}
	asked = 0
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer failing.Close()
	failed := testHandler(t, &fakeExperiments{}, WithPrometheus(failing.URL))
	for range 2 {
		ask(t, failed, "GET", path, "")
	}
	if asked != 1 {
		t.Errorf("a Prometheus that fails was asked %d times, want 1", asked)
	}
	if a := ask(t, testHandler(t, &fakeExperiments{}), "GET", path, ""); a.code != http.StatusBadRequest {
		t.Errorf("without a Prometheus: %d %s", a.code, a.body)
	}
	if _, err := NewHandler(Sources{}, WithPrometheus("localhost:9090")); !errors.Is(err, ErrConfig) {
		t.Errorf("an address without http: %v", err)
	}
}
