package replay

import "github.com/otelprof/otelprof/internal/mark"

// Event times are in ns and must not decrease. Goroutines, spans and objects have numbers of the caller's, objects not 0.

// Running records a goroutine that is there and runs when the recording begins.
func (b *Recorder) Running(at, g int64) { b.exists(at, g, stateRunning) }

// Runnable records a goroutine that is there when the recording begins and is ready to run.
func (b *Recorder) Runnable(at, g int64) { b.exists(at, g, stateRunnable) }

// Waiting records a goroutine that is there and waits when the recording begins.
func (b *Recorder) Waiting(at, g int64) { b.exists(at, g, stateWaiting) }

func (b *Recorder) exists(at, g int64, state int32) {
	b.add(event{kind: evExists, at: at, g: b.goroutine(g), by: noWaker, arg: state})
}

// Create records that a goroutine was created, by another one or, with by < 0, by something outside, and is ready to run.
func (b *Recorder) Create(at, g, by int64) {
	b.add(event{kind: evCreate, at: at, g: b.goroutine(g), by: b.waker(by)})
}

// Start records that a goroutine that was ready runs on a processor, a number from 0.
func (b *Recorder) Start(at, g, processor int64) {
	b.add(event{kind: evStart, at: at, g: b.goroutine(g), by: noWaker, arg: int32(processor)})
}

// Yield records that a goroutine no longer runs, though it could.
func (b *Recorder) Yield(at, g int64) {
	b.add(event{kind: evYield, at: at, g: b.goroutine(g), by: noWaker})
}

// Wait records that a goroutine no longer runs since it waits, at a place in the program that has a number from 1.
func (b *Recorder) Wait(at, g, place int64) {
	b.add(event{kind: evWait, at: at, g: b.goroutine(g), by: noWaker, site: b.place(place)})
}

// Choose is Wait in a select statement.
func (b *Recorder) Choose(at, g, place int64) {
	b.add(event{kind: evWait, at: at, g: b.goroutine(g), by: noWaker, site: b.place(place), arg: waitSelect})
}

// Ready records that a goroutine need not wait any more: another one or, with by < 0, something outside woke it, such as
// a timer.
func (b *Recorder) Ready(at, g, by int64) {
	b.add(event{kind: evReady, at: at, g: b.goroutine(g), by: b.waker(by)})
}

// End records that a goroutine has ended.
func (b *Recorder) End(at, g int64) {
	b.add(event{kind: evEnd, at: at, g: b.goroutine(g), by: noWaker})
	b.forget(g)
}

// Open records that a span begins on a goroutine, below another one that is open or, with 0, below none.
func (b *Recorder) Open(at, g int64, number, parent uint64, r Region) {
	s := span{region: b.regionOf(r), parent: -1, root: parent == 0}
	if p, ok := b.open[parent]; ok {
		s.parent = p
	}
	ref := int32(len(b.r.spans))
	b.r.spans = append(b.r.spans, s)
	b.open[number] = ref
	b.add(event{kind: evOpen, at: at, g: b.goroutine(g), by: noWaker, ref: ref})
}

// Close records that a span ends on a goroutine, the one that it began on or another one.
func (b *Recorder) Close(at, g int64, number uint64) {
	if ref, ok := b.open[number]; ok {
		delete(b.open, number)
		b.add(event{kind: evClose, at: at, g: b.goroutine(g), by: noWaker, ref: ref})
	}
}

// Visit records that a goroutine visits a progress point.
func (b *Recorder) Visit(at, g int64, point string) {
	b.add(event{kind: evVisit, at: at, g: b.goroutine(g), by: noWaker, ref: b.pointOf(point)})
}

// Operate records an operation on an object, or its beginning.
func (b *Recorder) Operate(at, g int64, what mark.Op, object uint64, arg int64) {
	b.operated(at, b.goroutine(g), what, object, arg)
}

func (b *Recorder) waker(by int64) int32 {
	if by < 0 {
		return noWaker
	}
	return b.goroutine(by)
}

func (b *Recorder) place(n int64) int32 {
	for int64(len(b.r.sites)) <= n {
		b.r.sites = append(b.r.sites, Site{})
	}
	return int32(n)
}
