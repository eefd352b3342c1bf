package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"
	colprofilepb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
)

// errShutdown is returned for an export after Shutdown.
var errShutdown = errors.New("otlp: profiles: exporter is shut down")

// A ProfileExporter sends profiles over OTLP, in its alpha version v1development. Any goroutine may
// call its methods.
type ProfileExporter struct {
	sender   profileSender
	resource *resource.Resource
	endpoint string
	timeout  time.Duration
	monitor  *delivery.Monitor

	// under ends when exports have to.
	under  context.Context
	cancel context.CancelFunc
	mu     sync.RWMutex // held for reading by exports
	closed bool
}

// A profileSender sends a request once. An error that a further try may cure is of type *retryable.
type profileSender interface {
	send(context.Context, *colprofilepb.ExportProfilesServiceRequest) (*colprofilepb.ExportProfilesServiceResponse, error)
	close() error
}

// NewProfileExporter returns an exporter for the profiles of a resource; nil stands for an empty
// one. It does not wait for the endpoint; the logger is that of [NewSpanExporter]. An error wraps
// [ErrNotConfigured] unless p, from [ProfilesFromEnv], is enabled.
func NewProfileExporter(p Pipeline, r *resource.Resource, logger *slog.Logger) (*ProfileExporter, error) {
	if !p.Enabled {
		return nil, fmt.Errorf("%w: profiles", ErrNotConfigured)
	}
	t, _ := transportFromEnv(profiles, p.target) // ProfilesFromEnv has returned the error
	e := &ProfileExporter{
		resource: r, endpoint: p.Endpoint, timeout: t.timeout,
		monitor: newMonitor("profiles", "profiles", p, logger),
	}
	var err error
	if p.Protocol == ProtocolGRPC {
		e.sender, err = newProfileGRPC(p.target, t)
	} else {
		url, _, _ := strings.Cut(p.target, "?") // the query, which the client adds, may have a key, and errors show the URL
		e.sender = &profileHTTP{client: newHTTPClient(t), url: url, headers: t.headers, gzip: t.gzip}
	}
	if err != nil {
		return nil, fmt.Errorf("otlp: profiles to %s: %w", p.Endpoint, err)
	}
	e.under, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Export converts a profile, see convertProfile, and sends it, unless it has no samples. It tries
// again while the other side is not ready, and takes as long as OTEL_EXPORTER_OTLP_TIMEOUT at most,
// by default 10 s, or until ctx ends. The monitor logs the first failure of a kind, as it does for
// the other signals, so the error need not be logged.
func (e *ProfileExporter) Export(ctx context.Context, p *profile.Profile) error {
	data, err := convertProfile(p, e.resource)
	if err != nil {
		return err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return errShutdown
	}
	if len(p.Sample) == 0 {
		return nil
	}
	count := len(data.ResourceProfiles[0].ScopeProfiles[0].Profiles)
	err = e.send(ctx, &colprofilepb.ExportProfilesServiceRequest{ResourceProfiles: data.ResourceProfiles, Dictionary: data.Dictionary})
	e.monitor.Observe(ctx, count, err)
	if err != nil {
		return fmt.Errorf("otlp: profiles to %s: %w", e.endpoint, err)
	}
	return nil
}

func (e *ProfileExporter) send(ctx context.Context, request *colprofilepb.ExportProfilesServiceRequest) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	defer context.AfterFunc(e.under, cancel)()
	var last error
	response, err := backoff.Retry(ctx, func() (*colprofilepb.ExportProfilesServiceResponse, error) {
		response, err := e.sender.send(ctx, request)
		if err != nil {
			last = err
			if _, again := errors.AsType[*retryable](err); !again {
				return nil, backoff.Permanent(err)
			}
		}
		return response, err
	}, backoff.WithMaxElapsedTime(e.timeout))
	if err != nil {
		return last // the cause, not only that there is no time left
	}
	if part := response.GetPartialSuccess(); part.GetRejectedProfiles() > 0 || part.GetErrorMessage() != "" {
		return partialSuccess{RejectedItems: part.GetRejectedProfiles(), RejectedKind: "profiles", ErrorMessage: part.GetErrorMessage()}
	}
	return nil
}

// Shutdown closes the connection when the exports under way have ended, which they do with ctx at
// the latest. Later ones are errors. The error has the number of profiles that have not been
// delivered, if exports fail at present. A second call does nothing.
func (e *ProfileExporter) Shutdown(ctx context.Context) error {
	defer context.AfterFunc(ctx, e.cancel)()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	e.cancel()
	return errors.Join(e.monitor.Err(), e.sender.close())
}

// Stats returns the counts so far. The items are OTLP's profiles: a pprof profile makes one of each
// type of its samples.
func (e *ProfileExporter) Stats() delivery.Stats { return e.monitor.Stats() }

// retryable is an error that a further try may cure, after some time if the endpoint asks for that.
type retryable struct {
	err   error
	after time.Duration
}

func (r *retryable) Error() string { return r.err.Error() }

// Unwrap returns the error, and the time in the way that package backoff expects.
func (r *retryable) Unwrap() []error {
	if r.after <= 0 {
		return []error{r.err}
	}
	return []error{r.err, &backoff.RetryAfterError{Duration: r.after}}
}

// partialSuccess is an answer that accepts an export in part. Its fields are those of the SDK's
// type, see [delivery.Rejected].
type partialSuccess struct {
	RejectedItems int64
	RejectedKind  string
	ErrorMessage  string
}

func (p partialSuccess) Error() string {
	return fmt.Sprintf("partial success: %d %s rejected: %s", p.RejectedItems, p.RejectedKind, p.ErrorMessage)
}
