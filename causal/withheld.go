package causal

import "fmt"

// A withheld counts delays owed and not inserted, by the rule that forbade them.
type withheld [numRules]uint64

func (w withheld) since(earlier withheld) withheld {
	for r := range w {
		w[r] -= earlier[r]
	}
	return w
}

// distorting is how many of them an experiment needed.
func (w withheld) distorting() (n uint64) {
	for r := range numRules {
		if r.distorts() {
			n += w[r]
		}
	}
	return n
}

func (w withheld) byName() map[string]uint64 {
	m := map[string]uint64{}
	for r, n := range w {
		if n > 0 {
			m[ruleNames[r]] = n
		}
	}
	return m
}

// maxWithheld is the share of delays that may be withheld before an experiment is thrown away.
const maxWithheld = 0.01

// spoils says why an experiment is thrown away in which so many delays were inserted, "" if it is not.
func (w withheld) spoils(inserted int64) string {
	bad := w.distorting()
	all := bad + uint64(max(0, inserted))
	if float64(bad) <= maxWithheld*float64(all) {
		return ""
	}
	most := ruleNone
	for r := range numRules {
		if r.distorts() && w[r] > w[most] {
			most = r
		}
	}
	return fmt.Sprintf("%d of %d delays withheld, most by %s", bad, all, ruleNames[most])
}
