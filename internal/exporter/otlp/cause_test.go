package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A certificate that has expired says the time in its error, and is one cause all the same.
func TestExpiredCertificateIsSaidOnce(t *testing.T) {
	var l testutil.Log
	m := newMonitor("traces", "spans", Pipeline{Endpoint: "https://collector:4318"}, config{logger: l.Logger()})
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
