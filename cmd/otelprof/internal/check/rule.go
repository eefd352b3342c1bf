package check

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/otelprof/otelprof/internal/glob"
)

// A rule is a condition that fails: the change of a metric beyond a limit.
type rule struct {
	text, metric, region string
	limit                float64 // a part of the metric
	below                bool    // the change must not be below the limit, instead of above it
}

var ruleForm = regexp.MustCompile(`^(mean|p50|p90|p99|p99\.9|rate) of (\S.*?) *([<>]) *([+-]?[0-9]+(?:\.[0-9]+)?) ?%$`)

func parseRule(text string) (rule, error) {
	m := ruleForm.FindStringSubmatch(text)
	if m == nil {
		return rule{}, fmt.Errorf(`must be as in 'p99 of POST /orders > +5 %%': mean, p50, p90, p99, p99.9 or rate, of a region, > or <, and percent`)
	}
	percent, err := strconv.ParseFloat(m[4], 64)
	if err != nil {
		return rule{}, err
	}
	return rule{text: text, metric: m[1], region: m[2], limit: percent / 100, below: m[3] == "<"}, nil
}

func (r rule) about(c cell) bool { return c.metric == r.metric && glob.Match(r.region, c.region) }

// surely reports whether the whole interval of a change is beyond the limit, and never whether none
// of it is. The noise of the machine counts as none.
func (r rule) surely(row Row) (holds, never bool) {
	if r.below {
		return row.Hi < r.limit && -row.Change > row.Noise, row.Lo >= r.limit
	}
	return row.Lo > r.limit && row.Change > row.Noise, row.Hi <= r.limit
}
