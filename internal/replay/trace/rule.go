package trace

// A Rule infers one thing that a recording does not show, by Find, as an analyzer of go/analysis
// finds one kind of fault. Packages hidden, infer, cond, doubt and replay have lists of them, in
// the order in which they are applied: a later one sees what earlier ones have found. One without a
// name is no inference, but a step that later ones need. make ablation leaves out one rule after
// the other, and measures what answers lose: a rule that costs nothing to leave out can go.
//
// Name is in snake case and unique (TestRules). Doc is one line: what the rule takes for granted.
type Rule[F any] struct {
	Name, Doc string
	Find      F
}

// A RuleName is what a rule is called, and what it takes for granted.
type RuleName struct{ Name, Doc string }

// Named returns the names of rules that have one, in the order of the list.
func Named[F any](rules []Rule[F]) (all []RuleName) {
	for _, r := range rules {
		if r.Name != "" {
			all = append(all, RuleName{r.Name, r.Doc})
		}
	}
	return all
}

// Uses reports whether a rule is not left out. Rules that are no entry of a list, since they are
// part of another one, ask it themselves.
func (r *Recording) Uses(rule string) bool { return !r.Without[rule] }

// Apply applies one rule after the other to what is changed in place, and rests in between. The
// recording is only asked which rules to use.
func Apply[T any](r *Recording, to T, rules []Rule[func(T)]) {
	for _, rule := range rules {
		r.Rests()
		if rule.Name == "" || r.Uses(rule.Name) {
			rule.Find(to)
		}
	}
}
