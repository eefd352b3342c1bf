package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/plantest"
)

// Each error has its line and its field as facts, and a text that names the field, the value and
// the constraint.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		document []byte
		want     Errors
	}{
		{plantest.Document("limits:", "  per_span: 5ms", "  duty: 150%"), Errors{{9, "limits.duty", "limits.duty 150%: must be in (0%, 100%]"}}},
		{plantest.Document("grid: {speedups: [10, 99]}"), Errors{{7, "grid.speedups[1]", "grid.speedups[1] 99: must be a percentage in [0, 80]"}}},
		{plantest.Document("progress:", "  - {span: root,", "     type: speed}"), Errors{{8, "progress[0].type", `progress[0].type "speed": must be "throughput" or "latency"`}}},
		{plantest.Document("-id"), Errors{{0, "id", `id "": must have 1 to 128 characters`}}},
		{plantest.Document("seed: x", "timing: {warmup: soon}"), Errors{{7, "seed", "seed: x: must be a whole number"}, {8, "timing.warmup", `timing.warmup: duration "soon": must be like 200ms, 2s or 1m30s`}}},
		{[]byte("limits:\n\tduty: 5%\n"), Errors{{2, "", "found character that cannot start any token"}}},
		{nil, Errors{{0, "", "the document is empty"}}},
	} {
		_, err := Parse(tt.document)
		got, _ := errors.AsType[Errors](fmt.Errorf("a source: %w", err))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("errors of %q differ, -want +got:\n%s", tt.document, diff)
		}
		if first, ok := errors.AsType[Error](err); !ok || first != tt.want[0] || !errors.Is(err, ErrInvalid) {
			t.Errorf("%v is found as %+v, want %+v", err, first, tt.want[0])
		}
	}
}

// What is wrong beyond a bound is not listed, and not forgotten either.
func TestErrorsAreBounded(t *testing.T) {
	var document strings.Builder
	for i := range 100 {
		fmt.Fprintf(&document, "k%d: 1\n", i)
	}
	_, err := Parse([]byte(document.String()))
	errs, _ := errors.AsType[Errors](err)
	if n := len(errs); n != 21 || errs[n-1].Line != 21 || !strings.Contains(errs[n-1].Text, "not listed") {
		t.Errorf("%d errors, the last is %v", n, errs[max(0, n-1)])
	}
}

// For any document, there are errors or a plan, and the text of each error names its field.
func FuzzErrors(f *testing.F) {
	f.Add(string(plantest.Document("limits: {duty: 150%}")))
	f.Add("{")
	f.Add("regions: [1, {span: &a x}, *a]")
	f.Add("a.b[3]: x")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse([]byte(text))
		errs, _ := errors.AsType[Errors](err)
		if (err == nil) != (len(errs) == 0) {
			t.Fatalf("%d errors of %v", len(errs), err)
		}
		for _, e := range errs {
			if e.Line < 0 || e.Text == "" || !strings.Contains(e.Text, e.Field) {
				t.Errorf("%+v of %q", e, text)
			}
		}
	})
}
