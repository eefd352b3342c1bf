package mark

import (
	"context"
	"runtime/trace"
	"strconv"
	"sync/atomic"
	"unsafe"
)

// An Op is an operation on a lock, a channel or another object that goroutines wait for. An
// operation that has not waited is one event, [Object.Done]. One that may wait is two,
// [Object.Begin] and Done, on one goroutine: what the goroutine does in between belongs to it. What
// lets others go on is written before it takes effect, what is let go on afterwards, so that the
// order of the events is that of cause and effect (happens-before).
type Op byte

// The operations. Their values are the letters of their categories; of Begin, the upper-case ones.
const (
	Lock        Op = 'l' // of a mutex
	Unlock      Op = 'u'
	WriteLock   Op = 'w' // of an RWMutex
	WriteUnlock Op = 'x'
	ReadLock    Op = 'a'
	ReadUnlock  Op = 'b'
	Add         Op = 'g' // of a WaitGroup; the argument is the delta
	Wait        Op = 'v'
	Await       Op = 'k' // of a Cond: the wait for the signal alone, without L
	Signal      Op = 'n'
	Broadcast   Op = 'm'
	Make        Op = 'c' // of a channel, which is new, even if its address was in use before; the argument is its capacity
	Send        Op = 's' // of a channel; the argument is its capacity
	Receive     Op = 'r' // likewise
	TrySend     Op = 'q' // of a channel, by what would have gone on without, as in a select with a default
	TryReceive  Op = 'p' // likewise
	Closed      Op = 'e' // a receive from a closed channel
	Close       Op = 'z'
	// Select begins a choice between several operations. It ends with the one that was chosen, or,
	// for none of them, with its own Done, which has no object.
	Select Op = 'y'
)

// Beginning is the operation where it begins, as a category has it.
func (o Op) Beginning() Op { return o - ('a' - 'A') }

// Begins reports whether that is how it is written.
func (o Op) Begins() bool { return o >= 'A' && o <= 'Z' }

func (o Op) valid() bool {
	switch o {
	case Lock, Unlock, WriteLock, WriteUnlock, ReadLock, ReadUnlock, Add, Wait, Await, Signal, Broadcast, Make, Send, Receive, TrySend, TryReceive, Closed, Close, Select:
		return true
	}
	return false
}

// categories are those of operations, by letter.
var categories = func() (c ['z' + 1]string) {
	for letter := range c {
		c[letter] = operationCategory + string(rune(letter))
	}
	return c
}()

// An Object is what makes an object's operations known as its own: embed one in each. The zero
// value is ready for use, and gets a number with the first event.
type Object struct{ task atomic.Pointer[task] }

// A task is how log events carry a number.
type task struct{ ctx context.Context }

// taskName is the name of the tasks that stand for objects.
const taskName = "otelprof.object"

// context returns the context whose task is the object.
func (o *Object) context() context.Context {
	if t := o.task.Load(); t != nil {
		return t.ctx
	}
	ctx, _ := trace.NewTask(context.Background(), taskName)
	o.task.CompareAndSwap(nil, &task{ctx})
	return o.task.Load().ctx
}

// Begin writes that an operation begins that may wait.
func (o *Object) Begin(op Op, arg int) { logArg(o.context(), categories[op.Beginning()], arg) }

// Done writes that an operation is done, or, if it lets others go on, that it is about to be.
func (o *Object) Done(op Op, arg int) { logArg(o.context(), categories[op], arg) }

// LogNone writes that a select has ended with none of the operations on objects.
func LogNone() { logArg(context.Background(), categories[Select], 0) }

// smallArg is below which arguments are part of the category, of which there are few then.
const smallArg = 1000

// logArg writes an event with an argument.
func logArg(ctx context.Context, category string, arg int) {
	if arg == 0 {
		trace.Log(ctx, category, "")
		return
	}
	buffer := buffers.Get().(*[longest]byte)
	text := strconv.AppendInt(append(buffer[:0], category...), int64(arg), 10)
	if -smallArg < arg && arg < smallArg {
		trace.Log(ctx, unsafe.String(&text[0], len(text)), "")
	} else {
		log(ctx, category, text[len(category):])
	}
	buffers.Put(buffer)
}
