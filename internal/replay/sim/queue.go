package sim

import (
	"slices"
)

// remove takes one out, if it is there.
func (q *queue) remove(x int32) {
	if k := slices.Index(q.all[q.head:], x); k >= 0 {
		q.all = slices.Delete(q.all, q.head+k, q.head+k+1)
		if q.head == len(q.all) {
			q.reset()
		}
	}
}

// A queue holds runners or elements in order, first in, first out.
type queue struct {
	all  []int32
	head int // where the first one is
}

func (q *queue) len() int { return len(q.all) - q.head }

// first returns the first one, and leaves it there.
func (q *queue) first() int32 { return q.all[q.head] }

func (q *queue) push(x int32) {
	if q.head > 0 && len(q.all) == cap(q.all) && 2*q.head >= len(q.all) {
		q.all = q.all[:copy(q.all, q.all[q.head:])]
		q.head = 0
	}
	q.all = append(q.all, x)
}

// pushFirst puts one before all others.
func (q *queue) pushFirst(x int32) {
	if q.head > 0 {
		q.head--
		q.all[q.head] = x
		return
	}
	q.all = slices.Insert(q.all, 0, x)
}

func (q *queue) pop() int32 {
	x := q.all[q.head]
	if q.head++; q.head == len(q.all) {
		q.reset()
	}
	return x
}

// bringForward puts the nth one in the place of the first, and that in its own.
func (q *queue) bringForward(n int) {
	q.all[q.head], q.all[q.head+n] = q.all[q.head+n], q.all[q.head]
}

func (q *queue) reset() { q.all, q.head = q.all[:0], 0 }
