package runtime

import "unsafe"

// While an execution trace is on, operations on channels and on the objects of package sync are
// written into it, as logs of runtime/trace: the category is otelprof. and the operation's letter,
// the task the object's address, the message a number. Letters and their order are those of
// docs/design/0006-runtime-mode.md.

// otelprofTracing says that a trace is on. It is read without a lock: a goroutine that sees a
// change late looks again, before anything is written.
//
//go:linkname otelprofTracing
var otelprofTracing bool

// otelprofTick is what a trace's clock counts as one, in ns. With the 64 that Go has, operations
// that follow each other fast would be dated ahead, and not stand in the order in which they took
// effect.
const otelprofTick = 1

// otelprofLetters are the operations.
const otelprofLetters = "LluWwxAabgVvKknmcSsRrqpezYy"

// The numbers that have a string from the beginning of each generation on.
const (
	otelprofLeast = -1
	otelprofMost  = 64
)

// otelprofStrings are the numbers of strings in a generation of the trace, as trace.goBlockReasons
// are. So writing an operation needs no lock for strings, which must not be taken with a channel's
// lock in hand.
var otelprofStrings [2]struct {
	categories ['z' + 1]traceArg // by letter
	numbers    [otelprofMost - otelprofLeast + 1]traceArg
}

// otelprofRegister puts the strings into a generation that is about to begin.
func otelprofRegister(gen uintptr) {
	have := &otelprofStrings[gen%2]
	category := [...]byte{'o', 't', 'e', 'l', 'p', 'r', 'o', 'f', '.', 0}
	for _, letter := range []byte(otelprofLetters) {
		category[len(category)-1] = letter
		have.categories[letter] = otelprofString(gen, category[:])
	}
	for i := range have.numbers {
		have.numbers[i] = otelprofNumber(gen, otelprofLeast+i)
	}
}

// otelprofNumber returns the string of a number, which is empty for 0.
func otelprofNumber(gen uintptr, n int) traceArg {
	if n == 0 {
		return 0
	}
	var digits [20]byte
	at, left := len(digits), uint64(n)
	if n < 0 {
		left = -left
	}
	for ; left > 0; left /= 10 {
		at--
		digits[at] = byte('0' + left%10)
	}
	if n < 0 {
		at--
		digits[at] = '-'
	}
	return otelprofString(gen, digits[at:])
}

// otelprofString puts a string into a generation, if it is not there. It is copied, so text need
// not escape.
func otelprofString(gen uintptr, text []byte) traceArg {
	return traceArg(trace.stringTab[gen%2].put(gen, unsafe.String((*byte)(noescape(unsafe.Pointer(&text[0]))), len(text))))
}

// otelprofTell writes an operation. On the scheduler's stack, where timers send, it writes nothing:
// an operation is a goroutine's.
//
//go:linkname otelprofTell
func otelprofTell(letter byte, object uintptr, n int) {
	if gp := getg(); gp != gp.m.curg {
		return
	}
	tl := traceAcquire()
	if !tl.ok() {
		return
	}
	have := &otelprofStrings[tl.gen%2]
	var number traceArg
	if n >= otelprofLeast && n <= otelprofMost {
		number = have.numbers[n-otelprofLeast]
	} else {
		number = otelprofNumber(tl.gen, n)
	}
	otelprofLog(tl, traceArg(object), have.categories[letter], number)
	traceRelease(tl)
}

// otelprofChannel writes an operation on a channel, whose lock may be held. A timer's sends are its
// own.
func otelprofChannel(letter byte, c *hchan) {
	n := int(c.dataqsiz)
	if c.timer != nil {
		if letter == 's' || letter == 'q' {
			return
		}
		n = 0 // as cap says
	}
	otelprofTell(letter, uintptr(unsafe.Pointer(c)), n)
}

// otelprofTried writes an operation on a channel that was done without waiting. The letter is
// another one if it would not have waited: the program goes on in either case.
func otelprofTried(letter byte, c *hchan, block bool) {
	if !block {
		letter -= 's' - 'q' // and 'p' for 'r'
	}
	otelprofChannel(letter, c)
}

// otelprofReceived writes that a receive is done.
func otelprofReceived(c *hchan, received bool) {
	if received {
		otelprofChannel('r', c)
	} else {
		otelprofChannel('e', c)
	}
}

// otelprofDefault writes that a select that may send has taken its default.
func otelprofDefault() { otelprofTell('y', 0, 0) }

// otelprofMostCases is how many cases of a select are written.
const otelprofMostCases = 8

// otelprofSelect writes that a select is going to wait, once for each channel that it may receive
// from. Channels that it may send to come first, and timers belong to no goroutine.
func otelprofSelect(first *scase, sends, receives int) {
	told := 0
	for i := sends; i < sends+receives && told < otelprofMostCases; i++ {
		if c := (*scase)(add(unsafe.Pointer(first), uintptr(i)*unsafe.Sizeof(*first))).c; c != nil && c.timer == nil {
			otelprofTell('Y', uintptr(unsafe.Pointer(c)), 0)
			told++
		}
	}
	if told == 0 {
		otelprofTell('Y', 0, 0)
	}
}

// otelprofPrepare has the string of a capacity be there before a channel's lock is taken.
func otelprofPrepare(c *hchan) {
	if c.dataqsiz <= otelprofMost {
		return
	}
	if tl := traceAcquire(); tl.ok() {
		otelprofNumber(tl.gen, int(c.dataqsiz))
		traceRelease(tl)
	}
}

// otelprofPrepareSelect does that for all cases of a select.
func otelprofPrepareSelect(first *scase, n int) {
	for i := range n {
		if c := (*scase)(add(unsafe.Pointer(first), uintptr(i)*unsafe.Sizeof(*first))).c; c != nil {
			otelprofPrepare(c)
		}
	}
}
