package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// profiles is the signal as of version v1development: an alpha, which may change.
var profiles = signal{"PROFILES", "v1development/profiles"}

// ProfilesFromEnv is [FromEnv] for profiles. Their protocol is an alpha and most endpoints do not know
// it, so an endpoint alone does not enable them: OTEL_PROFILES_EXPORTER must be "otlp". All else is
// like for the other signals, OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT included.
func ProfilesFromEnv() (Pipeline, error) {
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") ||
		strings.TrimSpace(os.Getenv("OTEL_PROFILES_EXPORTER")) == "" {
		return Pipeline{}, nil
	}
	return pipelineFromEnv(profiles)
}

// transport is what the environment says about the way to an endpoint. The SDK's exporters read the
// same variables for the other signals.
type transport struct {
	headers map[string]string
	timeout time.Duration
	gzip    bool
	// plain is set where neither endpoint nor variables ask for TLS.
	plain bool
	tls   *tls.Config
}

// maxTimeout keeps a timeout in a time.Duration.
const maxTimeout = 24 * time.Hour

func transportFromEnv(s signal, endpoint string) (transport, error) {
	t := transport{timeout: 10 * time.Second, headers: map[string]string{}}
	read := func(suffix string) (variable, value string) {
		return lookup("OTEL_EXPORTER_OTLP_"+s.upper+"_"+suffix, "OTEL_EXPORTER_OTLP_"+suffix)
	}
	var errs []error
	if variable, value := read("TIMEOUT"); value != "" {
		ms, err := strconv.ParseInt(value, 10, 64)
		if err != nil || ms < 1 || ms > maxTimeout.Milliseconds() {
			errs = append(errs, fmt.Errorf("%w: %s %q: must be in [1, %d] milliseconds", ErrConfig, variable, value, maxTimeout.Milliseconds()))
		}
		t.timeout = time.Duration(ms) * time.Millisecond
	}
	switch variable, value := read("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		t.gzip = true
	default:
		errs = append(errs, fmt.Errorf("%w: %s %q: must be gzip or none", ErrConfig, variable, value))
	}
	variable, value := read("HEADERS")
	errs = append(errs, parseHeaders(t.headers, variable, value))
	_, insecure := read("INSECURE")
	scheme, _, _ := strings.Cut(endpoint, ":")
	t.plain = scheme == "http" || scheme != "https" && strings.EqualFold(insecure, "true")
	var err error
	t.tls, err = tlsFromEnv(read)
	return t, errors.Join(append(errs, err)...)
}

// parseHeaders reads key=value pairs between commas, in the encoding of URLs. Errors do not repeat what
// may be a secret.
func parseHeaders(headers map[string]string, variable, list string) error {
	if list == "" {
		return nil
	}
	for i, pair := range strings.Split(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil {
			return fmt.Errorf("%w: %s: header %d: must be key=value, encoded as in a URL", ErrConfig, variable, i+1)
		}
		headers[key] = value
	}
	return nil
}

func tlsFromEnv(read func(suffix string) (variable, value string)) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if variable, file := read("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrConfig, variable, err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: %s %q: must be a file with certificates in PEM", ErrConfig, variable, file)
		}
	}
	certVariable, cert := read("CLIENT_CERTIFICATE")
	keyVariable, key := read("CLIENT_KEY")
	switch {
	case cert == "" && key == "":
	case cert == "" || key == "":
		return nil, fmt.Errorf("%w: %s and %s: both must be set, or neither", ErrConfig, certVariable, keyVariable)
	default:
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%w: %s, %s: %w", ErrConfig, certVariable, keyVariable, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
