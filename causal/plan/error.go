package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/otelprof/otelprof/causal/internal/validate"
)

// ErrInvalid is what every [Error] wraps.
var ErrInvalid = errors.New("causal: plan")

// An Error is one reason why a document is not a plan.
type Error struct {
	// Line is the line of the document, from 1 on; 0 where that is not known, as for a key that is
	// missing.
	Line int `json:"line"`
	// Field is the key, as in "limits.duty" or "regions[0].span"; "" for the whole document.
	Field string `json:"field"`
	// Text names the field, the value and the constraint.
	Text string `json:"text"`
}

// Error returns the text behind the line, if that is known.
func (e Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%v: line %d: %s", ErrInvalid, e.Line, e.Text)
	}
	return fmt.Sprintf("%v: %s", ErrInvalid, e.Text)
}

// Unwrap returns [ErrInvalid].
func (e Error) Unwrap() error { return ErrInvalid }

// Errors are all reasons why a document is not a plan, in the order of its keys. errors.As finds
// them in the error of [Parse] and of [Plan.Validate], and in what wraps those.
type Errors []Error

// Error returns one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each [Error].
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

func errorsOf(v *validate.Errors) (errs Errors) {
	for _, x := range v.All() {
		errs = append(errs, Error{Field: x.Field, Text: x.Error()})
	}
	return errs
}

// on returns the errors with the lines on which their fields stand in a document.
func (e Errors) on(root *yaml.Node) Errors {
	e = slices.Clone(e)
	for i := range e {
		e[i].Line, _ = lineOf(root, e[i].Field)
	}
	return e
}

// with adds what is wrong with the values of a document that could be read in part, but for keys
// that e has something on, or that are missing: they may be misspelt.
func (e Errors) with(values Errors, root *yaml.Node) Errors {
	if root == nil {
		return e
	}
	for _, v := range values.on(root) {
		if _, there := lineOf(root, v.Field); there && len(e) < validate.MaxErrors && !slices.ContainsFunc(e, func(read Error) bool {
			return within(v.Field, read.Field) || within(read.Field, v.Field)
		}) {
			e = append(e, v)
		}
	}
	slices.SortStableFunc(e, func(a, b Error) int { return cmp.Compare(a.Line, b.Line) })
	return e
}

// within reports whether a field is another, or stands in it: limits.duty does in limits, and
// abort.p99_ratio not in abort.p99.
func within(field, other string) bool {
	rest, found := strings.CutPrefix(field, other)
	return found && (other == "" || rest == "" || isDelimiter(rune(rest[0])))
}

func isDelimiter(r rune) bool { return strings.ContainsRune(".[]", r) }

// lineOf returns the line of a field, or of the innermost key around it that the document has, 0
// for none, and whether the field itself is there.
func lineOf(n *yaml.Node, field string) (line int, there bool) {
	for part := range strings.FieldsFuncSeq(field, isDelimiter) {
		var found *yaml.Node
		switch i, err := strconv.Atoi(part); {
		case n.Kind == yaml.SequenceNode && err == nil && i < len(n.Content):
			found = n.Content[i]
			line = found.Line
		case n.Kind == yaml.MappingNode:
			for k := 0; k+1 < len(n.Content); k += 2 {
				if n.Content[k].Value == part {
					line, found = n.Content[k].Line, n.Content[k+1]
				}
			}
		}
		if found == nil {
			return line, false
		}
		n = found
	}
	return line, true
}

// syntaxError is an error of the YAML parser, which has the line in its text only.
func syntaxError(err error) Error {
	e := Error{Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	if n, _ := fmt.Sscanf(e.Text, "line %d:", &e.Line); n == 1 {
		_, e.Text, _ = strings.Cut(e.Text, ": ")
	}
	return e
}
