package otlp

import (
	"context"
	"errors"
	"net"
	"os"
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelprof/otelprof/internal/asynclog"
	"github.com/otelprof/otelprof/internal/exporter/delivery"
)

// unreachable is the one cause for everything that means that the endpoint does not answer. A
// dead endpoint shows as refused, timed out or unavailable in turn, as the connection's
// back-off goes, and is to be logged once.
const unreachable = "unreachable"

var httpStatus = regexp.MustCompile(`: (\d{3}) `)

// cause groups the errors of the SDK's exporters.
func cause(err error) string {
	if _, ok := delivery.Rejected(err); ok {
		return "refused in part"
	}
	var netErr net.Error // a timeout, *net.OpError, *net.DNSError, *url.Error
	if errors.As(err, &netErr) && !answered(err) {
		return unreachable
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return unreachable
	}
	if s, ok := status.FromError(err); ok {
		if s.Code() == codes.Unavailable || s.Code() == codes.DeadlineExceeded {
			return unreachable
		}
		return s.Code().String()
	}
	if code := statusOf(err); code != "" {
		return "status " + code
	}
	return asynclog.CauseOf(withoutBody(err)) // an expired certificate's has the time
}

// statusOf is the status of an answer, which the HTTP exporters give only in the text. It is ""
// where they give none, as of 503.
func statusOf(err error) string {
	if m := httpStatus.FindStringSubmatch(withoutBody(err)); m != nil {
		return m[1]
	}
	return ""
}

// withoutBody is the text of an error without the body of the answer, which may have any text, and
// another one in each answer.
func withoutBody(err error) string {
	text, _, _ := strings.Cut(err.Error(), bodyMark)
	return text
}

// refused reports whether an error is about what was exported: too large, or not to be encoded or
// understood.
func refused(err error) bool {
	if s, ok := status.FromError(err); ok {
		_, later := retryDelay(err)
		switch s.Code() {
		case codes.InvalidArgument, codes.OutOfRange:
			return true
		case codes.ResourceExhausted: // a quota, where it has a time to try again
			return !later
		}
	}
	if code := statusOf(err); code != "" {
		return code == "400" || code == "413" || code == "422"
	}
	return delivery.Refused(err)
}

// answered reports whether the server answers, though not as it should: an
// alert or a certificate of TLS, a broken response.
func answered(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op == "remote error" || op.Op == "local error"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return false
	}
	// Every *url.Error is a net.Error, whichever error it wraps.
	var netErr net.Error
	return errors.As(err, &netErr) && !netErr.Timeout()
}
