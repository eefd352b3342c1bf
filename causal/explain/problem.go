package explain

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/otelprof/otelprof/causal"
)

// A Problem is one reason why a document is not a plan.
type Problem struct {
	// Line is where it is, from 1 on; 0 if that is not known.
	Line int `json:"line"`
	// Field is the key that it is about, as in "limits.duty" or "regions[0].span"; "" for the whole.
	Field string `json:"field"`
	// Text names the field, the value and the constraint.
	Text string `json:"text"`
}

var (
	onLine  = regexp.MustCompile(`^line (\d+): `)
	ofField = regexp.MustCompile(`^[a-z]\w*(?:\.\w+|\[\d+\])*`)
)

// Problems takes the error of [causal.ParsePlan] apart, in its order. Where that names no line, the one on
// which the field stands is looked up in the document.
func Problems(document []byte, err error) []Problem {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Problem
		for _, e := range joined.Unwrap() {
			all = append(all, Problems(document, e)...)
		}
		return all
	}
	p := Problem{Text: strings.TrimPrefix(err.Error(), causal.ErrPlan.Error()+": ")}
	if m := onLine.FindStringSubmatch(p.Text); m != nil {
		p.Line, _ = strconv.Atoi(m[1]) // they are digits
		p.Text = p.Text[len(m[0]):]
	}
	p.Field = fieldOf(p.Text)
	if p.Line == 0 && p.Field != "" {
		p.Line = lineOf(document, p.Field)
	}
	return []Problem{p}
}

// fieldOf returns the field that a text begins with, "" if that is an ordinary word.
func fieldOf(text string) string {
	field := ofField.FindString(text)
	if strings.HasPrefix(text[len(field):], ":") {
		return field // a key, known or not
	}
	top, _, _ := strings.Cut(field, ".")
	top, _, _ = strings.Cut(top, "[")
	for key := range reflect.TypeFor[causal.Plan]().Fields() {
		if top != "" && key.Tag.Get("yaml") == top {
			return field
		}
	}
	return ""
}

func isDelimiter(r rune) bool { return strings.ContainsRune(".[]", r) }

// lineOf returns the line of a field, or of the innermost key around it that the document has, 0 for none.
func lineOf(document []byte, field string) (line int) {
	var doc yaml.Node
	if yaml.Unmarshal(document, &doc) != nil || len(doc.Content) == 0 {
		return 0
	}
	n := doc.Content[0]
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
			return line
		}
		n = found
	}
	return line
}
