package otelprof

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/viewer"
)

// Handler returns the viewer's page and its JSON API, to be mounted in a server of the
// application's own, behind its authentication, under any prefix that is stripped:
//
//	h, err := prof.Handler(viewer.WithHosts("shop.example.com"))
//	…
//	mux.Handle("/debug/otelprof/", admin(http.StripPrefix("/debug/otelprof", h)))
//
// Requests are answered only for hosts named by [viewer.WithHosts], and on loopback addresses;
// access control is the server's. The options of [WithViewer] are not taken over, but plans need a
// signature where [WithPlanKeys] asks for it. Unlike the server of [WithViewer] it does not limit
// how often it is asked. Each call makes a handler of its own; after Shutdown one shows what was
// measured until then. The error wraps [viewer.ErrConfig].
func (p *Profiler) Handler(opts ...viewer.Option) (*viewer.Handler, error) {
	return viewer.NewHandler(p.sources(), slices.Concat(p.viewerOptions, opts)...)
}

// sources is what the viewer shows.
func (p *Profiler) sources() viewer.Sources {
	s := viewer.Sources{
		Regions:  p.tracers.Regions,
		Dropped:  p.tracers.Dropped,
		Store:    p.tracers.Store(),
		Causal:   p.causal,
		Stacks:   p.stacks,
		Schedule: p.schedule,
		Service:  p.service,
	}
	if p.foretold != nil {
		s.Outcomes = p.foretold.outcomes
	}
	if p.counters != nil {
		s.Counters = p.counters.Regions
	}
	return s
}

// serve starts the viewer. Only a wrong address or option is an error.
func (p *Profiler) serve(c config) error {
	if c.viewer == "" {
		if c.base != nil && os.Getenv(envViewer) == "" && c.dataDir == "" && !c.disabled {
			c.logger.Info("otelprof: spans are measured; " + envViewer + "=127.0.0.1:8080 serves the page")
		}
		return nil
	}
	token, err := p.viewerToken()
	if err != nil {
		leftOut(c, "the viewer's token", err)
	}
	h, err := p.Handler(slices.Concat(token, p.viewerPrometheus(c), c.viewerOptions)...)
	if err != nil {
		return err
	}
	switch p.server, err = viewer.NewServer(c.viewer, h); {
	case errors.Is(err, viewer.ErrConfig) && c.viewerAsked:
		return err
	case err != nil:
		c.logger.Warn("otelprof: viewer: not served", slog.String("address", c.viewer), slog.Any("cause", err))
	default:
		c.logger.Info("otelprof: viewer", slog.String("url", p.server.URL()))
	}
	return nil
}

// viewerPrometheus is the option that the environment asks for, none where it does not.
func (p *Profiler) viewerPrometheus(c config) []viewer.Option {
	address := os.Getenv(envPrometheus)
	if address == "" {
		return nil
	}
	all := []viewer.Option{viewer.WithPrometheus(address)}
	if _, err := p.Handler(all...); err != nil {
		leftOut(c, envPrometheus, err)
		return nil
	}
	return all
}

// viewerToken is the option that the environment asks for, none where it does not.
func (p *Profiler) viewerToken() ([]viewer.Option, error) {
	file := os.Getenv(envViewerToken)
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", envViewerToken, err)
	}
	token := viewer.WithToken(strings.TrimSpace(string(text)))
	if _, err := p.Handler(token); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", envViewerToken, file, err)
	}
	return []viewer.Option{token}, nil
}
