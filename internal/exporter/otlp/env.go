package otlp

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
)

// ErrConfig is wrapped by errors about the environment.
var ErrConfig = errors.New("otlp: configuration")

// Protocol is how OTLP is sent.
type Protocol string

// The values of OTEL_EXPORTER_OTLP_PROTOCOL.
const (
	ProtocolGRPC         Protocol = "grpc"
	ProtocolHTTPProtobuf Protocol = "http/protobuf"
)

// A Pipeline is what the environment sets for one signal.
type Pipeline struct {
	// Enabled reports whether to export.
	Enabled bool
	// Protocol is how.
	Protocol Protocol
	// Endpoint is where to, a URL without password and query, for people to read.
	Endpoint string

	// ExplicitHistograms: of metrics, whether histograms are to have explicit bounds.
	ExplicitHistograms bool

	// target is the endpoint with its password and query.
	target string
}

// isURL reports whether the endpoint is one of HTTP or HTTPS, which gRPC takes as well, and not a
// name that gRPC resolves itself.
func (p Pipeline) isURL() bool {
	return strings.HasPrefix(p.target, "http://") || strings.HasPrefix(p.target, "https://")
}

// An Env is what the environment sets for the signals.
type Env struct {
	// Disabled is set if OTEL_SDK_DISABLED is true. Then no pipeline is enabled.
	Disabled              bool
	Traces, Metrics, Logs Pipeline
}

// A signal is the part of the variables' names that distinguishes traces, metrics and logs.
type signal struct{ upper, path string }

var (
	traces  = signal{"TRACES", "v1/traces"}
	metrics = signal{"METRICS", "v1/metrics"}
	logs    = signal{"LOGS", "v1/logs"}
)

// FromEnv reads from the environment whether and how to export. A signal is exported if
// OTEL_TRACES_EXPORTER (OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER) is "otlp", or is not set while
// OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (…_METRICS_ENDPOINT,
// …_LOGS_ENDPOINT) is; "none" switches it off. OTEL_SDK_DISABLED=true switches off all.
//
// The Env can be used even if there is an error, which wraps [ErrConfig] and names each variable
// that was not understood, and what was made of it: an exporter that is not known is left out, in
// place of a protocol that is not known it is http/protobuf, a signal whose endpoint is no URL is
// not exported, and of headers, times, compression and certificates what cannot be used is left
// out.
func FromEnv() (Env, error) {
	// The specification takes every other text as false.
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") {
		return Env{Disabled: true}, nil
	}
	t, errTraces := pipelineFromEnv(traces)
	m, errMetrics := pipelineFromEnv(metrics)
	l, errLogs := pipelineFromEnv(logs)
	return Env{Traces: t, Metrics: m, Logs: l}, joinOnce(errTraces, errMetrics, errLogs)
}

// profiles is the signal as of version v1development: an alpha, which may change.
var profiles = signal{"PROFILES", "v1development/profiles"}

// ProfilesFromEnv is [FromEnv] for profiles. Their protocol is an alpha and most endpoints do not
// know it, so an endpoint alone does not enable them: OTEL_PROFILES_EXPORTER must be "otlp". All
// else is like for the other signals, OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT included.
func ProfilesFromEnv() (Pipeline, error) {
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") ||
		strings.TrimSpace(os.Getenv("OTEL_PROFILES_EXPORTER")) == "" {
		return Pipeline{}, nil
	}
	p, err := pipelineFromEnv(profiles)
	return p, joinOnce(err)
}

// joinOnce joins errors, which may be joined of others, and leaves out what has been said: signals
// share variables.
func joinOnce(errs ...error) error {
	var all []error
	said := map[string]bool{}
	var add func(error)
	add = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
			for _, e := range joined.Unwrap() {
				add(e)
			}
		} else if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			all = append(all, err)
		}
	}
	for _, err := range errs {
		add(err)
	}
	return errors.Join(all...)
}

func pipelineFromEnv(s signal) (Pipeline, error) {
	variable, value := lookup("OTEL_EXPORTER_OTLP_"+s.upper+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	enabled, errExporter := chosenByEnv("OTEL_"+s.upper+"_EXPORTER", value != "")
	if !enabled {
		return Pipeline{}, errExporter
	}
	protocol, errProtocol := protocolFromEnv(s)
	target, errEndpoint := targetOf(s, protocol, variable, value)
	err := errors.Join(errExporter, errProtocol, errEndpoint)
	if errEndpoint != nil {
		return Pipeline{}, err
	}
	_, errTransport := transportFromEnv(s, target)
	err = errors.Join(err, errTransport)
	p := Pipeline{Enabled: true, Protocol: protocol, Endpoint: redacted(target), target: target}
	if protocol == ProtocolGRPC && p.isURL() && strings.Contains(value, "?") {
		err = errors.Join(err, fmt.Errorf("%w: %s: must have no query for %s, left out", ErrConfig, variable, ProtocolGRPC))
	}
	if s == metrics {
		var errHistograms error
		p.ExplicitHistograms, errHistograms = explicitFromEnv()
		err = errors.Join(err, errHistograms)
	}
	return p, err
}

func explicitFromEnv() (bool, error) {
	const explicit, exponential = "explicit_bucket_histogram", "base2_exponential_bucket_histogram"
	variable, value := lookup("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION")
	switch strings.ToLower(value) {
	case explicit:
		return true, nil
	case "", exponential:
		return false, nil
	}
	return false, fmt.Errorf("%w: %s %q: must be %s or %s, the latter is taken", ErrConfig, variable, value, explicit, exponential)
}

// chosenByEnv reports whether a list of exporters, which may be meant for programs in all
// languages, has ours. A list without it is for others alone.
func chosenByEnv(variable string, byDefault bool) (enabled bool, err error) {
	list := strings.TrimSpace(os.Getenv(variable))
	if list == "" {
		return byDefault, nil
	}
	none := false
	var unknown []string
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); strings.ToLower(name) {
		case "":
		case "otlp":
			enabled = true
		case "none":
			none = true
		default:
			unknown = append(unknown, name)
		}
	}
	var errs []error
	if len(unknown) > 0 {
		errs = append(errs, fmt.Errorf("%w: %s %q: must be otlp or none, %q left out", ErrConfig, variable, list, unknown))
	}
	if none && enabled {
		errs = append(errs, fmt.Errorf("%w: %s %q: must be otlp or none, none is taken", ErrConfig, variable, list))
	}
	return enabled && !none, errors.Join(errs...)
}

func protocolFromEnv(s signal) (Protocol, error) {
	variable, value := lookup("OTEL_EXPORTER_OTLP_"+s.upper+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	switch p := Protocol(strings.ToLower(value)); p {
	case "":
		return ProtocolHTTPProtobuf, nil
	case ProtocolGRPC, ProtocolHTTPProtobuf:
		return p, nil
	default:
		return ProtocolHTTPProtobuf, fmt.Errorf("%w: %s %q: must be %s or %s, the latter is taken", ErrConfig, variable, value, ProtocolGRPC, ProtocolHTTPProtobuf)
	}
}

// redacted is a URL without its password and its query, which may have a key.
func redacted(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.Redacted()
}

// targetOf checks the endpoint in the variable and returns where the exporter will send. All
// exporters are given that: the SDK's read the variables by rules of their own, of which some lose
// what has a blank or a slash at its end, and send in clear text what https is to protect.
func targetOf(s signal, p Protocol, variable, value string) (string, error) {
	if value == "" {
		return defaultEndpoint(s, p), nil
	}
	u, err := url.Parse(value)
	if err != nil {
		// The text of err repeats the value, which may hold a password.
		return "", fmt.Errorf("%w: %s: must be a URL like http://localhost:4318", ErrConfig, variable)
	}
	scheme := strings.ToLower(u.Scheme)
	web := scheme == "http" || scheme == "https"
	switch {
	case web && u.Host == "":
		return "", fmt.Errorf("%w: %s %q: must name a host", ErrConfig, variable, redacted(value))
	case web && p == ProtocolGRPC:
		return scheme + "://" + u.Host, nil
	case web:
		if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			u.Path = path.Join("/", u.Path, s.path)
		} else if u.Path == "" { // which the SDK's options take for the usual one
			u.Path = "/"
		}
		return u.String(), nil
	case p == ProtocolGRPC && (scheme == "unix" || scheme == "dns" || scheme == "passthrough"):
		return u.String(), nil
	default:
		return "", fmt.Errorf("%w: %s %q: must begin with http:// or https://", ErrConfig, variable, redacted(value))
	}
}

// defaultEndpoint is the specification's, without TLS unless another variable asks for it.
func defaultEndpoint(s signal, p Protocol) string {
	scheme := "http"
	for _, suffix := range []string{"INSECURE", "CERTIFICATE", "CLIENT_CERTIFICATE"} {
		_, value := lookup("OTEL_EXPORTER_OTLP_"+s.upper+"_"+suffix, "OTEL_EXPORTER_OTLP_"+suffix)
		if value != "" && !strings.EqualFold(value, "true") {
			scheme = "https"
		}
	}
	if p == ProtocolGRPC {
		return scheme + "://localhost:4317"
	}
	return scheme + "://localhost:4318/" + s.path
}

// lookup returns the first variable that is set, and its value.
func lookup(names ...string) (name, value string) {
	for _, n := range names {
		if v := strings.TrimSpace(os.Getenv(n)); v != "" {
			return n, v
		}
	}
	return names[0], ""
}
