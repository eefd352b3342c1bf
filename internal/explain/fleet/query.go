// Package fleet puts the causal profile of all instances of all services together, from the metrics
// that they have exported to one Prometheus: no process asks another.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/http/own"
)

// maxPromBytes bounds what a server of Prometheus may answer.
const maxPromBytes = 64 << 20

// A Prometheus answers queries.
type Prometheus struct {
	URL   string
	Match string // matchers of its series, as in job="shop"; "" for all
	At    string // of which moment, RFC 3339, "" for the present
}

// A promSeries is one line of an answer.
type promSeries struct {
	labels map[string]string
	value  float64
	values []promValue // instead, of a matrix
}

// A promValue is a number at a time in s since 1970.
type promValue struct{ at, value float64 }

func (v *promValue) UnmarshalJSON(text []byte) error {
	var number string
	if err := json.Unmarshal(text, &[]any{&v.at, &number}); err != nil {
		return err
	}
	var err error
	if v.value, err = strconv.ParseFloat(number, 64); err != nil {
		return fmt.Errorf("value %q: must be a number", number)
	}
	return nil
}

// cell returns what a series is about.
func (s promSeries) cell() (cell, error) {
	speedup, err := strconv.ParseFloat(s.labels[promSpeedup], 64)
	if err != nil || math.IsNaN(speedup) {
		return cell{}, fmt.Errorf("label %s=%q: must be a number", promSpeedup, s.labels[promSpeedup])
	}
	return cell{
		mode:     profile.Mode(s.labels[promMode]),
		region:   s.region(),
		progress: s.labels[promPoint],
		speedup:  speedup,
		metric:   profile.Metric(s.labels[promMetric]),
	}, nil
}

func (s promSeries) region() profile.Region {
	return profile.Region{Scope: s.labels[promScope], Name: s.labels[promRegion]}
}

// instance names the process that a series is from.
func (s promSeries) instance() string { return s.labels["job"] + "/" + s.labels[promInstance] }

// counted returns an error where a value is one that its counter cannot have.
func (s promSeries) counted(v float64) error {
	most := float64(1 << 53)
	switch s.labels["__name__"] {
	case promEffective, promDelay, promOwn:
		most = float64(math.MaxInt64 / time.Second)
	case promProgress, promDelays:
	default:
		return nil
	}
	if v >= 0 && v <= most { // NaN is neither
		return nil
	}
	return fmt.Errorf("%s of instance %s: %g: must be in [0, %g]", s.labels["__name__"], s.instance(), v, most)
}

// selector puts matchers together with the user's.
func (s Prometheus) selector(matchers string) string {
	if s.Match != "" {
		matchers += "," + s.Match
	}
	return "{" + matchers + "}"
}

// query asks an expression whose answer is numbers with labels: one each, a vector, or several, a
// matrix.
func (s Prometheus) query(ctx context.Context, expression, kind string) ([]promSeries, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	values := url.Values{"query": {expression}}
	if s.At != "" {
		values.Set("time", s.At)
	}
	request, err := http.NewRequestWithContext(own.Context(ctx), http.MethodPost, u.JoinPath("api/v1/query").String(), strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxPromBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxPromBytes {
		return nil, fmt.Errorf("answer: must have at most %d bytes; -match asks for less", maxPromBytes)
	}
	list, err := parseProm(text, kind)
	switch {
	case response.StatusCode == http.StatusOK:
		return list, err
	case errors.Is(err, errProm):
		return nil, fmt.Errorf("answer %s: %w", response.Status, err)
	}
	return nil, fmt.Errorf("answer %s: must be 200", response.Status)
}

// errProm is wrapped by errors of the server itself.
var errProm = errors.New("prometheus")

// parseProm reads the answer to an instant query, of a kind.
func parseProm(text []byte, kind string) ([]promSeries, error) {
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	switch err := json.Unmarshal(text, &answer); {
	case err != nil:
		return nil, fmt.Errorf("answer: must be that of a Prometheus: %w", err)
	case answer.Error != "":
		return nil, fmt.Errorf("%w: %s", errProm, answer.Error)
	case answer.Status != "success" || answer.Data.ResultType != kind:
		return nil, fmt.Errorf("answer: status %q, result type %q: must be success, %s", answer.Status, answer.Data.ResultType, kind)
	}
	var lines []struct {
		Metric map[string]string
		Value  promValue
		Values []promValue
	}
	if err := json.Unmarshal(answer.Data.Result, &lines); err != nil {
		return nil, fmt.Errorf("answer: result: %w", err)
	}
	list := make([]promSeries, len(lines))
	for i, one := range lines {
		list[i] = promSeries{one.Metric, one.Value.value, one.Values}
	}
	return list, nil
}
