package otelprof

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal/remote"
)

// planSources is where plans of causal experiments come from; each may be empty.
type planSources struct {
	file         string
	url, opamp   string
	asked        struct{ url, opamp bool } // by an option, not by the environment
	urlOptions   []remote.EndpointOption
	opampOptions []remote.EndpointOption

	tokenFile string
	keyFile   string // in PEM
	signed    bool
	keys      []ed25519.PublicKey
}

func plansFromEnv() planSources {
	return planSources{
		file:      os.Getenv(envPlanFile),
		url:       os.Getenv(envPlanURL),
		opamp:     os.Getenv(envOpAMP),
		tokenFile: os.Getenv(envPlanToken),
		keyFile:   os.Getenv(envPlanKey),
	}
}

// WithPlanFile reads the plan of causal experiments from this file, every 2 s; it need not
// exist yet. Plans are refused without [WithExperiments]. Default: OTELPROF_PLAN_FILE; if that
// is not set, no file.
func WithPlanFile(path string) Option {
	return optionFunc(func(c config) config {
		if path == "" {
			return c.reject("plan file \"\": must not be empty")
		}
		c.plans.file = path
		return c
	})
}

// WithPlanURL asks a server for the plan by HTTP, every 5 s, see [remote.NewHTTP]. The bearer token
// in the file that OTELPROF_PLAN_TOKEN_FILE names is sent, if there is one and no option has
// otherwise. Default: OTELPROF_PLAN_URL; if that is not set, no server is asked.
func WithPlanURL(url string, opts ...remote.EndpointOption) Option {
	return optionFunc(func(c config) config {
		if url == "" {
			return c.reject("plan URL \"\": must not be empty")
		}
		c.plans.url, c.plans.asked.url, c.plans.urlOptions = url, true, opts
		return c
	})
}

// WithOpAMP takes the plan from an OpAMP server, and reports the plan's status to it. The program
// must import package causal/remote/opamp, since protobuf and WebSocket come along; _ will do. The
// token is as in [WithPlanURL]. Default: OTELPROF_OPAMP_ENDPOINT; if that is not set, no
// connection.
func WithOpAMP(url string, opts ...remote.EndpointOption) Option {
	return optionFunc(func(c config) config {
		if url == "" {
			return c.reject("OpAMP endpoint \"\": must not be empty")
		}
		c.plans.opamp, c.plans.asked.opamp, c.plans.opampOptions = url, true, opts
		return c
	})
}

// WithPlanKeys refuses plans from outside, the viewer's included, that none of these keys has
// signed, see [remote.Sign]. Default: the key in the PEM file that OTELPROF_PLAN_PUBLIC_KEY names;
// if that is not set, signatures are not checked.
func WithPlanKeys(keys ...ed25519.PublicKey) Option {
	return optionFunc(func(c config) config {
		c.plans.signed, c.plans.keys = true, keys
		return c
	})
}

// sources returns all sources. Sources of the environment come before those of options. A source
// that only the environment names and that is invalid is left out, and reported to warn.
func (s planSources) sources(res *resource.Resource, warn func(error)) ([]remote.Source, error) {
	shared := []remote.EndpointOption{remote.WithResource(res)}
	if s.tokenFile != "" {
		shared = append(shared, remote.WithTokenFile(s.tokenFile))
	}
	var all []remote.Source
	var errs []error
	add := func(asked bool, source remote.Source, err error) {
		switch {
		case err == nil:
			all = append(all, source)
		case asked:
			errs = append(errs, err)
		default:
			warn(err)
		}
	}
	if s.file != "" {
		source, err := remote.NewFile(s.file)
		add(true, source, err)
	}
	if s.url != "" {
		source, err := remote.NewHTTP(s.url, append(slices.Clip(shared), s.urlOptions...)...)
		add(s.asked.url, source, err)
	}
	if s.opamp != "" {
		source, err := remote.NewOpAMP(s.opamp, append(slices.Clip(shared), s.opampOptions...)...)
		add(s.asked.opamp, source, err)
	}
	return all, errors.Join(errs...)
}

// readKey reads the key that the environment names, unless there are others. With one that cannot
// be read all plans are refused: to go on without it would admit a plan of any origin.
func (s *planSources) readKey() error {
	if s.signed || s.keyFile == "" {
		return nil
	}
	s.signed = true
	text, err := os.ReadFile(s.keyFile)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrConfig, envPlanKey, err)
	}
	key, err := remote.ParsePublicKey(text)
	if err != nil {
		return fmt.Errorf("%w: %s: %s: %w", ErrConfig, envPlanKey, s.keyFile, err)
	}
	s.keys = []ed25519.PublicKey{key}
	return nil
}

// follow takes plans from all sources until Shutdown.
func (p *Profiler) follow(c config) error {
	sources, err := c.plans.sources(c.resource, func(err error) { leftOut(c, "source of plans", err) })
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	options := []remote.Option{remote.WithLogger(c.logger)}
	if c.plans.signed {
		options = append(options, remote.WithPublicKeys(c.plans.keys...))
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.endPlans = cancel
	for _, source := range sources {
		p.plans.Go(func() { remote.Follow(ctx, p.causal, source, options...) })
	}
	return nil
}
