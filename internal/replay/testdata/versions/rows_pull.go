//go:build go1.23

package main

import "iter"

func rows(wait func()) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		wait()
		yield(1)
	})
	defer stop()
	for {
		if _, ok := next(); !ok {
			return
		}
	}
}
