package viewer

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/otelprof/otelprof/spans"
)

// A source that panics while an agent asks, or while the page is put into one file, is reported
// once, and no answer has what it said.
func TestPanickingSourceBehindOthers(t *testing.T) {
	reports := 0
	old := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { reports++ }))
	defer otel.SetErrorHandler(old)
	h, err := NewHandler(Sources{Regions: func() []spans.RegionStats { panic("broken") }, Store: fakeStore{}}, WithHosts("viewer.test"))
	if err != nil {
		t.Fatal(err)
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"explain","arguments":{"region":"a"}}}`
	a := ask(t, h, "POST", "/mcp", call)
	if a.code != 200 || !strings.Contains(a.body, `"isError":true`) || !strings.Contains(a.body, "a source panicked") || strings.Contains(a.body, "broken") {
		t.Errorf("explain: %d %s, want an error without the panic's text", a.code, a.body)
	}
	if got := errorOf(t, ask(t, h, "GET", "/page.html", ""), 500); !strings.Contains(got, "a source panicked") || strings.Contains(got, "broken") {
		t.Errorf("page.html: %q, want an error without the panic's text", got)
	}
	checkEqual(t, "reports", reports, 1)
}

// What JSON cannot hold is named.
func TestAnswerWithoutJSON(t *testing.T) {
	w := httptest.NewRecorder()
	writeJSON(w, 200, []float64{math.NaN()})
	if w.Code != 500 || !strings.Contains(w.Body.String(), "unsupported value: NaN") {
		t.Errorf("NaN: %d %s, want 500 and the value", w.Code, w.Body)
	}
}
