package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// transport is what the environment sets for the way to an endpoint.
type transport struct {
	headers map[string]string
	timeout time.Duration
	gzip    bool
	// query is the endpoint's, which the SDK's exporters leave out.
	query string
	// plain is set where neither endpoint nor variables ask for TLS.
	plain bool
	tls   *tls.Config
}

// maxTimeout keeps a timeout in a time.Duration.
const maxTimeout = 24 * time.Hour

// transportFromEnv can be used even if there is an error, which names each variable that was not
// understood, and what was made of it. Errors do not repeat what may be a secret.
func transportFromEnv(s signal, endpoint string) (transport, error) {
	t := transport{timeout: 10 * time.Second, headers: map[string]string{}}
	read := func(suffix string) (variable, value string) {
		return lookup("OTEL_EXPORTER_OTLP_"+s.upper+"_"+suffix, "OTEL_EXPORTER_OTLP_"+suffix)
	}
	var errs []error
	if variable, value := read("TIMEOUT"); value != "" {
		switch ms, err := strconv.ParseInt(value, 10, 64); {
		case err != nil || ms < 0 || ms > maxTimeout.Milliseconds():
			errs = append(errs, fmt.Errorf("%w: %s %q: must be in [0, %d] milliseconds, %s is taken", ErrConfig, variable, value, maxTimeout.Milliseconds(), t.timeout))
		case ms == 0: // no limit, to all of OpenTelemetry's SDKs
			t.timeout = maxTimeout
		default:
			t.timeout = time.Duration(ms) * time.Millisecond
		}
	}
	switch variable, value := read("COMPRESSION"); strings.ToLower(value) {
	case "", "none":
	case "gzip":
		t.gzip = true
	default:
		errs = append(errs, fmt.Errorf("%w: %s %q: must be gzip or none, the latter is taken", ErrConfig, variable, value))
	}
	variable, value := read("HEADERS")
	errs = append(errs, parseHeaders(t.headers, variable, value))
	authorize(t.headers, endpoint)
	if u, err := url.Parse(endpoint); err == nil {
		t.query = u.RawQuery
	}
	_, insecure := read("INSECURE")
	scheme, _, _ := strings.Cut(endpoint, ":")
	t.plain = scheme == "http" || scheme == "unix" || scheme != "https" && strings.EqualFold(insecure, "true")
	var err error
	t.tls, err = tlsFromEnv(read)
	return t, errors.Join(append(errs, err)...)
}

// parseHeaders reads key=value pairs between commas, in the encoding of URLs, and leaves out what
// is no such pair.
func parseHeaders(headers map[string]string, variable, list string) error {
	var errs []error
	for i, pair := range strings.Split(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value) {
			errs = append(errs, fmt.Errorf("%w: %s: header %d: must be key=value, encoded as in a URL, left out", ErrConfig, variable, i+1))
			continue
		}
		headers[key] = value
	}
	return errors.Join(errs...)
}

// authorize makes a header of the name and the password in an endpoint, which the SDK's exporters
// leave out, unless there is one.
func authorize(headers map[string]string, endpoint string) {
	u, err := url.Parse(endpoint)
	if err != nil || u.User == nil {
		return
	}
	const header = "Authorization"
	for key := range headers {
		if strings.EqualFold(key, header) {
			return
		}
	}
	password, _ := u.User.Password()
	headers[header] = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
}

// tlsFromEnv leaves out a file that cannot be used: the handshake then fails where the other side
// insists.
func tlsFromEnv(read func(suffix string) (variable, value string)) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var errs []error
	if variable, file := read("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		roots := x509.NewCertPool()
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%w: %s: %w, the system's certificates are taken", ErrConfig, variable, err))
		case !roots.AppendCertsFromPEM(pem):
			errs = append(errs, fmt.Errorf("%w: %s %q: must be a file with certificates in PEM, the system's are taken", ErrConfig, variable, file))
		default:
			c.RootCAs = roots
		}
	}
	certVariable, cert := read("CLIENT_CERTIFICATE")
	keyVariable, key := read("CLIENT_KEY")
	switch {
	case cert == "" && key == "":
	case cert == "":
		errs = append(errs, fmt.Errorf("%w: %s: must have a CLIENT_CERTIFICATE beside it, left out", ErrConfig, keyVariable))
	case key == "":
		errs = append(errs, fmt.Errorf("%w: %s: must have a CLIENT_KEY beside it, left out", ErrConfig, certVariable))
	default:
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s, %s: %w, left out", ErrConfig, certVariable, keyVariable, err))
			break
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, errors.Join(errs...)
}
