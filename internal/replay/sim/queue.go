package sim

import (
	"slices"
)

// remove takes the first x out, if it is there, and keeps the order of the others. It takes linear
// time: a goroutine that leaves the queues of a select statement is in few of them, and these are
// short. The runtime has a linked list for that, waitq in runtime/chan.go.
func (q *queue) remove(x int32) {
	if k := slices.Index(q.all[q.head:], x); k >= 0 {
		q.all = slices.Delete(q.all, q.head+k, q.head+k+1)
		if q.head == len(q.all) {
			q.reset()
		}
	}
}

// A queue holds runners or elements in order, first in, first out. Taking the first one only moves
// the head. The space before it is used again when the slice would grow and half of it is free, so
// that push and pop take constant time on average, and a queue whose length stays about the same
// allocates nothing. The zero queue is empty.
type queue struct {
	all  []int32
	head int // where the first one is; what is before it has been taken
}

func (q *queue) len() int { return len(q.all) - q.head }

// first returns the first one, and leaves it there. The queue must not be empty.
func (q *queue) first() int32 { return q.all[q.head] }

func (q *queue) push(x int32) {
	// At least half as many places have been taken as are moved: each move is paid for by a pop.
	if q.head > 0 && len(q.all) == cap(q.all) && 2*q.head >= len(q.all) {
		q.all = q.all[:copy(q.all, q.all[q.head:])]
		q.head = 0
	}
	q.all = append(q.all, x)
}

// pushFirst puts one before all others: a goroutine that has lost its turn and waits again, or the
// connection that is to be used next. Where nothing has been taken before it moves all others.
func (q *queue) pushFirst(x int32) {
	if q.head > 0 {
		q.head--
		q.all[q.head] = x
		return
	}
	q.all = slices.Insert(q.all, 0, x)
}

// pop takes the first one. The queue must not be empty.
func (q *queue) pop() int32 {
	x := q.all[q.head]
	if q.head++; q.head == len(q.all) {
		q.reset()
	}
	return x
}

// bringForward puts the nth one, from 0, in the place of the first, and that in its own. It is for
// queues whose order means nothing, see object.unordered.
func (q *queue) bringForward(n int) {
	q.all[q.head], q.all[q.head+n] = q.all[q.head+n], q.all[q.head]
}

// reset empties the queue, and keeps its memory.
func (q *queue) reset() { q.all, q.head = q.all[:0], 0 }
