package backends

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.yaml.in/yaml/v3"
)

// A dashboard is what of Grafana's model is checked.
type dashboard struct {
	UID, Title  string
	Templating  struct{ List []variable }
	Annotations struct{ List []annotation }
	Panels      []dashPanel
}

type annotation struct {
	Name   string
	Target dashTarget
}

type variable struct {
	Name       string
	Datasource dashSource
	Query      struct{ Query string }
}

type dashSource struct{ Type, UID string }

type dashPanel struct {
	ID                 int
	Title, Description string
	Datasource         dashSource
	GridPos            struct{ X, Y, W, H int }
	Targets            []dashTarget
}

type dashTarget struct {
	RefID                                 string
	Datasource                            dashSource
	Expr, QueryType, Service, Operation   string
	TitleFormat, TextFormat, LegendFormat string
	Exemplar                              bool
}

func readDashboards(t testing.TB) (all []dashboard) {
	t.Helper()
	files, err := filepath.Glob(configs + "grafana/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
	return all
}

// provisioned are the data sources, by uid.
func provisioned(t testing.TB) map[string]string {
	t.Helper()
	text, err := os.ReadFile(configs + "grafana/provisioning/datasources/otelprof.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Datasources []struct{ UID, Type string } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, d := range file.Datasources {
		types[d.UID] = d.Type
	}
	return types
}

// TestDashboardModel needs no backend: panels lie side by side, and use data sources that are
// provisioned.
func TestDashboardModel(t *testing.T) {
	sources := provisioned(t)
	uids := map[string]bool{}
	for _, d := range readDashboards(t) {
		if d.UID == "" || d.Title == "" || uids[d.UID] {
			t.Errorf("dashboard %q, uid %q: must have a title and a uid of its own", d.Title, d.UID)
		}
		uids[d.UID] = true
		taken := map[[2]int]string{}
		ids := map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.Title == "" || p.Description == "" {
				t.Errorf("%s: panel %d %q: must have an id of its own, a title and a description", d.UID, p.ID, p.Title)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: panel %q: lies on %q, or beyond the right edge", d.UID, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			for _, target := range p.Targets {
				if sources[target.Datasource.UID] != target.Datasource.Type || target.Datasource.UID != p.Datasource.UID {
					t.Errorf("%s: panel %q: data source %+v: must be one of %v", d.UID, p.Title, target.Datasource, sources)
				}
			}
		}
	}
}

// TestDashboards asks what each panel, variable and annotation asks, after a run of the demo, and
// finds something.
func TestDashboards(t *testing.T) {
	s := newStack(t, nil)
	shop := start(t, "shop", ours(t, "shop"), s.exporting("OTEL_RESOURCE_ATTRIBUTES=service.version=1.4.0"),
		"-for", "15s", "-clients", "2", "-listen", "127.0.0.1:0", "-data", t.TempDir(), "-plan", writePlan(t))
	hardware(t, s)
	shop.succeeds(t)
	values := strings.NewReplacer(
		"$__rate_interval", "1m", "$__range", "5m", "$job", "shop", "$region", "POST /orders",
		"$point", "POST /orders", "$metric", "throughput", "$speedup", "0.25")
	var panels, variables, annotations int
	for _, d := range readDashboards(t) {
		for _, v := range d.Templating.List {
			ask(t, d.UID+": variable "+v.Name, func() (int, error) { return s.prometheus.labelValues(t, values.Replace(v.Query.Query)) })
			variables++
		}
		for _, a := range d.Annotations.List {
			ask(t, d.UID+": annotation "+a.Name, func() (int, error) { return s.prometheus.numbers(t, values.Replace(a.Target.Expr)) })
			annotations++
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				if strings.HasPrefix(target.Expr, "otelprof:") { // of slow-downs: TestFleetServices asks it
					continue
				}
				what := fmt.Sprintf("%s: panel %q, %s", d.UID, p.Title, target.RefID)
				ask(t, what, func() (int, error) {
					if target.Datasource.Type == "jaeger" {
						return s.jaeger.search(t, values.Replace(target.Service), values.Replace(target.Operation))
					}
					return s.prometheus.numbers(t, values.Replace(target.Expr))
				})
				if target.Exemplar {
					ask(t, what+": exemplars", func() (int, error) {
						found, err := s.prometheus.exemplars(t, values.Replace(target.Expr))
						return len(found), err
					})
				}
			}
			panels++
		}
	}
	check(t, "dashboards", "figure=%d panels, %d variables and %d annotations have data", panels, variables, annotations)
}

// hardware exports what a machine with a PMU would, as another instance of the shop.
func hardware(t testing.TB, s *stack) {
	t.Helper()
	a := newApp(t, "shop", s.exporting("OTEL_TRACES_EXPORTER=none"), "")
	meter := a.MeterProvider().Meter("github.com/otelprof/otelprof/pmuattrs")
	region := metric.WithAttributes(attribute.String("otelprof.region.name", "price cart"), attribute.String("pmu.source", "hw"))
	for range 3 { // a rate has two exports, and there is one each second
		for name, mean := range map[string]float64{"pmu.cycles": 1e6, "pmu.instructions": 2e6, "pmu.branch_misses": 1e3, "pmu.l1d.read_misses": 1e4} {
			h, err := meter.Float64Histogram(name, metric.WithUnit("{event}"))
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				h.Record(t.Context(), mean*a.random.ExpFloat64(), region)
			}
		}
		time.Sleep(1100 * time.Millisecond)
	}
	a.shutdown(t)
}

// ask fails the test if nothing is found.
func ask(t testing.TB, what string, query func() (int, error)) {
	t.Helper()
	if n, err := query(); err != nil || n == 0 {
		t.Errorf("%s: %d answers, %v: want some", what, n, err)
	}
}

// numbers returns how many series with numbers an expression has.
func (p *prometheus) numbers(t testing.TB, expression string) (n int, err error) {
	all, err := p.query(t.Context(), expression)
	for _, s := range all {
		if s.Histogram != nil || !math.IsNaN(s.Value) {
			n++
		}
	}
	if n == 0 && err == nil {
		err = fmt.Errorf("%s: %v", expression, all)
	}
	return n, err
}

// ruled is numbers, for as long as it takes until rules have been evaluated.
func (p *prometheus) ruled(t testing.TB, expression string) (n int, err error) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Second) {
		n, err = p.numbers(t, expression)
		if n > 0 || !strings.HasPrefix(expression, "otelprof:") || time.Now().After(deadline) {
			return n, err
		}
	}
}

var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// labelValues returns how many values Grafana's function finds.
func (p *prometheus) labelValues(t testing.TB, query string) (int, error) {
	m := labelValues.FindStringSubmatch(query)
	if m == nil {
		return 0, fmt.Errorf("query %q: must be label_values(series, label)", query)
	}
	all, err := p.values(t, m[2], m[1])
	return len(all), err
}

// search asks as Grafana's data source does and returns how many traces there are.
func (j *jaeger) search(t testing.TB, service, operation string) (int, error) {
	var answer struct{ Data []json.RawMessage }
	err := getJSON(t.Context(), "http://"+j.query+"/api/traces?lookback=1h&limit=20&"+url.Values{"service": {service}, "operation": {operation}}.Encode(), &answer)
	return len(answer.Data), err
}
