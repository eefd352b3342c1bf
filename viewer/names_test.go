package viewer

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/otelprof/otelprof/spans"
)

// TestRegionsOfAnyName asks for regions by names that no path can have, also below a prefix.
func TestRegionsOfAnyName(t *testing.T) {
	h := testHandler(t, nil)
	for _, name := range []string{"", "/", ".", "..", "//", "/a/", "a/../b", "%2F", "%", "a?b#c", "a+b &c=d", "GET /caf\xe9", "\xff\xfe", "{name}"} {
		h.regions = func() []spans.RegionStats { return []spans.RegionStats{{Name: name}} }
		for _, asked := range []string{name, string([]rune(name))} { // as it is, and as JSON has it
			path := "/api/v1/regions/distribution?" + url.Values{"name": {asked}, "scope": {""}}.Encode()
			for what, served := range map[string]http.Handler{"": h, "/debug/otelprof": http.StripPrefix("/debug/otelprof", h)} {
				got := decode[distributionJSON](t, ask(t, served, "GET", what+path, ""), 200)
				checkEqual(t, "name", got.Name, string([]rune(name)))
			}
		}
	}
}
