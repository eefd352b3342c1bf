package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
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
		return nil, client.WithoutPath(err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("must be HOST:PORT, http://HOST:PORT or https://HOST:PORT")
	}
	// Its own, so that its connections can be closed.
	return &topClient{http: &http.Client{Timeout: topTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}, base: u}, nil
}

func (c *topClient) close() { c.http.CloseIdleConnections() }

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
	profile.Effect
	progress string
}

// poll asks for the regions and, where there is one, for the causal profile.
func (c *topClient) poll(ctx context.Context) (topPoll, error) {
	var p topPoll
	if err := c.get(ctx, "api/v1/regions?buckets=coarse", &p); err != nil {
		return p, err
	}
	p.at = time.Now()
	var profile profile.Profile
	if err := c.get(ctx, client.ProfilePath, &profile); err == nil { // a program need not have one
		p.effects = effectsOf(profile)
	}
	return p, nil
}

func (c *topClient) get(ctx context.Context, path string, into any) error {
	path, query, _ := strings.Cut(path, "?")
	address := c.base.JoinPath(path)
	address.RawQuery = query
	response, err := client.Ask(ctx, c.http, http.MethodGet, address, topTimeout)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, maxTopAnswer)).Decode(into); err != nil {
		return fmt.Errorf("answer: must be that of a viewer: %w", client.TooSlow(err, topTimeout))
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

// effectsOf returns for each region the effect on its first progress point, at the largest speed-up
// of at most a half that has a number, which is what hard work may reach; curves are ordered by
// strength.
func effectsOf(p profile.Profile) map[topKey]topEffect {
	out := map[topKey]topEffect{}
	for _, c := range p.Curves {
		key := topKey{Scope: c.Region.Scope, Name: c.Region.Name}
		if _, known := out[key]; known {
			continue
		}
		for _, e := range c.Effects { // by speed-up
			_, known := out[key]
			if e.Known() && (!known || e.Speedup <= 0.5) {
				out[key] = topEffect{e, c.Progress}
			}
		}
	}
	return out
}
