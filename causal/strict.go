package causal

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decodeStrict reads one YAML or JSON document into the struct that out points to, by its
// yaml tags. It knows no leniency: unknown and repeated keys, values of another type, empty
// values, anchors, aliases, custom tags and further documents are errors, each of which
// names its line, its key and what is allowed. Keys that are missing leave out as it is.
func decodeStrict(r io.Reader, out any) error {
	dec := yaml.NewDecoder(r)
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: the document is empty", ErrPlan)
	case err != nil:
		return fmt.Errorf("%w: %s", ErrPlan, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var next yaml.Node
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: there must be one document only", ErrPlan)
	}
	s := strict{}
	s.value("", doc.Content[0], reflect.ValueOf(out).Elem())
	return errors.Join(s.errs...)
}

type strict struct{ errs []error }

const (
	// maxErrors bounds what is said about one document.
	maxErrors = 20
	// maxItems bounds the time that a list takes which no key allows anyway.
	maxItems = 1000
)

func (s *strict) fail(key string, n *yaml.Node, format string, args ...any) {
	if key == "" {
		key = "the document"
	}
	switch {
	case len(s.errs) < maxErrors:
		s.errs = append(s.errs, fmt.Errorf("%w: line %d: %s: %s", ErrPlan, n.Line, key, fmt.Sprintf(format, args...)))
	case len(s.errs) == maxErrors:
		s.errs = append(s.errs, fmt.Errorf("%w: line %d and below: more errors are not listed", ErrPlan, n.Line))
	}
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

func (s *strict) value(key string, n *yaml.Node, out reflect.Value) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		s.fail(key, n, "anchors and aliases are not allowed")
	case n.Style&yaml.TaggedStyle != 0:
		s.fail(key, n, "tag %s is not allowed", n.Tag)
	case n.ShortTag() == "!!null":
		s.fail(key, n, "must not be empty")
	case out.Addr().Type().Implements(textUnmarshaler):
		if s.scalar(key, n, "a single value", "!!str", "!!timestamp", "!!int", "!!float") {
			if err := out.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil {
				s.fail(key, n, "%s", describe(out, n.Value, err))
			}
		}
	case out.Kind() == reflect.Struct:
		s.mapping(key, n, out)
	case out.Kind() == reflect.Slice:
		s.sequence(key, n, out)
	case out.Kind() == reflect.String:
		if s.scalar(key, n, "a text; put it in quotes", "!!str") {
			out.SetString(n.Value)
		}
	default:
		s.number(key, n, out)
	}
}

// describe says what is wrong with a text in terms of the document, not of Go.
func describe(out reflect.Value, text string, err error) string {
	if out.Type().String() == "time.Time" {
		return fmt.Sprintf("time %q: must be like 2026-01-31T18:00:00Z", text)
	}
	return err.Error()
}

func (s *strict) scalar(key string, n *yaml.Node, want string, tags ...string) bool {
	if n.Kind != yaml.ScalarNode {
		s.fail(key, n, "must be %s", want)
		return false
	}
	if !slices.Contains(tags, n.ShortTag()) {
		s.fail(key, n, "%s: must be %s", n.Value, want)
		return false
	}
	return true
}

func (s *strict) mapping(key string, n *yaml.Node, out reflect.Value) {
	if n.Kind != yaml.MappingNode {
		s.fail(key, n, "must be a mapping of keys to values")
		return
	}
	fields := map[string]reflect.Value{}
	var known []string
	for i := range out.NumField() {
		if name := out.Type().Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = out.Field(i)
			known = append(known, name)
		}
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		path := strings.TrimPrefix(key+"."+k.Value, ".")
		if k.Kind != yaml.ScalarNode || k.Anchor != "" {
			s.fail(key, k, "keys must be plain words")
			continue
		}
		field, ok := fields[k.Value]
		if !ok {
			s.fail(path, k, "unknown key: must be one of %s", strings.Join(known, ", "))
			continue
		}
		if line, ok := first[k.Value]; ok {
			s.fail(path, k, "repeated key: it is on line %d already", line)
			continue
		}
		first[k.Value] = k.Line
		s.value(path, v, field)
	}
}

func (s *strict) sequence(key string, n *yaml.Node, out reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		s.fail(key, n, "must be a list")
		return
	}
	if len(n.Content) > maxItems {
		s.fail(key, n, "must have at most %d entries, not %d", maxItems, len(n.Content))
		return
	}
	list := reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		s.value(fmt.Sprintf("%s[%d]", key, i), item, list.Index(i))
	}
	out.Set(list)
}

func (s *strict) number(key string, n *yaml.Node, out reflect.Value) {
	kind, tags := "a whole number", []string{"!!int"}
	switch {
	case out.CanUint():
		kind = "a whole number, zero or above"
	case out.CanFloat():
		kind, tags = "a number", []string{"!!int", "!!float"}
	}
	if !s.scalar(key, n, kind, tags...) {
		return
	}
	if err := n.Decode(out.Addr().Interface()); err != nil {
		s.fail(key, n, "%s: must be %s in range", n.Value, kind)
		return
	}
	if out.CanFloat() && (math.IsNaN(out.Float()) || math.IsInf(out.Float(), 0)) {
		s.fail(key, n, "%s: must be a finite number", n.Value)
	}
}
