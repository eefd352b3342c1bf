package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/http/own"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

// promLine is a series in short: name, value, then labels and their values.
func promLine(name string, value float64, labels ...string) promSeries {
	s := promSeries{labels: map[string]string{}, value: value}
	if name != "" {
		s.labels["__name__"] = name
	}
	for i := 0; i < len(labels); i += 2 {
		s.labels[labels[i]] = labels[i+1]
	}
	return s
}

// promAnswer writes series as Prometheus does.
func promAnswer(list []promSeries) string {
	type line struct {
		Metric map[string]string `json:"metric"`
		Value  [2]any            `json:"value"`
	}
	lines := make([]line, len(list))
	for i, s := range list {
		lines[i] = line{s.labels, [2]any{1.5, fmt.Sprint(s.value)}}
	}
	text, err := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": lines}})
	if err != nil {
		panic(err) // plain values
	}
	return string(text)
}

// fakePrometheus answers the five kinds of query that there are.
type fakePrometheus struct {
	series, times, bases, rising []promSeries
	sizes                        []promSeries // by instance; of rising if there are none
	queries                      []string
	at                           string
}

func (f *fakePrometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	f.queries, f.at = append(f.queries, query), r.FormValue("time")
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/api/v1/query":
		http.NotFound(w, r)
	case strings.HasPrefix(query, "timestamp("):
		fmt.Fprint(w, promAnswer(f.times))
	case strings.HasPrefix(query, "histogram_quantile("):
		fmt.Fprint(w, promAnswer(f.bases))
	case strings.HasPrefix(query, "count by (instance) "):
		fmt.Fprint(w, promAnswer(f.counted()))
	case strings.HasSuffix(query, "[1h:10s]"):
		fmt.Fprint(w, promMatrix(f.rising))
	default:
		fmt.Fprint(w, promAnswer(f.series))
	}
}

// counted has how many series each instance has.
func (f *fakePrometheus) counted() []promSeries {
	if f.sizes != nil {
		return f.sizes
	}
	byName := map[string]float64{}
	for _, one := range f.rising {
		byName[one.labels[promInstance]]++
	}
	var list []promSeries
	for name, n := range byName {
		list = append(list, promLine("", n, promInstance, name))
	}
	return list
}

// instance are the series of one instance: price at 25 %, in a plan.
func instance(name, plan string, effect, half float64) []promSeries {
	cell := []string{"job", "shop", promInstance, name, promMode, "overlap", promPlan, plan, promPoint, "checkout", promSpeedup, "0.25", promRegion, "price", promScope, "shop"}
	base := []string{"job", "shop", promInstance, name, promMode, "overlap", promPlan, plan, promPoint, "checkout", promSpeedup, "0"}
	effects := append([]string{promMetric, "throughput"}, cell...)
	latency := append([]string{promMetric, "latency_p99"}, cell...)
	return []promSeries{
		promLine(promProgress, 100, base...), promLine(promEffective, 2, base...), promLine(promDelay, 0, base...),
		promLine(promProgress, 90, cell...), promLine(promEffective, 1.5, cell...), promLine(promDelay, 0.4, cell...),
		promLine(promEffect, effect, effects...), promLine(promEffectLow, effect-half, effects...), promLine(promEffectHigh, effect+half, effects...),
		promLine(promEffect, effect/2, latency...), promLine(promEffectLow, effect/2-half, latency...), promLine(promEffectHigh, effect/2+half, latency...),
	}
}

// profileFrom is the profile of a server, or what the error says.
func profileFrom(t *testing.T, f http.Handler, p Prometheus) (profile.Profile, string) {
	t.Helper()
	server := httptest.NewServer(f)
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	p.URL = server.URL
	found, err := p.Profile(t.Context())
	if err != nil {
		return found, err.Error()
	}
	return found, ""
}

func TestPrometheusOneInstance(t *testing.T) {
	f := &fakePrometheus{
		series: instance("a", "0123456789abcdef", 0.24, 0.02),
		times:  []promSeries{promLine("", 1000, promPlan, "0123456789abcdef")},
		bases:  []promSeries{promLine("", 0.05, promMode, "overlap", promPlan, "0123456789abcdef", promPoint, "checkout")},
	}
	p, errout := profileFrom(t, f, Prometheus{Match: `job="shop"`, At: "2026-01-02T03:04:05Z"})
	if errout != "" {
		t.Fatal(errout)
	}
	price := profile.Region{Scope: "shop", Name: "price"}
	wantTallies := []profile.Tally{
		{Mode: profile.ModeOverlap, Progress: "checkout", Visits: 100, Effective: 2 * time.Second},
		{Mode: profile.ModeOverlap, Region: price, Speedup: 0.25, Progress: "checkout", Visits: 90, Effective: 1500 * time.Millisecond, Delay: 400 * time.Millisecond},
	}
	if diff := cmp.Diff(wantTallies, p.Tallies); diff != "" {
		t.Errorf("tallies (-want +got):\n%s", diff)
	}
	if p.PlanHash != "0123456789abcdef" || p.PlanID != "0123456789ab" || p.Mode != profile.ModeOverlap || p.Delay != 400*time.Millisecond {
		t.Errorf("plan %s, hash %s, mode %s, delay %v", p.PlanID, p.PlanHash, p.Mode, p.Delay)
	}
	var got []string
	for _, c := range p.Curves {
		e := c.Effects[0]
		got = append(got, fmt.Sprintf("%s %s %v %g (%.2f .. %.2f)", c.Region, c.Metric, c.BasePeriod, e.Reduction, e.Lo, e.Hi))
	}
	want := []string{"price throughput 20ms 0.24 (0.22 .. 0.26)", "price latency_p99 50ms 0.12 (0.10 .. 0.14)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
	for _, q := range f.queries {
		if !strings.Contains(q, `,job="shop"}`) {
			t.Errorf("query %s: want it to have the matchers", q)
		}
	}
	if f.at != "2026-01-02T03:04:05Z" || len(f.queries) != 3 {
		t.Errorf("%d queries, as of %q", len(f.queries), f.at)
	}
}

func TestPrometheusInstancesArePooled(t *testing.T) {
	for _, tt := range []struct {
		a, halfA, b, halfB float64
		want, half         float64
		differ             bool
	}{
		{0.2, 0.02, 0.22, 0.02, 0.21, 0.02, false},
		{0.2, 0.01, 0.21, 0.02, 0.202, 0.012, false},
		{0.1, 0.01, 0.3, 0.01, 0.2, 0.11, true},
	} {
		p, errout := profileFrom(t, &fakePrometheus{
			series: append(instance("a", "p", tt.a, tt.halfA), instance("b", "p", tt.b, tt.halfB)...),
			times:  []promSeries{promLine("", 1, promPlan, "p")},
		}, Prometheus{})
		if errout != "" {
			t.Fatal(errout)
		}
		e := p.Curves[0].Effects[0]
		if math.Abs(e.Reduction-tt.want) > 1e-9 || math.Abs((e.Hi-e.Lo)/2-tt.half) > 1e-9 || (len(e.Warnings) > 0) != tt.differ {
			t.Errorf("%+v: got %+v", tt, e)
		}
		if visits := p.Tallies[0].Visits; visits != 200 {
			t.Errorf("visits %d, want the sum 200", visits)
		}
	}
}

// Bounds stay where they are however many instances there are, and are said to be bounds.
func TestPooledBounds(t *testing.T) {
	for _, tt := range []struct {
		mode    profile.Mode
		speedup float64
		bounded bool
	}{
		{profile.ModeSlowdown, 0.25, true}, {profile.ModeSlowdown, profile.Near, false}, {profile.ModeOverlap, 0.25, false},
	} {
		for _, n := range []int{1, 25} {
			all := slices.Repeat([]*interval{{value: 0.25, lo: 0.05, hi: 0.45}}, n)
			e := pooled(cell{mode: tt.mode, speedup: tt.speedup}, append(all, &interval{value: 0.9, lo: math.Inf(-1), hi: 1}))
			if math.Abs(e.Lo-0.05) > 1e-9 || math.Abs(e.Hi-0.45) > 1e-9 || e.Bounded != tt.bounded {
				t.Errorf("pooled(%+v, %d instances) = %+v, want 0.25 (0.05 .. 0.45)", tt, n, e)
			}
		}
	}
}

func TestPrometheusTakesTheLatestPlan(t *testing.T) {
	p, errout := profileFrom(t, &fakePrometheus{
		series: append(instance("a", "older plan", 0.4, 0.01), instance("a", "newer plan", 0.1, 0.01)...),
		times:  []promSeries{promLine("", 10, promPlan, "older plan"), promLine("", 20, promPlan, "newer plan"), promLine("", 5, promPlan, "newer plan")},
	}, Prometheus{})
	if errout != "" {
		t.Fatal(errout)
	}
	if p.PlanHash != "newer plan" || p.Curves[0].Effects[0].Reduction != 0.1 {
		t.Errorf("plan %q, effect %g, want the newer plan's", p.PlanHash, p.Curves[0].Effects[0].Reduction)
	}
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "plan older plan, heard of earlier, is left out") {
		t.Errorf("notes %q", notes)
	}
}

func TestPrometheusErrors(t *testing.T) {
	bad := instance("a", "p", 0.1, 0.01)
	bad[0].labels[promSpeedup] = "fast"
	metric := instance("a", "p", 0.1, 0.01)
	metric[6].labels[promMetric] = "speed"
	mode := instance("a", "p", 0.1, 0.01)
	mode[6].labels[promMode] = "magic"
	for _, tt := range []struct {
		name   string
		series []promSeries
		want   string
	}{
		{"nothing", nil, "no series"},
		{"speed-up", bad, `label otelprof_causal_speedup="fast": must be a number`},
		{"metric", metric, `label otelprof_causal_metric="speed": must be throughput or latency_p and a percentage`},
		{"mode", mode, `mode "magic": must be`},
	} {
		if _, errout := profileFrom(t, &fakePrometheus{series: tt.series, times: []promSeries{promLine("", 1, promPlan, "p")}}, Prometheus{}); !strings.Contains(errout, tt.want) {
			t.Errorf("%s: error %q, want %q", tt.name, errout, tt.want)
		}
	}
	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{422, `{"status":"error","error":"bad matcher"}`, "answer 422 Unprocessable Entity: prometheus: bad matcher"},
		{502, "<html>", "answer 502 Bad Gateway: must be 200"},
		{200, "<html>", "answer: must be that of a Prometheus"},
		{200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, `result type "matrix": must be success, vector`},
		{200, `{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"x"]}]}}`, `answer: result: value "x": must be a number`},
	} {
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		})
		if _, errout := profileFrom(t, answer, Prometheus{}); !strings.Contains(errout, tt.want) {
			t.Errorf("%d %s: error %q, want %q", tt.status, tt.body, errout, tt.want)
		}
	}
}

// What goroutines without spans did for a region may be many times its own time, other parts are
// parts of it.
func TestPrometheusParts(t *testing.T) {
	b := newProfileBuilder(nil)
	for _, kind := range []string{"served", "awaited"} {
		if err := b.add(promLine(promWaits, 79, promWait, kind, promRegion, "price", promScope, "shop")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]float64{"served": 79, "awaited": 1}, b.waits[profile.Region{Scope: "shop", Name: "price"}]); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// A counter that is no number, or none that it can be, is an error that names it.
func TestPrometheusCounters(t *testing.T) {
	for _, name := range []string{promProgress, promDelays, promEffective, promDelay, promOwn} {
		for _, v := range []float64{math.NaN(), math.Inf(1), 1e30, -1} {
			s := promLine(name, v, "job", "shop", promInstance, "a", promSpeedup, "0.25", promMode, "slowdown")
			want := fmt.Sprintf("%s of instance shop/a: %g: must be in [0, ", name, v)
			if err := newProfileBuilder(nil).add(s); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s %g: error %v, want %q", name, v, err, want)
			}
			s.values = []promValue{{at: 1, value: v}}
			if err := newProfileBuilder(nil).rose([]promSeries{s}); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s %g, that rose: error %v, want %q", name, v, err, want)
			}
		}
	}
	for _, x := range []interval{{value: math.Inf(1), hi: 1}, {value: math.NaN(), hi: 1}, {hi: math.NaN()}, {lo: math.Inf(-1), hi: math.Inf(1)}} {
		if e := pooled(cell{}, []*interval{&x}); e.Withheld.Code != withheldcode.Bounds {
			t.Errorf("an effect of %+v: %+v, want it withheld", x, e)
		}
	}
}

// A transport gives a round trip to a function.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A program whose transport is instrumented has no spans of these queries.
func TestPrometheusQueriesAreOwn(t *testing.T) {
	before := http.DefaultClient.Transport
	t.Cleanup(func() { http.DefaultClient.Transport = before })
	asked := errors.New("asked")
	http.DefaultClient.Transport = transport(func(r *http.Request) (*http.Response, error) {
		if _, ok := trace.SpanFromContext(r.Context()).(own.Span); !ok {
			t.Error("a query is not marked as the profiler's own")
		}
		return nil, asked
	})
	if _, err := (Prometheus{URL: "http://prometheus.test"}).Profile(t.Context()); !errors.Is(err, asked) {
		t.Errorf("error %v, want that of the transport", err)
	}
}

func FuzzPrometheusAnswer(f *testing.F) {
	f.Add([]byte(promAnswer(instance("a", "p", 0.1, 0.01))))
	f.Add([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"otelprof_causal_effect_ratio","otelprof_causal_speedup":"NaN"},"value":[1,"+Inf"]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseProm(text, "vector")
		if err != nil {
			return
		}
		b := newProfileBuilder(list)
		for _, s := range list {
			if b.add(s) != nil || b.rose([]promSeries{s}) != nil {
				return
			}
		}
		_, _ = b.profile() // an error, or a profile that its reader has checked
	})
}
