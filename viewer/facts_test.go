package viewer

import (
	"regexp"
	"strings"
	"testing"
)

// sentences are the fields of the API's answers that hold text for people.
var sentences = []string{
	"text", "reason", "message", "last_error", "error", "notes", "warnings", "rejected", "refused", "cost", "experiment", "source", "status_text", "withheld",
}

// The page shows sentences and never takes them apart, so that a reworded one breaks nothing: no
// module applies a regular expression, a method of strings or a comparison to them. Codes and words
// like a verdict's are facts.
func TestModulesTakeNoSentencesApart(t *testing.T) {
	field := `\.(?:` + strings.Join(sentences, "|") + `)\b`
	methods := `(?:match|matchAll|replace|replaceAll|search|split|startsWith|endsWith|includes|indexOf|slice|substring|charAt)\(`
	apart := regexp.MustCompile(field + `\)?\??\.` + methods + // x.reason?.split(
		`|/[gimsuy]*\.(?:test|exec)\([^()]*` + field + // /…/.test(x.reason
		`|` + field + `\s*[!=]==?\s*["'` + "`" + `][^"'` + "`" + `]` + // x.reason === "…
		`|\.(?:notes|warnings)\s*(?:\?\?\s*\[\]\))?\.(?:filter|find|some|every)\(`) // (x.notes ?? []).filter(
	for text, want := range map[string]bool{
		`e.withheld.replace(/ x$/, "")`: true, `if (/measured/.test(p.withheld))`: true, `status.source?.startsWith("file ")`: true, `p.reason === "by hand"`: true,
		`(profile.notes ?? []).filter((n) => n)`: true, `c.text?.split(":")`: true, `span.status === "Error"`: false, `tooFew.includes(p.withheld?.code)`: false,
		`curve.verdict === "helps"`: false, `text.value.split("x")`: false, `group(p.warnings.map((w) => w))`: false, `p.refused === ""`: false, `setText(el, e.reason)`: false,
	} {
		if got := apart.MatchString(text); got != want {
			t.Errorf("%s takes a sentence apart: %t, want %t", text, got, want)
		}
	}
	files, err := assets.ReadDir("assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		body, err := assets.ReadFile("assets/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(body), "\n") {
			if strings.HasSuffix(f.Name(), ".mjs") && apart.MatchString(line) {
				t.Errorf("%s:%d takes a sentence of the API apart: %s", f.Name(), i+1, strings.TrimSpace(line))
			}
		}
	}
}
