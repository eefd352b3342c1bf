package plan

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// yamlOf returns a JSON document as YAML, line by line the same. All of JSON is YAML but for
// what stands between quotes: YAML knows neither \/ nor surrogate pairs, and some characters
// only escaped. What is not JSON is returned as it is.
func yamlOf(document []byte) []byte {
	if !json.Valid(document) || !utf8.Valid(document) {
		return document
	}
	out := make([]byte, 0, len(document))
	for i := 0; i < len(document); i++ {
		switch document[i] {
		case '"':
			end := i + 1
			for ; document[end] != '"'; end++ {
				if document[end] == '\\' {
					end++
				}
			}
			out = appendYAML(out, document[i:end+1])
			i = end
		case '\t': // indents in JSON, not in YAML
			out = append(out, ' ')
		default:
			out = append(out, document[i])
		}
	}
	return out
}

// appendYAML appends a JSON string, quotes included, in YAML's double quotes.
func appendYAML(out, quoted []byte) []byte {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return append(out, quoted...)
	}
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ' || r > '~':
			out = fmt.Appendf(out, `\U%08X`, r)
		default:
			out = append(out, byte(r))
		}
	}
	return append(out, '"')
}
