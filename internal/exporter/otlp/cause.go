package otlp

import (
	"context"
	"errors"
	"net"
	"os"
	"reflect"
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelprof/otelprof/internal/asynclog"
)

// unreachable is the one cause for everything that means that the endpoint does not answer. A
// dead endpoint shows as refused, timed out or unavailable in turn, as the connection's
// back-off goes, and is to be logged once.
const unreachable = "unreachable"

var httpStatus = regexp.MustCompile(`: (\d{3}) `)

// cause groups the errors of the SDK's exporters.
func cause(err error) string {
	if _, ok := rejected(err); ok {
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
	// The HTTP exporters give the status only in the text; a body that follows may differ
	// from one answer to the next.
	if m := httpStatus.FindStringSubmatch(err.Error()); m != nil {
		return "status " + m[1]
	}
	return asynclog.CauseOf(err.Error()) // an expired certificate's has the time
}

// refused reports whether an error is about what was exported: too large, or not to be encoded or
// understood.
func refused(err error) bool {
	if s, ok := status.FromError(err); ok {
		_, later := retryDelay(err)
		switch s.Code() {
		case codes.InvalidArgument, codes.OutOfRange:
			return true
		case codes.ResourceExhausted: // a quota, where it says when to try again
			return !later
		}
	}
	if m := httpStatus.FindStringSubmatch(err.Error()); m != nil {
		return m[1] == "400" || m[1] == "413" || m[1] == "422"
	}
	return strings.Contains(err.Error(), "invalid UTF-8") || strings.Contains(err.Error(), "request body too large")
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

// rejected finds the answer "partial success" in err. The SDK's exporters make an error of
// it, of a type that is exported by their internal packages only: a struct with the fields
// RejectedItems and RejectedKind.
func rejected(err error) (items int, ok bool) {
	if err == nil {
		return 0, false
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Struct {
		n, kind := v.FieldByName("RejectedItems"), v.FieldByName("RejectedKind")
		if n.IsValid() && n.CanInt() && kind.IsValid() {
			return int(n.Int()), true
		}
	}
	switch e := err.(type) { //nolint:errorlint // this is the walk that errors.As would do
	case interface{ Unwrap() error }:
		return rejected(e.Unwrap())
	case interface{ Unwrap() []error }:
		// Joined with a failure, the export has failed.
		for i, inner := range e.Unwrap() {
			n, part := rejected(inner)
			if !part {
				return 0, false
			}
			if i == 0 {
				items, ok = n, true
			}
		}
		return items, ok
	}
	return 0, false
}
