package simulator

// A Payment is a way to make a goroutine wait for as long as it owes.
type Payment int

// The payments.
const (
	// Exactly sleeps for just as long.
	Exactly Payment = iota
	// Timer sleeps by a file of timerfd: about 10 µs too long, and not for less than 20 µs.
	Timer
	// TimeSleep sleeps by time.Sleep: 1 ms at least, and half of one too long.
	TimeSleep
	// Spin keeps the CPU.
	Spin
)

// The payment's errors, as measured on Linux, ns.
const (
	timerMin      = 20 * Microsecond
	timerLate     = 10 * Microsecond
	timeSleepMin  = 1070 * Microsecond
	timeSleepLate = 500 * Microsecond
)

// pay makes up for what the goroutine owes. It is to be called when a span has ended
// and when a stamp was left.
func (g *Goroutine) pay() {
	s := g.world.config.Setting
	if s == nil || s.Growth() == nil {
		return
	}
	turns := 0
	g.books().Pay(s, g.Now, func(ns int64) int64 {
		if turns++; turns > 1 && g.world.without(PayAgain) {
			return 0
		}
		if g.world.config.Pay == Timer && ns < timerMin {
			return 0
		}
		start := g.Now()
		g.payment(ns)
		if g.world.without(Prepayment) {
			return ns
		}
		return g.Now() - start
	})
}

func (g *Goroutine) payment(ns int64) {
	switch w := g.world; w.config.Pay {
	case Exactly:
		g.wait(ns)
	case Timer:
		g.wait(ns + w.about(timerLate))
	case TimeSleep:
		g.wait(max(ns, timeSleepMin) + w.about(timeSleepLate))
	case Spin:
		g.busy(ns)
	}
}

// payFirst pays before the goroutine lets another one go on.
func (g *Goroutine) payFirst() {
	if !g.world.without(PayFirst) {
		g.pay()
	}
}
