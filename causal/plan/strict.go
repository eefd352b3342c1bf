package plan

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/otelprof/otelprof/causal/internal/validate"
	"github.com/otelprof/otelprof/internal/naming"
)

// decodeStrict reads one YAML or JSON document into the struct that out points to, by its
// yaml tags. It knows no leniency: unknown and repeated keys, values of another type, empty
// values, anchors, aliases, custom tags and further documents are errors, each of which
// names its line, its key and what is allowed. Keys that are missing leave out as it is. It
// returns the document as well.
func decodeStrict(r io.Reader, out any) (*yaml.Node, Errors) {
	dec := yaml.NewDecoder(r)
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, Errors{{Text: "the document is empty"}}
	case err != nil:
		return nil, Errors{syntaxError(err)}
	}
	var next yaml.Node
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, Errors{{Text: "there must be one document only"}}
	}
	s := strict{}
	s.value("", doc.Content[0], reflect.ValueOf(out).Elem())
	return doc.Content[0], s.errs
}

type strict struct{ errs Errors }

// maxItems bounds the time that a list takes which no key allows anyway.
const maxItems = 1000

func (s *strict) fail(key string, n *yaml.Node, format string, args ...any) {
	switch {
	case len(s.errs) < validate.MaxErrors:
		text := fmt.Sprintf("%s: %s", cmp.Or(key, "the document"), fmt.Sprintf(format, args...))
		s.errs = append(s.errs, Error{Line: n.Line, Field: key, Text: text})
	case len(s.errs) == validate.MaxErrors:
		s.errs = append(s.errs, Error{Line: n.Line, Text: "more errors, from here on, are not listed"})
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

// describe returns what is wrong with a text in terms of the document, not of Go.
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
	percents := map[string]bool{}
	var known []string
	for i := range out.NumField() {
		if name := out.Type().Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = out.Field(i)
			percents[name] = out.Type().Field(i).Tag.Get("unit") == "percent"
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
			s.unknown(path, k, known)
			continue
		}
		if line, ok := first[k.Value]; ok {
			s.fail(path, k, "repeated key: it is on line %d already", line)
			continue
		}
		first[k.Value] = k.Line
		if percents[k.Value] {
			v = withoutSigns(v)
		}
		s.value(path, v, field)
	}
}

func (s *strict) unknown(path string, k *yaml.Node, known []string) {
	meant := ""
	if len(s.errs) < validate.MaxErrors { // beyond, nothing is listed
		meant = cmp.Or(naming.Suggest(k.Value, known), ": must be one of "+strings.Join(known, ", "))
	}
	s.fail(path, k, "unknown key%s", meant)
}

// withoutSigns returns a number in percent, or a list of such numbers, without the percent signs
// that it may have: 25% is 25.
func withoutSigns(n *yaml.Node) *yaml.Node {
	plain := *n
	switch {
	case n.Kind == yaml.SequenceNode:
		plain.Content = slices.Clone(n.Content)
		for i, item := range plain.Content {
			if item.Kind == yaml.ScalarNode {
				plain.Content[i] = withoutSigns(item)
			}
		}
	case n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0:
		number, found := strings.CutSuffix(strings.TrimSpace(n.Value), "%")
		if _, err := strconv.ParseFloat(strings.TrimSpace(number), 64); found && err == nil {
			plain.Value, plain.Tag, plain.Style = strings.TrimSpace(number), "", 0
		}
	}
	return &plain
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
	case out.Kind() == reflect.Bool:
		kind, tags = "true or false", []string{"!!bool"}
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
