// Package planhttp is how a server of plans is reached: from the process that plans are for, by
// causal/remote and causal/remote/opamp, and from the command that pushes them. Package
// causal/remote has the options.
package planhttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/internal/http/own"
)

// maxHeaderBytes bounds what a server may send before its answer's body.
const maxHeaderBytes = 64 << 10

// An Endpoint is a server of plans and how it is reached. Any goroutine may call its methods.
type Endpoint struct {
	config Config
	url    *url.URL
	client *http.Client
}

// New returns the server at an absolute URL whose scheme is one of schemes. It is not
// asked yet. An error joins all that is wrong and wraps [ErrConfig].
func New(rawURL string, schemes []string, opts ...Option) (*Endpoint, error) {
	c := Config{Interval: DefaultInterval}
	var errs []error
	for _, o := range opts {
		if o != nil {
			errs = append(errs, o.ApplyEndpoint(&c))
		}
	}
	u, err := parseURL(rawURL, schemes, c.WithoutTLS)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = min(c.Interval, 10*time.Second)
	}
	e := &Endpoint{config: c, url: u}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // a poll now and then gains nothing from HTTP/2, which buffers megabytes
	e.client = &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            e.Dial,
			TLSClientConfig:        c.TLS,
			TLSHandshakeTimeout:    c.Timeout,
			Protocols:              protocols,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConns:           1,
			IdleConnTimeout:        90 * time.Second,
		},
		CheckRedirect: e.redirect,
	}
	return e, nil
}

func parseURL(rawURL string, schemes []string, withoutTLS bool) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The text of a url.Error has the URL, and that may have a password.
		return nil, fmt.Errorf("%w: URL: %w", ErrConfig, withoutURL(err))
	}
	shown := shownURL(u)
	switch {
	case !slices.Contains(schemes, u.Scheme):
		return nil, fmt.Errorf("%w: URL %q: scheme must be one of %s", ErrConfig, shown, strings.Join(schemes, ", "))
	case u.Hostname() == "":
		return nil, fmt.Errorf("%w: URL %q: must have a host", ErrConfig, shown)
	case u.User != nil:
		return nil, fmt.Errorf("%w: URL %q: must not have a user name; a token is given with WithToken", ErrConfig, shown)
	case (u.Scheme == "http" || u.Scheme == "ws") && !withoutTLS && !Loopback(u.Hostname()):
		return nil, fmt.Errorf("%w: URL %q: scheme must be %ss unless the host is loopback, or WithoutTLS is used", ErrConfig, shown, u.Scheme)
	}
	return u, nil
}

// Loopback reports whether a host is this machine, by its name or address.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// shownURL leaves out what may be secret.
func shownURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func withoutURL(err error) error {
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// redirect follows a server only within itself: a token is not for others.
func (e *Endpoint) redirect(r *http.Request, via []*http.Request) error {
	if r.URL.Scheme != e.url.Scheme || r.URL.Host != e.url.Host {
		return fmt.Errorf("redirect to %s: must be the same scheme and host", shownURL(r.URL))
	}
	if len(via) > 3 {
		return errors.New("more than 3 redirects")
	}
	return nil
}

// String returns the URL without its query, which may be secret.
func (e *Endpoint) String() string { return shownURL(e.url) }

// URL returns the URL as it was given.
func (e *Endpoint) URL() *url.URL { return e.url }

// Interval returns the longest time between two polls, a tenth above the one set.
func (e *Endpoint) Interval() time.Duration { return e.config.Interval + e.config.Interval/10 }

// Timeout returns how long a request may take.
func (e *Endpoint) Timeout() time.Duration { return e.config.Timeout }

// Resource names this process, nil if nothing does.
func (e *Endpoint) Resource() *resource.Resource { return e.config.Resource }

// TLS returns how servers are trusted, nil for the default.
func (e *Endpoint) TLS() *tls.Config { return e.config.TLS }

// Dial connects to an address, by [Config.Dial] if that is set.
func (e *Endpoint) Dial(ctx context.Context, network, address string) (_ net.Conn, err error) {
	defer recovered("dial", &err) // the transport calls it on a goroutine of its own
	// The transport lets a dial go on when the request's time is over.
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	if e.config.Dial != nil {
		return e.config.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// Header returns what every request has: this process's identity, and the current token.
func (e *Endpoint) Header(ctx context.Context) (http.Header, error) {
	h := e.config.identity()
	h.Set("Accept-Encoding", "identity")
	if e.config.Token == nil {
		return h, nil
	}
	token, err := e.config.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	// The error must not contain the token itself.
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("token of %d characters: must have at least 1, and printable ASCII only", len(token))
	}
	h.Set("Authorization", "Bearer "+token)
	return h, nil
}

// An Answer is what a server has answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request and reads at most limit bytes and one of the answer's body: a longer
// one is larger than limit. It takes as long as [Endpoint.Timeout] at most.
func (e *Endpoint) Do(ctx context.Context, method string, header http.Header, body []byte, limit int64) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	ours, err := e.Header(ctx)
	if err != nil {
		return Answer{}, err
	}
	request, err := http.NewRequestWithContext(own.Context(ctx), method, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, withoutURL(err)
	}
	request.Header = ours
	maps.Copy(request.Header, header)
	response, err := e.client.Do(request)
	if err != nil {
		return Answer{}, withoutURL(err)
	}
	// What is left of a long body is not read: Close ends the connection.
	defer func() { _ = response.Body.Close() }()
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return Answer{}, fmt.Errorf("Content-Encoding %.32q: must be identity, as was asked for", encoding)
	}
	a := Answer{Status: response.StatusCode, Header: response.Header}
	if a.Body, err = io.ReadAll(io.LimitReader(response.Body, limit+1)); err != nil {
		return Answer{}, fmt.Errorf("body: %w", withoutURL(err))
	}
	return a, nil
}

// Close closes the connection that is kept for the next request.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }

// maxRetryAfter bounds how long a server may defer the next poll.
const maxRetryAfter = 5 * time.Minute

// Wait returns how long to wait from one poll to the next: the interval and up to a tenth
// more or less, so that a fleet does not ask in step, or what the server has asked for, zero for
// nothing, up to five minutes, and up to a tenth more.
func (e *Endpoint) Wait(asked time.Duration) time.Duration {
	asked = min(asked, maxRetryAfter)
	return max(jitter(e.config.Interval), asked+time.Duration(rand.Float64()*0.1*float64(asked)))
}

func jitter(d time.Duration) time.Duration {
	return time.Duration((0.9 + 0.2*rand.Float64()) * float64(d))
}

// RetryAfter returns what the header of that name in an error asks for, a number of seconds or
// a date, as a time from now; zero if there is none.
func (a Answer) RetryAfter() time.Duration {
	text := a.Header.Get("Retry-After")
	if a.Status < 400 || text == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(time.Until(date), 0)
}
