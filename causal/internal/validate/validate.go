// Package validate collects what is wrong with a document: each error names the key, the value and
// the constraint.
package validate

import (
	"errors"
	"fmt"
	"reflect"
	"time"
)

// MaxErrors bounds what is listed about one document.
const MaxErrors = 20

// An Error is one violation.
type Error struct {
	// Field is the key.
	Field string
	text  string
}

// Error returns "key value: constraint".
func (e Error) Error() string { return e.text }

// Errors are the violations found so far. The zero value is an empty list.
type Errors struct{ all []Error }

// That adds an error about the value of a key unless ok. A value of nil is not named.
func (e *Errors) That(ok bool, key string, value any, constraint string, args ...any) {
	if ok {
		return
	}
	text := key
	switch _, writes := value.(fmt.Stringer); {
	case value == nil:
	case !writes && reflect.TypeOf(value).Kind() == reflect.String:
		text += fmt.Sprintf(" %q", value)
	default:
		text += fmt.Sprintf(" %v", value)
	}
	e.all = append(e.all, Error{key, text + ": " + fmt.Sprintf(constraint, args...)})
}

// In adds an error unless d is in [lo, hi].
func (e *Errors) In(key string, d, lo, hi time.Duration) {
	e.That(d >= lo && d <= hi, key, d, "must be in [%v, %v]", lo, hi)
}

// Full reports whether there are as many errors as are worth listing.
func (e *Errors) Full() bool { return len(e.all) >= MaxErrors }

// Any reports whether there is an error.
func (e *Errors) Any() bool { return len(e.all) > 0 }

// All returns the violations in their order.
func (e *Errors) All() []Error { return e.all }

// Err joins the violations as errors that wrap one; nil if there are none.
func (e *Errors) Err(wrapped error) error {
	var all []error
	for _, x := range e.all {
		all = append(all, fmt.Errorf("%w: %w", wrapped, x))
	}
	return errors.Join(all...)
}
