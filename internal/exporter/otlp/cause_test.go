package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A certificate that has expired says the time in its error, and is one cause all the same.
func TestExpiredCertificateIsSaidOnce(t *testing.T) {
	var l testutil.Log
	m := newMonitor("traces", "spans", Pipeline{Endpoint: "https://collector:4318"}, l.Logger())
	for i := range 200 {
		now := time.Date(2026, 11, 22, 2, 0, 5*i, 0, time.UTC).Format(time.RFC3339)
		m.Observe(t.Context(), 1, &url.Error{Op: "Post", URL: "https://collector:4318/v1/traces", Err: &tls.CertificateVerificationError{
			Err: x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time " + now + " is after 2026-11-01T00:00:00Z"},
		}})
	}
	l.Await(1)
	time.Sleep(50 * time.Millisecond) // for a second one
	if lines := l.Lines(); len(lines) != 1 {
		t.Errorf("%d lines said, want one: %q", len(lines), lines)
	}
}

// Of an answer that asks for another try the SDK gives the body, and not the status. A body with
// the name of the request is no other cause, and one that speaks of a status refuses no item.
func TestBodyIsNoCause(t *testing.T) {
	unavailable := func(body string) error {
		return fmt.Errorf("traces export: max retry time would elapse: retry-able request failure: body: %s", body)
	}
	one, another := unavailable("request ab: upstream answered: 400 Bad Request"), unavailable("request cd")
	if cause(one) != cause(another) {
		t.Errorf("causes %q and %q, want one", cause(one), cause(another))
	}
	if refused(one) {
		t.Errorf("refused(%v) = true, want false: the export is to be tried later", one)
	}
}
