// Package agent has the commands mcp and explain: answers in short texts, for agents and for
// people.
package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/plans"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/view"
	"github.com/otelprof/otelprof/internal/explain/tools"
	"github.com/otelprof/otelprof/internal/http/inprocess"
	"github.com/otelprof/otelprof/internal/http/planhttp"
	"github.com/otelprof/otelprof/viewer"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// sourceOf returns what answers: the viewer at a URL, or one of files, in this process.
func sourceOf(ctx context.Context, c *command.Call, names []string, timeout time.Duration) (tools.API, error) {
	switch {
	case len(names) == 0:
		return nil, command.Usagef("0 targets: must be at least 1: the URL of a viewer, or files")
	case timeout <= 0:
		return nil, command.Usagef("timeout %v: must be above 0", timeout)
	}
	if client.IsURL(names[0]) {
		if len(names) > 1 {
			return nil, command.Usagef("argument %q: must not be beside a URL", names[1])
		}
		base, err := url.Parse(names[0])
		if err != nil {
			return nil, command.Usagef("%s: %v", names[0], client.WithoutPath(err))
		}
		return live(base, &http.Client{Timeout: timeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}), nil
	}
	const host = "otelprof" // of requests that no network has seen
	h, err := view.Open(ctx, c, names, viewer.WithHosts(host))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
		r, err := http.NewRequestWithContext(ctx, method, "http://"+host+"/api/v1/"+path, bytes.NewReader(body))
		if err != nil {
			return 0, nil, err
		}
		status, answer := inprocess.Ask(h, r)
		return status, answer, nil
	}, nil
}

// live asks a viewer, with the token in OTELPROF_TOKEN if there is one, by HTTPS or on loopback.
func live(base *url.URL, by *http.Client) tools.API {
	token := os.Getenv(plans.EnvToken)
	if base.Scheme != "https" && !planhttp.Loopback(base.Hostname()) { // in clear text anyone could take it
		token = ""
	}
	return func(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
		path, query, _ := strings.Cut(path, "?")
		address := base.JoinPath("api/v1/", path)
		address.RawQuery = query
		r, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
		if err != nil {
			return 0, nil, client.WithoutPath(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := by.Do(r)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", base, client.NoAnswer(err, by.Timeout))
		}
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		return response.StatusCode, text, client.TooSlow(err, by.Timeout)
	}
}
