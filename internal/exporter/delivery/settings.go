package delivery

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// batchSettings are the settings of the SDK's batch processors, under the same names, and what the
// SDK has no bound for.
type batchSettings struct {
	queue   int           // …_MAX_QUEUE_SIZE
	batch   int           // …_MAX_EXPORT_BATCH_SIZE
	delay   time.Duration // …_SCHEDULE_DELAY; 0 exports at once what is there
	timeout time.Duration // …_EXPORT_TIMEOUT; 0 there is a day here
}

const (
	// maxQueuedBytes bounds what waits in one pipeline or is in export, about. Items are counted by
	// number too, but 2048 spans with an attribute of 1 MB each would be 2 GB.
	maxQueuedBytes = 64 << 20
	// maxBatchBytes is about the largest batch that is not of one item alone: a Collector takes 4
	// MiB over gRPC.
	maxBatchBytes = 3 << 20
)

// settingsFromEnv reads the variables that begin with prefix. One with a value out of its range
// keeps the default; the error names all of those.
func settingsFromEnv(prefix string, s batchSettings) (batchSettings, error) {
	var errs []error
	number := func(name string, value, least, most int) int {
		name = prefix + name
		text := strings.TrimSpace(os.Getenv(name))
		if text == "" {
			return value
		}
		v, err := strconv.Atoi(text)
		if err != nil || v < least || v > most {
			errs = append(errs, fmt.Errorf("%s %q: must be an integer in [%d, %d], %d is used", name, text, least, most, value))
			return value
		}
		return v
	}
	const day = 24 * time.Hour
	ms := func(name string, d time.Duration) time.Duration {
		return time.Duration(number(name, int(d.Milliseconds()), 0, int(day.Milliseconds()))) * time.Millisecond
	}
	s.queue = number("MAX_QUEUE_SIZE", s.queue, 1, 1e6)
	usual := s.batch
	if s.batch = number("MAX_EXPORT_BATCH_SIZE", s.batch, 1, 1e6); s.batch > s.queue {
		if s.batch != usual {
			errs = append(errs, fmt.Errorf("%sMAX_EXPORT_BATCH_SIZE %d: must be at most %sMAX_QUEUE_SIZE, %d, which is used", prefix, s.batch, prefix, s.queue))
		}
		s.batch = s.queue
	}
	s.delay = ms("SCHEDULE_DELAY", s.delay)
	if s.timeout = ms("EXPORT_TIMEOUT", s.timeout); s.timeout == 0 {
		s.timeout = day // no limit, to all of OpenTelemetry's SDKs
	}
	return s, errors.Join(errs...)
}
