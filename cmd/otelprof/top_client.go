package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// topTimeout is how long one poll may take, and maxTopAnswer how large an answer may be.
const (
	topTimeout   = 5 * time.Second
	maxTopAnswer = 64 << 20
)

// A topClient asks a viewer.
type topClient struct {
	http *http.Client
	base *url.URL
}

func newTopClient(address string) (*topClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, withoutPath(err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("must be http://HOST:PORT or https://HOST:PORT")
	}
	return &topClient{http: &http.Client{Timeout: topTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone()}, base: u}, nil
}

func (c *topClient) close() { c.http.CloseIdleConnections() }

// topRegion is one region as the viewer tells it.
type topRegion struct {
	Scope        string  `json:"scope"`
	ScopeVersion string  `json:"scope_version"`
	Name         string  `json:"name"`
	Count        uint64  `json:"count"`
	Errors       uint64  `json:"errors"`
	P50          uint64  `json:"p50_ns"`
	P90          uint64  `json:"p90_ns"`
	P99          uint64  `json:"p99_ns"`
	Max          uint64  `json:"max_ns"`
	Self         int64   `json:"self_ns"`
	SelfShare    float64 `json:"self_share"`
	Pmu          struct {
		IPC *float64 `json:"ipc"`
	} `json:"pmu"`
	Cumulative topDistribution `json:"cumulative"`
}

type topDistribution struct {
	Buckets topBuckets `json:"buckets"`
}

type topKey struct{ scope, version, name string }

func (r topRegion) key() topKey { return topKey{r.Scope, r.ScopeVersion, r.Name} }

// A topPoll is one answer, or why there is none.
type topPoll struct {
	at            time.Time
	Regions       []topRegion `json:"regions"`
	RelativeError float64     `json:"relative_error"`
	effects       map[topKey]topEffect
	err           error
}

// A topEffect is the strongest effect that the causal profile has for a region.
type topEffect struct {
	causal.Effect
	progress string
}

// poll asks for the regions and, where there is one, for the causal profile.
func (c *topClient) poll(ctx context.Context) (topPoll, error) {
	var p topPoll
	if err := c.get(ctx, "api/v1/regions?buckets=coarse", &p); err != nil {
		return p, err
	}
	p.at = time.Now()
	var profile causal.Profile
	if err := c.get(ctx, profilePath, &profile); err == nil { // a program need not have one
		p.effects = effectsOf(profile)
	}
	return p, nil
}

func (c *topClient) get(ctx context.Context, path string, into any) error {
	path, query, _ := strings.Cut(path, "?")
	address := c.base.JoinPath(path)
	address.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return withoutPath(err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return tooSlow(err, topTimeout)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answer %s: must be 200", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxTopAnswer)).Decode(into); err != nil {
		return fmt.Errorf("answer: must be that of a viewer: %w", tooSlow(err, topTimeout))
	}
	return nil
}

// follow polls until ctx ends.
func (c *topClient) follow(ctx context.Context, interval time.Duration, polls chan<- topPoll) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		p, err := c.poll(ctx)
		p.err = err
		select {
		case polls <- p:
		case <-ctx.Done():
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// effectsOf returns for each region the effect on its first progress point, at the largest
// speed-up of at most a half that has a number, which is what hard work may reach; curves are ordered by strength.
func effectsOf(p causal.Profile) map[topKey]topEffect {
	out := map[topKey]topEffect{}
	for _, c := range p.Curves {
		key := topKey{scope: c.Region.Scope, name: c.Region.Span}
		if _, known := out[key]; known {
			continue
		}
		for _, e := range c.Effects { // by speed-up
			_, known := out[key]
			if e.Withheld == "" && (!known || e.Speedup <= 0.5) {
				out[key] = topEffect{e, c.Progress}
			}
		}
	}
	return out
}

// A topRow is a region as it was in a window.
type topRow struct {
	topRegion
	rate   float64 // a second; negative where it is not known
	window float64 // share of the self time in the window, or of all where there was none
	effect *topEffect
}

// rows returns the regions as they were since an earlier poll; since the start of the program if
// that is none, with rates since the poll before.
func (p topPoll) rows(from, last topPoll) []topRow {
	index := func(p topPoll) map[topKey]topRegion {
		known := make(map[topKey]topRegion, len(p.Regions))
		for _, r := range p.Regions {
			known[r.key()] = r
		}
		return known
	}
	begins, rated := index(from), index(last)
	seconds := p.at.Sub(last.at).Seconds()
	rows := make([]topRow, 0, len(p.Regions))
	var whole float64
	for _, r := range p.Regions {
		row := topRow{topRegion: r, rate: -1}
		if was := rated[r.key()]; seconds > 0 && !last.at.IsZero() && r.Count >= was.Count {
			row.rate = float64(r.Count-was.Count) / seconds
		}
		if was := begins[r.key()]; !from.at.IsZero() && r.Count >= was.Count && r.Self >= was.Self {
			row.topRegion = r.over(was)
		}
		row.window = float64(row.Self)
		whole += row.window
		if e, ok := p.effects[topKey{scope: r.Scope, name: r.Name}]; ok {
			row.effect = &e
		}
		rows = append(rows, row)
	}
	for i := range rows {
		if rows[i].window /= whole; whole == 0 { // nothing has happened since
			rows[i].window = rows[i].SelfShare
		}
	}
	return rows
}

// topSorts are the columns that rows can be sorted by; all but names put the largest first.
var topSorts = []string{"self", "p99", "p90", "p50", "max", "count", "rate", "errors", "effect", "ipc", "name"}

func (r topRow) compare(o topRow, column string) int {
	var order int
	switch column {
	case "self":
		order = cmp.Or(cmp.Compare(o.window, r.window), cmp.Compare(o.Self, r.Self))
	case "p99":
		order = cmp.Compare(o.P99, r.P99)
	case "p90":
		order = cmp.Compare(o.P90, r.P90)
	case "p50":
		order = cmp.Compare(o.P50, r.P50)
	case "max":
		order = cmp.Compare(o.Max, r.Max)
	case "count":
		order = cmp.Compare(o.Count, r.Count)
	case "rate":
		order = cmp.Compare(o.rate, r.rate)
	case "errors":
		order = cmp.Compare(o.Errors, r.Errors)
	case "effect":
		order = cmp.Compare(o.reduction(), r.reduction())
	case "ipc":
		order = cmp.Compare(o.ipc(), r.ipc())
	}
	return cmp.Or(order, strings.Compare(r.Name, o.Name), strings.Compare(r.Scope, o.Scope))
}

// reduction of a region without a number is below all others.
func (r topRow) reduction() float64 {
	if r.effect == nil {
		return -1e9
	}
	return r.effect.Reduction
}

// ipc of a region without a number is below all others.
func (r topRow) ipc() float64 {
	if r.Pmu.IPC == nil {
		return -1
	}
	return *r.Pmu.IPC
}
