package replay

import "testing"

// Each rule has a name of its own, and says what it takes for granted.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Name == "" || r.Doc == "" || seen[r.Name] {
			t.Errorf("%+v: must have a name that no other rule has, and say what it is", r)
		}
		seen[r.Name] = true
	}
	for _, name := range []string{"ticker", "cond_count", "token_bucket", ruleClients} {
		if !seen[name] {
			t.Errorf("no rule %q", name)
		}
	}
}
