package admission

import "fmt"

// A Withheld counts delays owed and not inserted, by the rule that forbade them.
type Withheld [numRules]uint64

// Since returns what was withheld after an earlier count.
func (w Withheld) Since(earlier Withheld) Withheld {
	for r := range w {
		w[r] -= earlier[r]
	}
	return w
}

// Distorting is how many of them an experiment needed.
func (w Withheld) Distorting() (n uint64) {
	for r := range numRules {
		if r.distorts() {
			n += w[r]
		}
	}
	return n
}

// ByName returns the counts that are not 0, by the names of the rules.
func (w Withheld) ByName() map[string]uint64 {
	m := map[string]uint64{}
	for r, n := range w {
		if n > 0 {
			m[ruleNames[r]] = n
		}
	}
	return m
}

// MaxWithheld is the share of delays that may be withheld before an experiment is thrown away.
const MaxWithheld = 0.01

// Spoils returns why an experiment is thrown away in which so many delays were inserted, "" if it
// is not.
func (w Withheld) Spoils(inserted int64) string {
	bad := w.Distorting()
	all := bad + uint64(max(0, inserted))
	if float64(bad) <= MaxWithheld*float64(all) {
		return ""
	}
	most := RuleNone
	for r := range numRules {
		if r.distorts() && w[r] > w[most] {
			most = r
		}
	}
	return fmt.Sprintf("%d of %d delays withheld, most by %s", bad, all, ruleNames[most])
}
