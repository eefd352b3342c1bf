package delivery

import (
	"reflect"
	"strings"
)

// Refused reports whether the error of an SDK's exporter is about what was exported: not to be
// encoded, or too large. It is for [Config.Refused].
func Refused(err error) bool {
	return strings.Contains(err.Error(), "invalid UTF-8") || strings.Contains(err.Error(), "request body too large")
}

// Rejected finds the answer "partial success" in err. The SDK's exporters make an error of
// it, of a type that is exported by their internal packages only: a struct with the fields
// RejectedItems and RejectedKind.
func Rejected(err error) (items int, ok bool) {
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
		return Rejected(e.Unwrap())
	case interface{ Unwrap() []error }:
		// Joined with a failure, the export has failed.
		for i, inner := range e.Unwrap() {
			n, part := Rejected(inner)
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
