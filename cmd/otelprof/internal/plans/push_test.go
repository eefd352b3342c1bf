package plans

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestBumped(t *testing.T) {
	now := time.Now()
	rest := fmt.Sprintf("id: x\nexpires_at: %s\nregions: [{auto: 1}]\nprogress: [{span: a, type: throughput}]\n", now.Add(time.Minute).UTC().Format(time.RFC3339))
	asJSON := fmt.Sprintf(`{"api": "causal/v1", "id": "x",
  "generation": 7,
  "expires_at": %q, "regions": [{"auto": 1}], "progress": [{"span": "a", "type": "throughput"}]}`, now.Add(time.Minute).UTC().Format(time.RFC3339))
	for name, tt := range map[string]struct {
		document string
		last     uint64
		want     uint64 // 0 for an error
	}{
		"above the last":       {"api: causal/v1\ngeneration: 7  # seven\n" + rest, 8, uint64(now.Unix())},
		"above the clock":      {"api: causal/v1\ngeneration: 7\n" + rest, 1 << 40, 1<<40 + 1},
		"none":                 {"api: causal/v1\n" + rest, 0, uint64(now.Unix())},
		"JSON":                 {asJSON, 0, uint64(now.Unix())},
		"JSON on one line":     {strings.ReplaceAll(asJSON, "\n", ""), 0, 0},
		"none, after a marker": {"---\napi: causal/v1\n" + rest, 0, 0},
	} {
		document, plan, err := bumped([]byte(tt.document), tt.last, now)
		if tt.want == 0 {
			if err == nil || !strings.Contains(err.Error(), "must be on a line of its own") {
				t.Errorf("%s: bumped = %s, %v; want an error", name, document, err)
			}
			continue
		}
		if err != nil || plan.Generation != tt.want || generationOf(document) != tt.want {
			t.Errorf("%s: bumped = %s, %v; want generation %d", name, document, err, tt.want)
		}
		if strings.Contains(tt.document, "# seven") && !strings.Contains(string(document), "# seven") {
			t.Errorf("%s: the comment is gone: %s", name, document)
		}
	}
}
