package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	colprofilepb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/internal/http/own"
)

const (
	// The Collector requires the version of the alpha.
	profilesVersionHeader = "Otlp-Profiles-Development-Version"
	profilesVersion       = "1"

	protobufType = "application/x-protobuf"
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 1 << 20
)

// profileHTTP sends over HTTP.
type profileHTTP struct {
	client  *http.Client
	url     string
	headers map[string]string
	gzip    bool
}

func (h *profileHTTP) send(ctx context.Context, in *colprofilepb.ExportProfilesServiceRequest) (*colprofilepb.ExportProfilesServiceResponse, error) {
	body, err := proto.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if h.gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(body); err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		if err := z.Close(); err != nil {
			return nil, fmt.Errorf("compress: %w", err)
		}
		body = b.Bytes()
	}
	request, err := http.NewRequestWithContext(own.Context(ctx), http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", protobufType)
	request.Header.Set("User-Agent", "otelprof")
	request.Header.Set(profilesVersionHeader, profilesVersion)
	if h.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	for key, value := range h.headers {
		request.Header.Set(key, value)
	}
	response, err := h.client.Do(request)
	if errors.As(err, new(notOTLP)) {
		return nil, err
	}
	if err != nil {
		return nil, &retryable{err: err}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, &retryable{err: fmt.Errorf("answer: %w", err)}
	}
	return h.outcome(response, answer)
}

// outcome reads the answer as the protocol's section on failures has it.
func (h *profileHTTP) outcome(r *http.Response, answer []byte) (*colprofilepb.ExportProfilesServiceResponse, error) {
	if r.StatusCode/100 == 2 {
		out := &colprofilepb.ExportProfilesServiceResponse{}
		if err := proto.Unmarshal(answer, out); err != nil {
			return nil, fmt.Errorf("answer of %d bytes: must be an ExportProfilesServiceResponse: %w", len(answer), err)
		}
		return out, nil
	}
	err := fmt.Errorf("answer: %d %s: %s", r.StatusCode, http.StatusText(r.StatusCode), said(string(answer)))
	switch r.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, &retryable{err: err, after: retryAfter(r.Header.Get("Retry-After"), time.Now())}
	default:
		return nil, err
	}
}

// retryAfter is how long the other side asks to wait, in seconds or until a date; 0 if it does not.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxTimeout/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func (h *profileHTTP) close() error {
	h.client.CloseIdleConnections()
	return nil
}
