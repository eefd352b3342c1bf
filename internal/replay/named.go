package replay

import (
	"cmp"
	"fmt"
	"slices"
)

// Waited returns where goroutines wait for locks and channels, most often first, as function:line: these are names for a [Question].
func (r *Recording) Waited() []string {
	waits := map[string]int{}
	for i := range r.events {
		e := &r.events[i]
		if e.kind != evWait || e.arg < waitMutex || e.arg > waitSelect {
			continue
		}
		if f, ok := r.sites[e.site].caller(); ok && (e.arg != waitMutex || r.sites[e.site].locks()) {
			waits[fmt.Sprintf("%s:%d", f.Func, f.Line)]++
		}
	}
	names := make([]string, 0, len(waits))
	for name := range waits {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(waits[b], waits[a]), cmp.Compare(a, b)) })
	return names
}
