package record

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// MostGoroutines is among how many recordings are made without being asked for: when a trace ends,
// the runtime looks at each, and a goroutine that runs goes without its processor for 5 ms at most.
const MostGoroutines = 20_000

// NoMemory returns why there is too little memory for a recording, "" if there is enough.
func NoMemory() string {
	if left := Left(); left < Least {
		return fmt.Sprintf("%d MiB of memory are left to the limit: a recording is made with %d at least", left>>20, Least>>20)
	}
	return ""
}

// TakeOwn records for so long, where a recording of our own accord may be made.
func TakeOwn(ctx context.Context, d time.Duration) (*Window, error) {
	if n := runtime.NumGoroutine(); n > MostGoroutines {
		return nil, fmt.Errorf("%d goroutines: must be at most %d", n, MostGoroutines)
	}
	if why := NoMemory(); why != "" {
		return nil, errors.New(why)
	}
	return Take(ctx, d, ownBytes)
}
