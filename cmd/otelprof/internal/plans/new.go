package plans

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

var planNewCommand = &command.Command{
	Name:  "new",
	Short: "Print a plan to start from",
	Long: `
The plan is valid for an hour from now and says what each key means. Its generation is the clock's,
so that it is above that of any plan made so before. By default it examines the four regions that
take most time themselves, and counts the spans of an HTTP server as work done.
`,
	Run: func(c *command.Call) error {
		p := NewPlan{Mode: string(profile.ModeSlowdown)}
		c.Var(&p.Regions, "region", "`pattern` of a span to examine, as in 'SELECT *'; may be repeated")
		c.IntVar(&p.Auto, "auto", 0, "`number` of regions to examine besides, those with the most self time")
		c.Var(&p.Progress, "progress", "`pattern` of a span that counts as work done; may be repeated")
		c.Var(&p.Latency, "latency", "`pattern` of a span whose latency counts; may be repeated")
		c.StringVar(&p.Mode, "mode", p.Mode, "`mode`: slowdown, overlap or dilation")
		c.StringVar(&p.Service, "service", "", "`name` of the only service that it is for")
		c.StringVar(&p.Env, "env", "", "`name` of the only environment that it is for")
		c.Float64Var(&p.Percent, "percent", 0, "`part` of the instances that it is for, in percent; by default all")
		c.StringVar(&p.ID, "id", "", "`id` of the plan; by default one with the time")
		c.StringVar(&p.Author, "author", "", "`who` asks for it, for the audit")
		c.StringVar(&p.Reason, "reason", "", "`why`, for the audit")
		lasts := c.Duration("for", plan.MaxLife, "`time` until it ends")
		out := c.String("o", "-", "`file` to write, - for standard output")
		if err := c.ParseArgs(0, 0); err != nil {
			return err
		}
		document, err := p.Document(time.Now(), *lasts)
		if err != nil {
			return err
		}
		return c.OutputTo(*out, func(w io.Writer) error {
			_, err := w.Write(document)
			return err
		})
	},
}

type NewPlan struct {
	ID, Author, Reason, Mode string
	Generation               int64
	IssuedAt, ExpiresAt      string
	Service, Env             string
	Percent                  float64
	Regions                  command.List
	Auto                     int
	Progress, Latency        command.List
}

func (p NewPlan) Document(now time.Time, lasts time.Duration) ([]byte, error) {
	if p.ID == "" {
		p.ID = now.UTC().Format("plan-20060102-150405")
	}
	p.Generation = now.Unix()
	p.IssuedAt = now.UTC().Format(time.RFC3339)
	p.ExpiresAt = now.Add(lasts).UTC().Format(time.RFC3339)
	if len(p.Regions) == 0 && p.Auto == 0 {
		p.Auto = 4
	}
	if len(p.Progress) == 0 && len(p.Latency) == 0 {
		p.Progress = command.List{"* /*"}
	}
	var b strings.Builder
	if err := planTemplate.Execute(&b, p); err != nil {
		return nil, err
	}
	document := []byte(b.String())
	if _, err := plan.Parse(document); err != nil {
		return nil, fmt.Errorf("plan new: %w", withoutLines(err))
	}
	return document, nil
}

// withoutLines leaves out the lines of a document that is not shown.
func withoutLines(err error) error {
	errs, ok := errors.AsType[plan.Errors](err)
	if !ok {
		return err
	}
	for i := range errs {
		errs[i].Line = 0
	}
	return errs
}

// planTemplate quotes texts as JSON does, which YAML reads.
var planTemplate = template.Must(template.New("").Funcs(template.FuncMap{"quote": func(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}}).Parse(`# A plan of causal experiments; docs/plans.md has every key.
api: causal/v1
id: {{quote .ID}}  # after an abort only a plan with another id runs
generation: {{.Generation}}  # must rise from plan to plan; this is the clock's
{{- if .Author}}
author: {{quote .Author}}
{{- else}}
# author: who asks for it, for the audit
{{- end}}
{{- if .Reason}}
reason: {{quote .Reason}}
{{- else}}
# reason: why, for the audit
{{- end}}
issued_at: {{.IssuedAt}}
# restart: true  # begin it again in a process that is younger than it is
expires_at: {{.ExpiresAt}}  # at most an hour ahead
{{- if or .Service .Env .Percent}}
target:  # which processes; the rest leave it alone
{{- if .Service}}
  service: {{quote .Service}}
{{- end}}
{{- if .Env}}
  env: {{quote .Env}}
{{- end}}
{{- if .Percent}}
  instances: {percent: {{.Percent}}}
{{- end}}
{{- else}}
# target: {service: checkout, env: production, instances: {percent: 5}}  # without it, all processes
{{- end}}
mode: {{.Mode}}  # slowdown holds callers of a region, overlap delays all others, dilation stretches all spans
regions:  # what to examine: * stands for any characters, ? for one
{{- range .Regions}}
  - span: {{quote .}}
{{- end}}
{{- if .Auto}}
  - auto: {{.Auto}}  # so many more, those with the most self time
{{- end}}
progress:  # what counts as work done: each end of such a span
{{- range .Progress}}
  - {span: {{quote .}}, type: throughput}
{{- end}}
{{- range .Latency}}
  - {span: {{quote .}}, type: latency}
{{- end}}
grid: {speedups: [0, 10, 25, 50], zero_weight: 0.4}{{- if eq .Mode "slowdown"}}
timing: {warmup: 2s, experiment: 400ms, cooloff: 50ms, min_progress: 20, max_experiment: 60s}
{{- else}}
timing: {warmup: 2s, experiment: 2s, cooloff: 200ms, min_progress: 5, max_experiment: 60s}
{{- end}}
limits:  # what it may cost in each process; its own caps count too
  per_span: 5ms
  per_trace: 25ms
  duty: 5%  # of the processors' time
  total: 60s
abort:  # for good, when requests get that much worse
  p99_ratio: 1.2
  err_delta: 0.5%
  window: 10s
  min_samples: 200
`))
