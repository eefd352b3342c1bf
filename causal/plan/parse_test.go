package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/plantest"
)

// bomb is nine levels of nine aliases each.
func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c <= 'i'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
	}
	return b.String()
}

// The clock of a bubble stands at 2000-01-01T00:00:00Z, so that errors which tell the time
// can be compared.
var refused = []struct {
	name, doc string
	lines     []string // of document, if doc is empty
	want      string   // without ErrInvalid's text; KEYS are those of a plan
}{
	{
		name: "unknown key", lines: []string{"region: x"},
		want: "line 7: region: unknown key: did you mean regions or reason?",
	},
	{
		name: "unknown key beside a wrong value", doc: "api: causal/v1\nid: a\nmode: sideways\nlimitz: {}\n",
		want: "line 3: mode \"sideways\": must be \"slowdown\", \"overlap\" or \"dilation\"\n" +
			"line 4: limitz: unknown key: did you mean limits or timing?",
	},
	{
		name: "wrong values of keys that begin alike", doc: "api: causal/v1\nid: a\nabort:\n  p99: soon\n  p99_ratio: 0\n",
		want: "line 4: abort.p99: duration \"soon\": must be like 200ms, 2s or 1m30s\n" +
			"line 5: abort.p99_ratio 0: must be in (1, 1000]",
	},
	{
		name: "unknown key in target", lines: []string{"target: {services: shop}"},
		want: "line 7: target.services: unknown key: did you mean service?",
	},
	{
		name: "unknown key in instances", lines: []string{"target: {instances: {count: 3}}"},
		want: "line 7: target.instances.count: unknown key: must be one of percent",
	},
	{
		name: "unknown key in regions", lines: []string{"regions: [{span: a}, {name: b}]"},
		want: "line 5: regions[1].name: unknown key: must be one of scope, span, auto",
	},
	{
		name: "unknown key in progress", lines: []string{"progress: [{span: root, kind: throughput}]"},
		want: "line 6: progress[0].kind: unknown key: must be one of span, type, quantiles",
	},
	{
		name: "unknown key in grid", lines: []string{"grid: {speedup: [10]}"},
		want: "line 7: grid.speedup: unknown key: did you mean speedups?",
	},
	{
		name: "unknown key in timing", lines: []string{"timing: {warm_up: 1s}"},
		want: "line 7: timing.warm_up: unknown key: did you mean warmup?",
	},
	{
		name: "unknown key in limits", lines: []string{"limits: {pre_span: 1ms}"},
		want: "line 7: limits.pre_span: unknown key: did you mean per_span?",
	},
	{
		name: "unknown key in abort", lines: []string{"abort: {p95: 1ms}"},
		want: "line 7: abort.p95: unknown key: did you mean p99?",
	},
	{
		name: "unknown key in another case", lines: []string{"API: causal/v1"},
		want: "line 7: API: unknown key: must be one of KEYS",
	},
	{
		name: "epoch in another mode", lines: []string{"regions: [{scope: s, span: a}]", "timing: {epoch: 2s}"},
		want: `line 7: timing.epoch 2s: must be given in mode "slowdown" only`,
	},
	{
		name: "short epoch", lines: []string{"mode: slowdown", "regions: [{scope: s, span: a}]", "timing: {epoch: 1s}"},
		want: "line 7: timing.epoch 1s: must be in [2s, 1m0s]",
	},
	{
		name: "epoch below zero", lines: []string{"mode: slowdown", "regions: [{scope: s, span: a}]", "timing: {epoch: -2s}"},
		want: "line 7: timing.epoch -2s: must be in [2s, 1m0s]",
	},
	{
		name: "patterns of regions by the clock", lines: []string{"mode: slowdown", "timing: {epoch: 2s}", `regions: [{scope: s, span: "a*"}, {span: b}]`},
		want: "line 5: regions[0] s:a*: must have a scope and a span without * and ?, in plans with timing.epoch: all processes must know the same regions\n" +
			"line 5: regions[1] b: must have a scope and a span without * and ?, in plans with timing.epoch: all processes must know the same regions",
	},
	{
		name: "repeated region by the clock", lines: []string{"mode: slowdown", "timing: {epoch: 2s}", "regions: [{scope: s, span: a}, {scope: s, span: b}, {scope: s, span: a}]"},
		want: "line 5: regions[2] s:a: must not be repeated in plans with timing.epoch",
	},
	{
		name: "watch without epoch", lines: []string{"target: {service: a, watch: [b]}"},
		want: "line 7: target.watch: must be given with timing.epoch only: other experiments are chosen by each process itself",
	},
	{
		name: "watch without service", lines: []string{"mode: slowdown", "regions: [{scope: s, span: a}]", "timing: {epoch: 2s}", "target: {watch: [b]}"},
		want: "line 8: target.service: must be given with target.watch: it is the service that delays",
	},
	{
		name: "repeated key", lines: []string{"seed: 1", `"seed": 2`},
		want: "line 8: seed: repeated key: it is on line 7 already",
	},
	{
		name: "repeated key in JSON", doc: `{"api": "causal/v1", "id": "a", "id": "b"}`,
		want: "line 1: id: repeated key: it is on line 1 already",
	},
	{
		name: "repeated key in limits", lines: []string{"limits: {duty: 5%, total: 1s, duty: 6%}"},
		want: "line 7: limits.duty: repeated key: it is on line 7 already",
	},
	{
		name: "number for text", lines: []string{"id: 7"},
		want: "line 2: id: 7: must be a text; put it in quotes",
	},
	{
		name: "truth for text", lines: []string{"author: true"},
		want: "line 7: author: true: must be a text; put it in quotes",
	},
	{
		name: "time for text", lines: []string{"id: 2026-01-01T00:00:00Z"},
		want: "line 2: id: 2026-01-01T00:00:00Z: must be a text; put it in quotes",
	},
	{
		name: "text for number", lines: []string{"seed: many"},
		want: "line 7: seed: many: must be a whole number",
	},
	{
		name: "quoted number for number", lines: []string{`generation: "7"`},
		want: "line 7: generation: 7: must be a whole number, zero or above",
	},
	{
		name: "fraction for whole number", lines: []string{"timing: {min_progress: 2.5}"},
		want: "line 7: timing.min_progress: 2.5: must be a whole number",
	},
	{
		name: "negative generation", lines: []string{"generation: -1"},
		want: "line 7: generation: -1: must be a whole number, zero or above in range",
	},
	{
		name: "huge generation", lines: []string{"generation: 18446744073709551616"},
		want: "line 7: generation: 18446744073709551616: must be a whole number, zero or above",
	},
	{
		name: "generation that none can exceed", lines: []string{"generation: 18446744073709551615"},
		want: "line 7: generation 18446744073709551615: must be at most 946688400000000000, the nanoseconds from 1970 to 1h0m0s ahead",
	},
	{
		name: "generation after the last one", lines: []string{"generation: 946688400000000001"},
		want: "line 7: generation 946688400000000001: must be at most 946688400000000000, the nanoseconds from 1970 to 1h0m0s ahead",
	},
	{
		name: "huge seed", lines: []string{"seed: 9223372036854775808"},
		want: "line 7: seed: 9223372036854775808: must be a whole number in range",
	},
	{
		name: "huge min_samples", lines: []string{"abort: {min_samples: 1e30}"},
		want: "line 7: abort.min_samples: 1e30: must be a whole number",
	},
	{
		name: "boolean for number", lines: []string{"grid: {zero_weight: true}"},
		want: "line 7: grid.zero_weight: true: must be a number",
	},
	{
		name: "boolean for duration", lines: []string{"timing: {warmup: true}"},
		want: "line 7: timing.warmup: true: must be a single value",
	},
	{
		name: "list for mapping", lines: []string{"limits: [1, 2]"},
		want: "line 7: limits: must be a mapping of keys to values",
	},
	{
		name: "text for mapping", lines: []string{"target: shop"},
		want: "line 7: target: must be a mapping of keys to values",
	},
	{
		name: "mapping for list", lines: []string{"regions: {span: a}"},
		want: "line 5: regions: must be a list",
	},
	{
		name: "text for list", lines: []string{"progress: root"},
		want: "line 6: progress: must be a list",
	},
	{
		name: "text in list", lines: []string{"progress: [root]"},
		want: "line 6: progress[0]: must be a mapping of keys to values",
	},
	{
		name: "mapping for text", lines: []string{"reason: {why: not}"},
		want: "line 7: reason: must be a text; put it in quotes",
	},
	{
		name: "list for duration", lines: []string{"timing: {warmup: [1s]}"},
		want: "line 7: timing.warmup: must be a single value",
	},
	{
		name: "null for text", lines: []string{"id:"},
		want: "line 2: id: must not be empty",
	},
	{
		name: "null for list", lines: []string{"regions: ~"},
		want: "line 5: regions: must not be empty",
	},
	{
		name: "null for mapping", lines: []string{"limits: null"},
		want: "line 7: limits: must not be empty",
	},
	{
		name: "null in list", lines: []string{"grid: {speedups: [10, null]}"},
		want: "line 7: grid.speedups[1]: must not be empty",
	},
	{
		name: "null for duration", lines: []string{"timing: {cooloff: }"},
		want: "line 7: timing.cooloff: must not be empty",
	},
	{
		name: "list as key", lines: []string{"grid: {[a]: 1}"},
		want: "line 7: grid: keys must be plain words",
	},
	{
		name: "NaN", lines: []string{"grid: {zero_weight: .nan}"},
		want: "line 7: grid.zero_weight: .nan: must be a finite number",
	},
	{
		name: "infinity", lines: []string{"abort: {p99_ratio: .inf}"},
		want: "line 7: abort.p99_ratio: .inf: must be a finite number",
	},
	{
		name: "minus infinity in list", lines: []string{"grid: {speedups: [0, -.inf]}"},
		want: "line 7: grid.speedups[1]: -.inf: must be a finite number",
	},
	{
		name: "out of float64", lines: []string{"abort: {p99_ratio: 1e999}"},
		want: "line 7: abort.p99_ratio: 1e999: must be a number",
	},
	{
		name: "percentage without sign", lines: []string{"limits: {duty: 5}"},
		want: `line 7: limits.duty: percentage "5": must be like 5%`,
	},
	{
		name: "percentage of text", lines: []string{"limits: {duty: some%}"},
		want: `line 7: limits.duty: percentage "some%": must be like 5%`,
	},
	{
		name: "percentage in quotes without number", lines: []string{`limits: {duty: "%"}`},
		want: `line 7: limits.duty: percentage "%": must be like 5%`,
	},
	{
		name: "NaN percent", lines: []string{"limits: {duty: NaN%}"},
		want: "line 7: limits.duty NaN%: must be in (0%, 100%]",
	},
	{
		name: "Inf percent", lines: []string{"abort: {err_delta: Inf%}"},
		want: "line 7: abort.err_delta +Inf%: must be in (0%, 100%]",
	},
	{
		name: "duration without unit", lines: []string{"limits: {per_span: 5}"},
		want: `line 7: limits.per_span: duration "5": must be like 200ms, 2s or 1m30s`,
	},
	{
		name: "duration with a space", lines: []string{"timing: {warmup: 2 s}"},
		want: `line 7: timing.warmup: duration "2 s": must be like 200ms, 2s or 1m30s`,
	},
	{
		name: "duration beyond int64", lines: []string{"timing: {warmup: 300000000h}"},
		want: `line 7: timing.warmup: duration "300000000h": must be like 200ms, 2s or 1m30s`,
	},
	{
		name: "day without time", lines: []string{"expires_at: 2000-01-01"},
		want: `line 3: expires_at: time "2000-01-01": must be like 2026-01-31T18:00:00Z`,
	},
	{
		name: "time without zone", lines: []string{"expires_at: 2000-01-01T00:10:00"},
		want: `line 3: expires_at: time "2000-01-01T00:10:00": must be like 2026-01-31T18:00:00Z`,
	},
	{
		name: "time in words", lines: []string{"not_before: tomorrow"},
		want: `line 7: not_before: time "tomorrow": must be like 2026-01-31T18:00:00Z`,
	},
	{
		name: "anchor", lines: []string{"seed: &n 3"},
		want: "line 7: seed: anchors and aliases are not allowed",
	},
	{
		name: "alias", lines: []string{"regions: [{span: &r a}, {span: *r}]"},
		want: "line 5: regions[0].span: anchors and aliases are not allowed\n" +
			"line 5: regions[1].span: anchors and aliases are not allowed",
	},
	{
		name: "merge key", lines: []string{"limits: {<<: {duty: 5%}}"},
		want: "line 7: limits.<<: unknown key: must be one of per_span, per_trace, duty, total",
	},
	{
		name: "merged alias", lines: []string{"target: &t {service: a}", "limits: {<<: *t}"},
		want: "line 7: target: anchors and aliases are not allowed\n" +
			"line 8: limits.<<: unknown key: must be one of per_span, per_trace, duty, total",
	},
	{
		name: "key with anchor", lines: []string{"limits: {&k duty: 5%}"},
		want: "line 7: limits: keys must be plain words",
	},
	{
		name: "alias of nothing", lines: []string{"limits: *none"},
		want: "unknown anchor 'none' referenced",
	},
	{
		name: "alias bomb", doc: bomb(),
		want: "line 1: a: unknown key: must be one of KEYS\n" +
			"line 2: b: unknown key: must be one of KEYS\n" +
			"line 3: c: unknown key: must be one of KEYS\n" +
			"line 4: d: unknown key: did you mean id?\n" +
			"line 5: e: unknown key: must be one of KEYS\n" +
			"line 6: f: unknown key: must be one of KEYS\n" +
			"line 7: g: unknown key: must be one of KEYS\n" +
			"line 8: h: unknown key: must be one of KEYS\n" +
			"line 9: i: unknown key: did you mean id?",
	},
	{
		name: "custom tag", lines: []string{"id: !id 7"},
		want: "line 2: id: tag !id is not allowed",
	},
	{
		name: "core tag", lines: []string{"id: !!str 7"},
		want: "line 2: id: tag !!str is not allowed",
	},
	{
		name: "tag on mapping", lines: []string{"limits: !limits {duty: 5%}"},
		want: "line 7: limits: tag !limits is not allowed",
	},
	{
		name: "tag on the document", doc: "!plan {api: causal/v1}",
		want: "line 1: the document: tag !plan is not allowed",
	},
	{
		name: "two documents", lines: []string{"---", ""},
		want: "there must be one document only",
	},
	{
		name: "second document broken", doc: string(plantest.Document()) + "---\n{",
		want: "there must be one document only",
	},
	{
		name: "empty document", doc: "\n",
		want: "the document is empty",
	},
	{
		name: "blank document", doc: " \n\n",
		want: "the document is empty",
	},
	{
		name: "comments only", doc: "# nothing\n# at all\n",
		want: "the document is empty",
	},
	{
		name: "marker only", doc: "---\n",
		want: "line 2: the document: must not be empty",
	},
	{
		name: "null document", doc: "null",
		want: "line 1: the document: must not be empty",
	},
	{
		name: "text document", doc: "hello",
		want: "line 1: the document: must be a mapping of keys to values",
	},
	{
		name: "list document", doc: "[1, 2]",
		want: "line 1: the document: must be a mapping of keys to values",
	},
	{
		name: "not UTF-8", doc: "id: \xff\xfe\xfd\n",
		want: "invalid leading UTF-8 octet",
	},
	{
		name: "control character", doc: "id: a\x00b\n",
		want: "control characters are not allowed",
	},
	{
		name: "tabs for indentation", doc: "limits:\n\tduty: 5%\n",
		want: "line 2: found character that cannot start any token",
	},
	{
		name: "unclosed", doc: `{"api": "causal/v1"`,
		want: "line 1: did not find expected ',' or '}'",
	},
	{
		name: "deeply nested lists", doc: strings.Repeat("[", 30000),
		want: "exceeded max depth of 10000",
	},
	{
		name: "deeply nested mappings", doc: strings.Repeat("{a: ", 15000),
		want: "exceeded max depth of 10000",
	},
	{
		name: "nested lists", doc: strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		want: "line 1: the document: must be a mapping of keys to values",
	},
	{
		name: "too large", doc: strings.Repeat("#", MaxBytes+1),
		want: "document of 65537 bytes: must be at most 65536",
	},
	{
		name: "nothing but a mapping", doc: "{}",
		want: `api "": must be "causal/v1"` + "\n" +
			`id "": must have 1 to 128 characters` + "\n" +
			"expires_at: must be given\n" +
			"regions: must have 1 to 64 entries, not 0\n" +
			"progress: must have 1 to 16 entries, not 0",
	},
	{
		name: "api missing", lines: []string{"-api"},
		want: `api "": must be "causal/v1"`,
	},
	{
		name: "another api", lines: []string{"api: causal/v2"},
		want: `line 1: api "causal/v2": must be "causal/v1"`,
	},
	{
		name: "id missing", lines: []string{"-id"},
		want: `id "": must have 1 to 128 characters`,
	},
	{
		name: "empty id", lines: []string{`id: ""`},
		want: `line 2: id "": must have 1 to 128 characters`,
	},
	{
		name: "long id", lines: []string{"id: " + strings.Repeat("i", 129)},
		want: `line 2: id "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii": must have 1 to 128 characters`,
	},
	{
		name: "long author", lines: []string{"author: " + strings.Repeat("a", 257)},
		want: "line 7: author: must have at most 256 characters",
	},
	{
		name: "long reason", lines: []string{"reason: " + strings.Repeat("r", 1025)},
		want: "line 7: reason: must have at most 1024 characters",
	},
	{
		name: "mode empty", lines: []string{`mode: ""`},
		want: `line 4: mode "": must be "slowdown", "overlap" or "dilation"`,
	},
	{
		name: "mode replay, which needs no plan", lines: []string{"mode: replay"},
		want: `line 4: mode "replay": must be "slowdown", "overlap" or "dilation"`,
	},
	{
		name: "expires_at missing", lines: []string{"-expires_at"},
		want: "expires_at: must be given",
	},
	{
		name: "expired", lines: []string{"expires_at: 1999-12-31T23:59:59Z"},
		want: "line 3: expires_at 1999-12-31T23:59:59Z: must be in the future (it is 2000-01-01T00:00:00Z)",
	},
	{
		name: "expires now", lines: []string{"expires_at: 2000-01-01T00:00:00Z"},
		want: "line 3: expires_at 2000-01-01T00:00:00Z: must be in the future (it is 2000-01-01T00:00:00Z)",
	},
	{
		name: "expires in more than an hour", lines: []string{"expires_at: 2000-01-01T01:00:01Z"},
		want: "line 3: expires_at 2000-01-01T01:00:01Z: must be at most 1h0m0s ahead (it is 2000-01-01T00:00:00Z)",
	},
	{
		name: "expires in an hour elsewhere", lines: []string{"expires_at: 2000-01-01T01:30:00-01:00"},
		want: "line 3: expires_at 2000-01-01T01:30:00-01:00: must be at most 1h0m0s ahead (it is 2000-01-01T00:00:00Z)",
	},
	{
		name: "not_before after the end", lines: []string{"expires_at: 2000-01-01T00:30:00Z", "not_before: 2000-01-01T00:30:00Z"},
		want: "line 7: not_before 2000-01-01T00:30:00Z: must be before expires_at",
	},
	{
		name: "no instances", lines: []string{"target: {instances: {percent: 0}}"},
		want: "line 7: target.instances.percent 0: must be in (0, 100]",
	},
	{
		name: "percent of instances", lines: []string{"target: {instances: {percent: 101}}"},
		want: "line 7: target.instances.percent 101: must be in (0, 100]",
	},
	{
		name: "negative percent of instances", lines: []string{"target: {instances: {percent: -1}}"},
		want: "line 7: target.instances.percent -1: must be in (0, 100]",
	},
	{
		name: "regions missing", lines: []string{"-regions"},
		want: "regions: must have 1 to 64 entries, not 0",
	},
	{
		name: "no regions", lines: []string{"regions: []"},
		want: "line 5: regions: must have 1 to 64 entries, not 0",
	},
	{
		name: "65 regions", lines: []string{"regions: [" + strings.Repeat("{span: a}, ", 65) + "]"},
		want: "line 5: regions: must have 1 to 64 entries, not 65",
	},
	{
		name: "region without span", lines: []string{"regions: [{scope: a}]"},
		want: "line 5: regions[0]: must have span, or auto",
	},
	{
		name: "region with span and auto", lines: []string{"regions: [{span: a, auto: 2}]"},
		want: "line 5: regions[0]: must not have both span and auto",
	},
	{
		name: "too many automatic regions", lines: []string{"regions: [{auto: 65}]"},
		want: "line 5: regions[0].auto 65: must be in [1, 64]",
	},
	{
		name: "less than no automatic region", lines: []string{"regions: [{auto: -1}]"},
		want: "line 5: regions[0].auto -1: must be in [1, 64]",
	},
	{
		name: "long region", lines: []string{"regions: [{span: " + strings.Repeat("s", 257) + "}]"},
		want: "line 5: regions[0]: patterns must have at most 256 characters",
	},
	{
		name: "progress missing", lines: []string{"-progress"},
		want: "progress: must have 1 to 16 entries, not 0",
	},
	{
		name: "17 progress points", lines: []string{"progress: [" + progressPoints(17) + "]"},
		want: "line 6: progress: must have 1 to 16 entries, not 17",
	},
	{
		name: "progress repeated", lines: []string{"mode: overlap", "progress: [{span: a, type: throughput}, {span: a, type: latency}, {span: a, type: latency, quantiles: [50]}]"},
		want: `line 6: progress[2]: span "a" with type "latency" must not be repeated`,
	},
	{
		name: "progress without span", lines: []string{"progress: [{type: throughput}]"},
		want: "line 6: progress[0].span: must have 1 to 256 characters",
	},
	{
		name: "progress without type", lines: []string{"progress: [{span: a}]"},
		want: `line 6: progress[0].type "": must be "throughput" or "latency"`,
	},
	{
		name: "latency in dilation", lines: []string{"progress: [{span: a, type: latency}]"},
		want: `line 6: progress[0].type "latency": must be "throughput" in mode "dilation"`,
	},
	{
		name: "quantiles of throughput", lines: []string{"progress: [{span: a, type: throughput, quantiles: [50]}]"},
		want: `line 6: progress[0].quantiles: must be given with type "latency" only`,
	},
	{
		name: "no quantiles", lines: []string{"mode: overlap", "progress: [{span: a, type: latency, quantiles: []}]"},
		want: "line 6: progress[0].quantiles: must have 1 to 8 entries, not 0",
	},
	{
		name: "quantiles out of range and repeated", lines: []string{"mode: overlap", "progress: [{span: a, type: latency, quantiles: [0.5, 100, 90, 90]}]"},
		want: "line 6: progress[0].quantiles[0] 0.5: must be a percentage in [1, 99.9]\n" +
			"line 6: progress[0].quantiles[1] 100: must be a percentage in [1, 99.9]\n" +
			"line 6: progress[0].quantiles[3] 90: must not be repeated",
	},
	{
		name: "speedup repeated", lines: []string{"grid: {speedups: [0, 10, 25, 10]}"},
		want: "line 7: grid.speedups[3] 10: must not be repeated",
	},
	{
		name: "speedup as a share", lines: []string{"grid: {speedups: [-0.1, 81]}"},
		want: "line 7: grid.speedups[0] -0.1: must be a percentage in [0, 80]\n" +
			"line 7: grid.speedups[1] 81: must be a percentage in [0, 80]",
	},
	{
		name: "no speedup above zero", lines: []string{"grid: {speedups: [0]}"},
		want: "line 7: grid.speedups: must have at least one entry above 0",
	},
	{
		name: "no speedups", lines: []string{"grid: {speedups: []}"},
		want: "line 7: grid.speedups: must have at least one entry above 0",
	},
	{
		name: "17 speedups", lines: []string{"grid: {speedups: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}"},
		want: "line 7: grid.speedups: must have at most 16 entries, not 17",
	},
	{
		name: "small zero_weight", lines: []string{"grid: {zero_weight: 0.09}"},
		want: "line 7: grid.zero_weight 0.09: must be in [0.1, 0.9]",
	},
	{
		name: "large zero_weight", lines: []string{"grid: {zero_weight: 0.91}"},
		want: "line 7: grid.zero_weight 0.91: must be in [0.1, 0.9]",
	},
	{
		name: "timing out of range", lines: []string{"timing: {warmup: -1s, experiment: 9ms, cooloff: 61s, max_experiment: 11m, min_progress: 0}"},
		want: "line 7: timing.warmup -1s: must be in [0s, 1m0s]\n" +
			"line 7: timing.experiment 9ms: must be in [10ms, 5m0s]\n" +
			"line 7: timing.cooloff 1m1s: must be in [0s, 1m0s]\n" +
			"line 7: timing.max_experiment 11m0s: must be in [9ms, 10m0s]\n" +
			"line 7: timing.min_progress 0: must be in [1, 1000000]",
	},
	{
		name: "max_experiment below experiment", lines: []string{"timing: {experiment: 3s, max_experiment: 2s}"},
		want: "line 7: timing.max_experiment 2s: must be in [3s, 10m0s]",
	},
	{
		name: "limits too small", lines: []string{"limits: {per_span: 0s, per_trace: 999ns, duty: 0%, total: -1s}"},
		want: "line 7: limits.per_span 0s: must be in [1\u00b5s, 1s]\n" +
			"line 7: limits.per_trace 999ns: must be in [1\u00b5s, 1m0s]\n" +
			"line 7: limits.duty 0%: must be in (0%, 100%]\n" +
			"line 7: limits.total -1s: must be in [1\u00b5s, 24h0m0s]",
	},
	{
		name: "limits too large", lines: []string{"limits: {per_span: 1001ms, per_trace: 61s, duty: 100.1%, total: 25h}"},
		want: "line 7: limits.per_span 1.001s: must be in [1\u00b5s, 1s]\n" +
			"line 7: limits.per_trace 1m1s: must be in [1\u00b5s, 1m0s]\n" +
			"line 7: limits.duty 100.1%: must be in (0%, 100%]\n" +
			"line 7: limits.total 25h0m0s: must be in [1\u00b5s, 24h0m0s]",
	},
	{
		name: "abort too small", lines: []string{"abort: {p99_ratio: 1, p99: -1ms, err_delta: 0%, window: 999ms, min_samples: 0}"},
		want: "line 7: abort.p99_ratio 1: must be in (1, 1000]\n" +
			"line 7: abort.p99 -1ms: must be in [0s, 1h0m0s]\n" +
			"line 7: abort.err_delta 0%: must be in (0%, 100%]\n" +
			"line 7: abort.window 999ms: must be in [1s, 10m0s]\n" +
			"line 7: abort.min_samples 0: must be in [1, 1000000]",
	},
	{
		name: "abort too large", lines: []string{"abort: {p99_ratio: 1001, p99: 61m, err_delta: 101%, window: 11m, min_samples: 1000001}"},
		want: "line 7: abort.p99_ratio 1001: must be in (1, 1000]\n" +
			"line 7: abort.p99 1h1m0s: must be in [0s, 1h0m0s]\n" +
			"line 7: abort.err_delta 101%: must be in (0%, 100%]\n" +
			"line 7: abort.window 11m0s: must be in [1s, 10m0s]\n" +
			"line 7: abort.min_samples 1000001: must be in [1, 1000000]",
	},
	{
		name: "several wrong keys and types", doc: `{"apy": 1, "id": 2, "regions": [{"span": "a", "scope": null}], "limits": {"duty": 5}}`,
		want: "line 1: apy: unknown key: did you mean api?\n" +
			"line 1: id: 2: must be a text; put it in quotes\n" +
			"line 1: regions[0].scope: must not be empty\n" +
			`line 1: limits.duty: percentage "5": must be like 5%`,
	},
	{
		name: "several wrong lines", doc: "api: causal/v1\nregions:\n  - spam: a\nseed: x\n",
		want: "line 3: regions[0].spam: unknown key: did you mean span?\n" +
			"line 4: seed: x: must be a whole number",
	},
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				doc := []byte(tt.doc)
				if tt.doc == "" {
					doc = plantest.Document(tt.lines...)
				}
				p, err := Parse(doc)
				if p != nil || !errors.Is(err, ErrInvalid) {
					t.Fatalf("Parse(%q) = %v, %v, want nil, ErrInvalid", doc, p, err)
				}
				tt.want = strings.ReplaceAll(tt.want, "KEYS", "api, id, generation, author, reason, issued_at, restart, force, not_before, expires_at, target, mode, regions, progress, grid, timing, seed, limits, abort")
				want := "causal: plan: " + strings.ReplaceAll(tt.want, "\n", "\ncausal: plan: ")
				if diff := cmp.Diff(want, err.Error()); diff != "" {
					t.Errorf("Parse(%.300q) error differs, -want +got:\n%s", doc, diff)
				}
			})
		})
	}
}
