// Package plantest makes plan documents for tests.
package plantest

import (
	"slices"
	"strings"
	"time"
)

// Document returns a valid plan document of mode dilation that expires in half an hour, with these
// lines in place of those for the same keys. A line "-key" takes the key out.
func Document(lines ...string) []byte {
	doc := []string{
		"api: causal/v1",
		"id: plan-1",
		"expires_at: " + time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339),
		"mode: dilation",
		`regions: [{span: "*"}]`,
		"progress: [{span: root, type: throughput}]",
	}
	for _, line := range lines {
		key, _, _ := strings.Cut(line, ":")
		remove := strings.HasPrefix(key, "-")
		key = strings.TrimPrefix(key, "-")
		i := slices.IndexFunc(doc, func(l string) bool { return strings.HasPrefix(l, key+":") })
		switch {
		case i >= 0 && remove:
			doc = slices.Delete(doc, i, i+1)
		case i >= 0:
			doc[i] = line
		default:
			doc = append(doc, line)
		}
	}
	return []byte(strings.Join(doc, "\n") + "\n")
}
