package testutil

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// CheckOrder fails the test if what options make depends on their order: of up to six options it
// tries all orders, of more each pair in front of the others both ways, and hundreds of orders at
// random. A nil one beside them must change nothing. Options must be of different kinds.
func CheckOrder[T any](t testing.TB, options []T, made func([]T) string) {
	t.Helper()
	want := made(slices.Clone(options))
	var none T
	if got := made(append(slices.Clone(options), none)); got != want {
		t.Errorf("options and a nil one make\n%s\nand without it\n%s", got, want)
	}
	check := func(order []int) bool {
		all := make([]T, len(options))
		for i, o := range order {
			all[i] = options[o]
		}
		if got := made(all); got != want {
			t.Errorf("options in the order %v make\n%s\nand as given\n%s", order, got, want)
			return false
		}
		return true
	}
	for order := range orders(len(options)) {
		if !check(order) {
			return
		}
	}
}

// mostOrders is how many orders of many options are tried at random.
const mostOrders = 300

func orders(n int) func(yield func([]int) bool) {
	in := make([]int, n)
	for i := range in {
		in[i] = i
	}
	if n <= 6 {
		return func(yield func([]int) bool) { permute(in, 0, yield) }
	}
	return func(yield func([]int) bool) {
		for i := range n {
			for j := range n {
				rest := slices.DeleteFunc(slices.Clone(in), func(o int) bool { return o == i || o == j })
				if i != j && !yield(append([]int{i, j}, rest...)) {
					return
				}
			}
		}
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		for range mostOrders {
			if !yield(rng.Perm(n)) {
				return
			}
		}
	}
}

func permute(order []int, from int, yield func([]int) bool) bool {
	if from == len(order) {
		return yield(order)
	}
	for i := from; i < len(order); i++ {
		order[from], order[i] = order[i], order[from]
		if !permute(order, from+1, yield) {
			return false
		}
		order[from], order[i] = order[i], order[from]
	}
	return true
}
