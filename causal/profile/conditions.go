package profile

import (
	"fmt"
	"strings"
	"time"
)

// worthSaying is the part of the processor time, or of recordings, from which on a condition is
// reported.
const worthSaying = 0.02

// conditions returns in sentences what the machine did to the program while it was recorded, none
// where that was little.
func (r *Recorded) conditions() (notes []string) {
	if r.Starved >= worthSaying {
		note := fmt.Sprintf("goroutines had no processor for %.0f %% of the time that they ran", 100*r.Starved)
		var who []string
		for _, x := range []struct {
			name string
			took time.Duration
		}{{"other programs had %v", r.Others}, {"the host took %v", r.Stolen}, {"a quota withheld %v", r.Throttled}} {
			if float64(x.took) >= worthSaying*float64(r.CPU) && x.took > 0 {
				who = append(who, fmt.Sprintf(x.name, x.took.Round(10*time.Millisecond)))
			}
		}
		if len(who) > 0 {
			note += fmt.Sprintf(" (the program had %v of processor time, %s)", r.CPU.Round(10*time.Millisecond), strings.Join(who, ", "))
		}
		notes = append(notes, note+": intervals are wider by that")
	}
	if float64(r.Stalled) >= worthSaying*float64(r.Length) && r.Stalled > 0 {
		notes = append(notes, fmt.Sprintf("the program stood still for %v of %v, which is left out", r.Stalled.Round(time.Millisecond), r.Length.Round(time.Millisecond)))
	}
	return notes
}

// loopAt returns how work comes to a progress point, "" where that is not known.
func (p *Profile) loopAt(progress string) string {
	if p.Recorded != nil {
		for _, x := range p.Recorded.Progress {
			if x.Progress == progress {
				return x.Loop
			}
		}
	}
	return ""
}

// loopSentence returns what a loop means for the answers.
func loopSentence(loop string) string {
	switch loop {
	case loopOpen:
		return "in an open loop, at times that do not depend on how fast the program is: latency can change, throughput cannot"
	case loopClosed:
		return "in a closed loop: each client sends its next request when the last one is answered, so that throughput changes as well as latency"
	}
	return ""
}
