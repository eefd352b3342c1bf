package client

import "sync"

// Each gets something by each name, all at once, and returns what came and the errors, in the order
// of the names.
func Each[T any](names []string, get func(name string) (T, error)) (all []T, errs []error) {
	all, errs = make([]T, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { all[i], errs[i] = get(name) })
	}
	wg.Wait()
	return all, errs
}
