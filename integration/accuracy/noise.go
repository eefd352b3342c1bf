package main

import (
	"errors"
	"time"
)

// A noise measures how much processor time other processes took since a moment.
type noise struct {
	began      time.Time
	busy, ours time.Duration
	unknown    bool
}

func listen() noise {
	busy, err := machineTime()
	ours, err2 := processTime()
	return noise{began: time.Now(), busy: busy, ours: ours, unknown: errors.Join(err, err2) != nil}
}

const (
	// The kernel counts in steps of 10 ms, for each processor.
	countedIn = 15 * time.Millisecond
	// quiet is the part of one processor that others may take.
	quiet = 0.05
)

// foreign returns the part of one processor that other processes had, and that part of the most
// that may disturb what is measured meanwhile: above 1 it does. Where it is not known, both are 0.
func (n noise) foreign() (part, loudness float64) {
	now := listen()
	if n.unknown || now.unknown {
		return 0, 0
	}
	took := now.began.Sub(n.began)
	others := max(0, (now.busy-n.busy)-(now.ours-n.ours))
	return float64(others) / float64(took), float64(others) / (float64(countedIn) + quiet*float64(took))
}
