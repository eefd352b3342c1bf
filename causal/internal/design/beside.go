package design

// Beside is how many windows away a placebo may be from what is compared with it.
const Beside = 2

// A Neighbor is a placebo next to a window, and its part in what that is compared with.
type Neighbor[W any] struct {
	Window W
	Part   float64
}

// Neighbors returns the placebos next to the i-th of all windows, which are in the order of time,
// at most one before it and one after it: by how near they are, so that what grows steadily
// cancels. At is the number of the window at a place, and placebo whether one has something to
// compare.
func Neighbors[W any](all []W, i int, at func(place int) int64, placebo func(W) bool) []Neighbor[W] {
	next := make([]Neighbor[W], 0, 2)
	var away [2]int64
	for direction := -1; direction <= 1; direction += 2 {
		for k := i + direction; k >= 0 && k < len(all); k += direction {
			distance := (at(k) - at(i)) * int64(direction)
			if distance > Beside {
				break
			}
			if distance > 0 && placebo(all[k]) {
				away[len(next)] = distance
				next = append(next, Neighbor[W]{all[k], 1})
				break
			}
		}
	}
	if len(next) == 2 {
		next[0].Part = float64(away[1]) / float64(away[0]+away[1])
		next[1].Part = 1 - next[0].Part
	}
	return next
}

// Mean is that of a value in neighbors, 0 of none.
func Mean[W any](next []Neighbor[W], value func(W) float64) (mean float64) {
	for _, n := range next {
		mean += n.Part * value(n.Window)
	}
	return mean
}
