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
	"github.com/otelprof/otelprof/causal/remote/opamp"
)

// planSources is where plans of causal experiments come from; each may be empty.
type planSources struct {
	file         string
	url, opamp   string
	urlOptions   []remote.EndpointOption
	opampOptions []remote.EndpointOption

	tokenFile string
	keyFile   string // in PEM
	signed    bool
	keys      []ed25519.PublicKey
}

func plansFromEnv() planSources {
	return planSources{
		file:      os.Getenv(EnvPlanFile),
		url:       os.Getenv(EnvPlanURL),
		opamp:     os.Getenv(EnvOpAMP),
		tokenFile: os.Getenv(EnvPlanToken),
		keyFile:   os.Getenv(EnvPlanKey),
	}
}

// WithPlanFile reads the plan of causal experiments from this file, every 2 s; it need not
// exist yet. Plans are refused without [WithExperiments]. By default, if this option is not
// used, it is OTELPROF_PLAN_FILE, and if that is not set there is none.
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
// in the file that OTELPROF_PLAN_TOKEN_FILE names is sent, if there is one and no option says otherwise.
// By default, if this option is not used, the URL is OTELPROF_PLAN_URL, and if that is not set
// nobody is asked.
func WithPlanURL(url string, opts ...remote.EndpointOption) Option {
	return optionFunc(func(c config) config {
		if url == "" {
			return c.reject("plan URL \"\": must not be empty")
		}
		c.plans.url, c.plans.urlOptions = url, opts
		return c
	})
}

// WithOpAMP takes the plan from an OpAMP server, which is told what became of it, see [opamp.New].
// The token is as in [WithPlanURL]. By default, if this option is not used, the URL is
// OTELPROF_OPAMP_ENDPOINT, and if that is not set there is no connection.
func WithOpAMP(url string, opts ...remote.EndpointOption) Option {
	return optionFunc(func(c config) config {
		if url == "" {
			return c.reject("OpAMP endpoint \"\": must not be empty")
		}
		c.plans.opamp, c.plans.opampOptions = url, opts
		return c
	})
}

// WithPlanKeys refuses plans from outside, the viewer's included, that none of these keys has signed, see
// [remote.Sign].
// By default, if this option is not used, it is the key in the PEM file that
// OTELPROF_PLAN_PUBLIC_KEY names, and if that is not set signatures are not looked at.
func WithPlanKeys(keys ...ed25519.PublicKey) Option {
	return optionFunc(func(c config) config {
		c.plans.signed, c.plans.keys = true, keys
		return c
	})
}

// sources returns all sources. What the environment says comes before the options.
func (s planSources) sources(res *resource.Resource) ([]remote.Source, error) {
	shared := []remote.EndpointOption{remote.WithResource(res)}
	if s.tokenFile != "" {
		shared = append(shared, remote.WithTokenFile(s.tokenFile))
	}
	var all []remote.Source
	var errs []error
	add := func(source remote.Source, err error) {
		all, errs = append(all, source), append(errs, err)
	}
	if s.file != "" {
		add(remote.NewFile(s.file))
	}
	if s.url != "" {
		add(remote.NewHTTP(s.url, append(slices.Clip(shared), s.urlOptions...)...))
	}
	if s.opamp != "" {
		add(opamp.New(s.opamp, append(slices.Clip(shared), s.opampOptions...)...))
	}
	return all, errors.Join(errs...)
}

// readKey reads the key that the environment names, unless there are others. One that can not be
// read is an error: to go on without it would let anybody's plan in.
func (s *planSources) readKey() error {
	if s.signed || s.keyFile == "" {
		return nil
	}
	text, err := os.ReadFile(s.keyFile)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrConfig, EnvPlanKey, err)
	}
	key, err := remote.ParsePublicKey(text)
	if err != nil {
		return fmt.Errorf("%w: %s: %s: %w", ErrConfig, EnvPlanKey, s.keyFile, err)
	}
	s.signed, s.keys = true, []ed25519.PublicKey{key}
	return nil
}

// follow takes plans from all sources until Shutdown.
func (p *Profiler) follow(c config, res *resource.Resource) error {
	sources, err := c.plans.sources(res)
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
