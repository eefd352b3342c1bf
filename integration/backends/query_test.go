package backends

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// A series is one line of the answer to an instant query.
type series struct {
	Labels    map[string]string
	Value     float64
	Histogram *histogram // nil for a plain number
}

// A histogram is a native one.
type histogram struct {
	Count, Sum float64
	Buckets    []bucket
}

type bucket struct{ Lower, Upper, Count float64 }

func (b *bucket) UnmarshalJSON(text []byte) error {
	var bounds int // which of them belong to the bucket
	var lower, upper, count number
	if err := json.Unmarshal(text, &[]any{&bounds, &lower, &upper, &count}); err != nil {
		return err
	}
	*b = bucket{float64(lower), float64(upper), float64(count)}
	return nil
}

// A number is one in quotes.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	v, err := strconv.ParseFloat(s, 64)
	*n = number(v)
	return err
}

// query asks an expression as of now.
func (p *prometheus) query(ctx context.Context, expression string) ([]series, error) {
	var answer struct {
		Data struct {
			ResultType string
			Result     []struct {
				Metric    map[string]string
				Value     [2]any
				Histogram []json.RawMessage
			}
		}
	}
	err := getJSON(ctx, "http://"+p.address+"/api/v1/query?query="+url.QueryEscape(expression), &answer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expression, err)
	}
	if answer.Data.ResultType != "vector" {
		return nil, fmt.Errorf("%s: a %s: must be a vector", expression, answer.Data.ResultType)
	}
	var all []series
	for _, r := range answer.Data.Result {
		s := series{Labels: r.Metric}
		if text, ok := r.Value[1].(string); ok {
			if s.Value, err = strconv.ParseFloat(text, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", expression, err)
			}
		}
		if len(r.Histogram) == 2 {
			var h struct {
				Count, Sum number
				Buckets    []bucket
			}
			if err := json.Unmarshal(r.Histogram[1], &h); err != nil {
				return nil, fmt.Errorf("%s: %w", expression, err)
			}
			s.Histogram = &histogram{float64(h.Count), float64(h.Sum), h.Buckets}
		}
		all = append(all, s)
	}
	return all, nil
}

// values returns the values of a label in the series of a selector.
func (p *prometheus) values(t testing.TB, label, selector string) ([]string, error) {
	var answer struct{ Data []string }
	err := getJSON(t.Context(), "http://"+p.address+"/api/v1/label/"+label+"/values?match[]="+url.QueryEscape(selector), &answer)
	return answer.Data, err
}

// one asks for an expression of one series, and waits for it to be there.
func (p *prometheus) one(t testing.TB, expression string) series {
	t.Helper()
	var found series
	eventually(t, 20*time.Second, func() error {
		all, err := p.query(t.Context(), expression)
		if err == nil && len(all) != 1 {
			err = fmt.Errorf("%s: %d series, want 1: %v", expression, len(all), all)
		}
		if err == nil {
			found = all[0]
		}
		return err
	})
	return found
}

// services returns the services that Jaeger has spans of.
func (j *jaeger) services(ctx context.Context) ([]string, error) {
	var answer struct{ Services []string }
	err := getJSON(ctx, "http://"+j.query+"/api/v3/services", &answer)
	return answer.Services, err
}

// traces returns at most most traces of a service. A query has parameters without the prefix
// "query.".
func (j *jaeger) traces(ctx context.Context, service string, most int, query map[string]string) ([]span, error) {
	now := time.Now()
	values := url.Values{
		"query.service_name":   {service},
		"query.start_time_min": {now.Add(-time.Hour).UTC().Format(time.RFC3339Nano)},
		"query.start_time_max": {now.Add(time.Hour).UTC().Format(time.RFC3339Nano)},
		"query.num_traces":     {strconv.Itoa(most)},
	}
	for k, v := range query {
		values.Set("query."+k, v)
	}
	text, err := get(ctx, "http://"+j.query+"/api/v3/traces?"+values.Encode())
	if err != nil {
		return nil, err
	}
	var all []span
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var answer struct{ Result json.RawMessage }
		switch err := dec.Decode(&answer); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		traces, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(answer.Result)
		if err != nil {
			return nil, err
		}
		all = append(all, spansOf(traces)...)
	}
}

// trace returns the spans of one trace.
func (j *jaeger) trace(ctx context.Context, id string) ([]span, error) {
	var answer struct{ Result json.RawMessage }
	if err := getJSON(ctx, "http://"+j.query+"/api/v3/traces/"+id, &answer); err != nil {
		return nil, err
	}
	traces, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(answer.Result)
	if err != nil {
		return nil, err
	}
	return spansOf(traces), nil
}

// A span is one with its resource and its scope.
type span struct {
	ptrace.Span
	resource pcommon.Map
	scope    string
}

func spansOf(traces ptrace.Traces) (all []span) {
	for _, r := range traces.ResourceSpans().All() {
		for _, s := range r.ScopeSpans().All() {
			for _, one := range s.Spans().All() {
				all = append(all, span{one, r.Resource().Attributes(), s.Scope().Name()})
			}
		}
	}
	return all
}

// key identifies a span.
func (s span) key() string { return s.TraceID().String() + s.SpanID().String() }

// all waits until Jaeger has want spans of a service and returns them, by key.
func (j *jaeger) all(t testing.TB, service string, want int) map[string]span {
	t.Helper()
	found := map[string]span{}
	eventually(t, 30*time.Second, func() error {
		spans, err := j.traces(t.Context(), service, 90_000, nil)
		if err != nil {
			return err
		}
		for _, s := range spans {
			found[s.key()] = s
		}
		if len(found) < want {
			return fmt.Errorf("service %s: Jaeger has %d spans, want %d", service, len(found), want)
		}
		return nil
	})
	return found
}

// complete waits until a native histogram has want values.
func (p *prometheus) complete(t testing.TB, expression string, want int) *histogram {
	t.Helper()
	var h *histogram
	eventually(t, 20*time.Second, func() error {
		all, err := p.query(t.Context(), expression)
		switch {
		case err != nil:
			return err
		case len(all) != 1 || all[0].Histogram == nil:
			return fmt.Errorf("%s: must be one native histogram: %v", expression, all)
		case int(all[0].Histogram.Count) != want:
			return fmt.Errorf("%s: count %v, want %d", expression, all[0].Histogram.Count, want)
		}
		h = all[0].Histogram
		return nil
	})
	return h
}

// holds compares cumulative histograms with what Prometheus has and returns how many are the same,
// bucket for bucket.
func (p *prometheus) holds(t testing.TB, points []point) (same int) {
	t.Helper()
	for _, want := range points {
		expression := want.selector()
		got := p.complete(t, expression, int(want.Count()))
		if diff := cmp.Diff(want.buckets(), got.byIndex(int(want.Scale()))); diff != "" {
			t.Errorf("%s: buckets (-want +got):\n%s", expression, diff)
			continue
		}
		same++
	}
	return same
}

// selector is the point's series in Prometheus.
func (p point) selector() string {
	underscored := regexp.MustCompile(`[^a-zA-Z0-9_]`)
	instance, _ := p.resource.Get("service.instance.id")
	matchers := []string{
		fmt.Sprintf("__name__=~%q", underscored.ReplaceAllString(p.name, "_")+"(_[a-z]+)?"),
		fmt.Sprintf("instance=%q", instance.AsString()),
	}
	for k, v := range p.Attributes().All() {
		matchers = append(matchers, fmt.Sprintf("%s=%q", underscored.ReplaceAllString(k, "_"), v.AsString()))
	}
	return "{" + strings.Join(matchers, ", ") + "}"
}
