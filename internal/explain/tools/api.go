package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

// An API asks a viewer. The path begins behind api/v1/; the error is of an answer that did not
// come.
type API func(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error)

// get reads the answer to a request into a value.
func (a API) get(ctx context.Context, path string, into any) error {
	return a.do(ctx, http.MethodGet, path, nil, into)
}

func (a API) do(ctx context.Context, method, path string, body []byte, into any) error {
	status, text, err := a(ctx, method, path, body)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		var refused struct{ Error string }
		if json.Unmarshal(text, &refused) != nil || refused.Error == "" {
			return fmt.Errorf("%s %s: answer %d: must be 200", method, path, status)
		}
		return refusal(refused.Error)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s %s: answer: must be a viewer's: %w", method, path, err)
	}
	return nil
}

// A refusal is the reason why there is no answer.
type refusal string

func (r refusal) Error() string { return string(r) }

// A region is one in the answer to api/v1/regions.
type region struct {
	Name      string  `json:"name"`
	Scope     string  `json:"scope"`
	Version   string  `json:"scope_version"`
	SchemaURL string  `json:"scope_schema_url"`
	Kind      string  `json:"kind"`
	Count     uint64  `json:"count"`
	Errors    uint64  `json:"errors"`
	P50       float64 `json:"p50_ns"`
	P90       float64 `json:"p90_ns"`
	P99       float64 `json:"p99_ns"`
	Max       float64 `json:"max_ns"`
	Total     float64 `json:"total_ns"`
	Self      float64 `json:"self_ns"`
	SelfShare float64 `json:"self_share"`
	Pmu       *struct {
		Spans uint64  `json:"spans"`
		IPC   float64 `json:"ipc"`
		Means []struct {
			Name string  `json:"name"`
			Mean float64 `json:"mean"`
			Unit string  `json:"unit"`
		} `json:"means"`
	} `json:"pmu"`
}

// regions returns all regions, and since when they are counted: a process that has begun anew has
// another time.
func (a API) regions(ctx context.Context) (all []region, since string, err error) {
	var answer struct {
		Regions []region `json:"regions"`
		Since   string   `json:"since"`
	}
	err = a.get(ctx, "regions", &answer)
	return answer.Regions, answer.Since, err
}

// A waits is what one region waited for.
type waits struct {
	Regions []profile.RegionWaits `json:"regions"`
	Tails   []profile.Tail        `json:"tails"`
}

// A session is one in the list, or with its spans.
type session struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	TraceID  string  `json:"trace_id"`
	Start    string  `json:"start"`
	Duration float64 `json:"duration_ns"`
	Errors   int     `json:"errors"`
	Recorded float64 `json:"recorded"`
	Hot      *struct {
		Name  string  `json:"name"`
		Share float64 `json:"share"`
	} `json:"hot"`
	Spans []span `json:"spans"`
}

type span struct {
	Name     string  `json:"name"`
	Depth    int     `json:"depth"`
	Start    float64 `json:"start_ns"`
	Duration float64 `json:"duration_ns"`
	Self     float64 `json:"self_ns"`
	Status   string  `json:"status"`
	Waits    []wait  `json:"waits"`
}

type wait struct {
	Kind      string  `json:"kind"`
	Where     string  `json:"where"`
	For       float64 `json:"for_ns"`
	By        string  `json:"by"`
	ByWhere   string  `json:"by_where"`
	BySession string  `json:"by_session"`
}

// profileOf reads the causal profile.
func (a API) profileOf(ctx context.Context) (profile.Profile, error) {
	status, text, err := a(ctx, http.MethodGet, "causal/profile?samples=1", nil)
	if err != nil {
		return profile.Profile{}, err
	}
	if status != http.StatusOK {
		return profile.Profile{}, fmt.Errorf("causal profile: answer %d: the program must have a causal controller, as otelprof.Setup and Wrap make one", status)
	}
	return profile.Read(bytes.NewReader(text))
}

// A standing is how experiments stand.
type standing struct {
	Plan *struct {
		ID string `json:"id"`
	} `json:"plan"`
	Status struct {
		Enabled bool        `json:"enabled"`
		State   string      `json:"state"`
		Caps    plan.Limits `json:"caps"`
		Spent   float64     `json:"spent_ns"`
	} `json:"status"`
}

func (s standing) inForce() bool { return s.Status.State == "running" || s.Status.State == "waiting" }
