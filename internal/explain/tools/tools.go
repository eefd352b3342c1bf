package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/otelprof/otelprof/internal/http/mcp"
	"github.com/otelprof/otelprof/internal/naming"
)

// Instructions are what an agent reads before it calls a tool.
const Instructions = `otelprof measures a Go service by its OpenTelemetry spans. A region is all spans of one name. ` +
	`Begin with rank: it says which region would help most if it were faster, with a 95 % interval, which is another question than where time goes. ` +
	`Then explain that region: what it waits for, who holds that, its slowest requests. Effects are parts of the time for each unit of work. ` +
	`An interval that includes 0 is no effect that is known; say so rather than guess.`

// New returns the tools. With writes, what changes something in the program is among them.
func New(api API, writes bool) []mcp.Tool {
	all := []mcp.Tool{
		tool("rank", "What would help most: regions by how much the program would gain if each were faster, with 95 % intervals, from recordings and experiments.",
			`{"progress":{"type":"string","description":"span whose end is a unit of work; by default the busiest"}}`, nil,
			func(ctx context.Context, a rankArguments) (string, error) { return Rank(ctx, api, a.Progress) }),
		tool("explain", "Why a region is slow: latency, what its spans wait for and who ends that (which lock, held by whom), counters, its slowest requests.",
			`{"region":{"type":"string","description":"name of a span"},"scope":{"type":"string","description":"of its tracer, where regions of several have that name"}}`, []string{"region"},
			func(ctx context.Context, a explainArguments) (string, error) {
				return Explain(ctx, api, a.Region, a.Scope)
			}),
		tool("whatif", "What would be if one region were faster by 10 to 95 %: throughput and latency of each unit of work, with intervals, by each way of measuring.",
			`{"region":{"type":"string","description":"name of a span"}}`, []string{"region"},
			func(ctx context.Context, a regionArguments) (string, error) { return WhatIf(ctx, api, a.Region) }),
		tool("session", "What one request did: the tree of its spans with self times and waits. Without an id the slowest with that region.",
			`{"id":{"type":"string","description":"of a session or a trace, 32 hexadecimal digits"},"region":{"type":"string","description":"name of a span"}}`, nil,
			func(ctx context.Context, a sessionArguments) (string, error) {
				return Session(ctx, api, a.ID, a.Region)
			}),
		tool("compare", "How each region does now against before: rate, mean and errors in the next seconds, beside those since the start.",
			`{"seconds":{"type":"integer","minimum":1,"maximum":20,"description":"by default 5"}}`, nil,
			func(ctx context.Context, a compareArguments) (string, error) { return Compare(ctx, api, a.Seconds) }),
		tool("plan_check", "What a plan of experiments would do here, and cost at most. It starts nothing.",
			`{"plan":{"type":"string","description":"the document, YAML or JSON"}}`, []string{"plan"},
			func(ctx context.Context, a planArguments) (string, error) { return PlanCheck(ctx, api, a.Plan) }),
		tool("verify", "What was foretold of the versions before this one, beside what came.", `{}`, nil,
			func(ctx context.Context, _ struct{}) (string, error) { return Verify(ctx, api) }),
	}
	if writes {
		write := tool("experiment", "Measure in the running program what regions are worth, by holding their callers for a tenth of their time now and then, within the program's caps. Or stop that.",
			`{"regions":{"type":"array","items":{"type":"string"},"maxItems":3,"description":"names of spans; by default what matters most"},`+
				`"progress":{"type":"string","description":"span whose end is a unit of work; by default the busiest"},`+
				`"minutes":{"type":"number","minimum":0.5,"maximum":30,"description":"until it ends by itself; by default 5"},`+
				`"duty_percent":{"type":"number","description":"the most delay in parts of the processors' time; by default 5, or the program's cap"},`+
				`"reason":{"type":"string","description":"why, for the audit"},"stop":{"type":"boolean","description":"end the experiment that is in force"}}`, nil,
			func(ctx context.Context, a experimentArguments) (string, error) { return experiment(ctx, api, a) })
		write.Writes = true
		all = append(all, write)
	}
	return all
}

type (
	rankArguments    struct{ Progress string }
	explainArguments struct{ Region, Scope string }
	regionArguments  struct{ Region string }
	sessionArguments struct{ ID, Region string }
	compareArguments struct{ Seconds int }
	planArguments    struct{ Plan string }
)

// tool makes a tool of a function with typed arguments.
func tool[A any](name, description, properties string, required []string, call func(context.Context, A) (string, error)) mcp.Tool {
	schema := struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required,omitempty"`
		Additional bool            `json:"additionalProperties"`
	}{"object", json.RawMessage(properties), required, false}
	input, err := json.Marshal(schema)
	if err != nil { // of what stands above
		panic(err)
	}
	answer := func(ctx context.Context, text json.RawMessage) (string, error) {
		var a A
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&a); err != nil {
			return "", fmt.Errorf("arguments of %s: %w; they are %s", name, err, properties)
		}
		return call(ctx, a)
	}
	return mcp.Tool{Name: name, Description: description, Input: input, Call: func(ctx context.Context, text json.RawMessage) (string, error) {
		out, err := answer(ctx, text)
		if err != nil { // it may repeat what was asked, and that may be long
			err = errors.New(naming.Cut(err.Error(), mostBytes-reserve))
		}
		return out, err
	}}
}
