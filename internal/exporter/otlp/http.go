package otlp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// newHTTPClient returns the client of one exporter, the same for all signals.
func newHTTPClient(t transport) *http.Client {
	return &http.Client{Timeout: t.timeout, Transport: answers{t.query, &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: t.tls, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second,
	}}}
}

// answers makes errors of answers that are not of OTLP, which the SDK's exporters would take for a
// delivery: a redirect, which is not followed, since headers, which may have a key, are for the
// endpoint alone; and a page. By the specification an answer has the type of its request. Many
// endpoints send none, which is taken, too. Requests without a query get one.
type answers struct {
	query string
	*http.Transport
}

// notOTLP is an error that no further try cures.
type notOTLP string

func (n notOTLP) Error() string { return string(n) }

func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.query != "" && request.URL.RawQuery == "" {
		request = request.Clone(request.Context())
		request.URL.RawQuery = a.query
	}
	response, err := a.Transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode / 100 {
	case 2:
		err = checkAnswer(response, request.Header.Get("Content-Type"))
	case 3:
		to := "nowhere"
		if u, err := response.Location(); err == nil {
			to = u.Scheme + "://" + u.Host // what follows may have a secret
		}
		err = notOTLP(fmt.Sprintf("answer: %s to %s: redirects are not followed: must the endpoint be there?", response.Status, to))
	}
	if err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// checkAnswer wants an answer of a type, if any, without parameters from then on: the SDK's
// exporters know none.
func checkAnswer(r *http.Response, want string) error {
	body := bufio.NewReaderSize(r.Body, 16) // its least
	if _, err := body.Peek(1); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	header := r.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(header); err != nil || kind != want {
		return notOTLP(fmt.Sprintf("answer: %s with Content-Type %.64q: must be empty or %s: is the URL that of an OTLP endpoint?", r.Status, header, want))
	}
	r.Header.Set("Content-Type", want)
	return nil
}
