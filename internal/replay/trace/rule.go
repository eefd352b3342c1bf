package trace

// A Rule infers one thing that a recording does not show, by Find. One without a name is no
// inference, but a step that later ones need. make ablation leaves out one rule after the other,
// and measures what answers lose.
type Rule[F any] struct {
	Name, Doc string
	Find      F
}

// A RuleName is what a rule is called, and what it takes for granted.
type RuleName struct{ Name, Doc string }

// Named returns the names of rules that have one.
func Named[F any](rules []Rule[F]) (all []RuleName) {
	for _, r := range rules {
		if r.Name != "" {
			all = append(all, RuleName{r.Name, r.Doc})
		}
	}
	return all
}

// Uses reports whether a rule is not left out.
func (r *Recording) Uses(rule string) bool { return !r.Without[rule] }

// Apply applies one rule after the other, and rests in between.
func Apply[T any](r *Recording, to T, rules []Rule[func(T)]) {
	for _, rule := range rules {
		r.Rests()
		if rule.Name == "" || r.Uses(rule.Name) {
			rule.Find(to)
		}
	}
}
