// Package otlpjson has the messages of OTLP in the form of their JSON: IDs are hexadecimal,
// integers of 64 bits text, enumerations numbers. The Collector reads it, one message a line, from
// files.
//
// Messages are of encoding/json, so that who keeps files or a session compiles no pdata, which
// brings six modules along. See https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding.
package otlpjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Line is a message and a newline. Bytes that are not UTF-8 become U+FFFD: one of them must not
// cost the whole message.
func Line(message any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(message)
	return b.Bytes(), err
}

// Nanos is a time in ns since 1970; 0, which OTLP takes as unknown, for times before and for the
// zero Time.
func Nanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(0, t.UnixNano()))
}

// A Double may be infinite or no number.
type Double float64

// MarshalJSON writes the names of protobuf where JSON has no number.
func (d Double) MarshalJSON() ([]byte, error) {
	switch f := float64(d); {
	case math.IsNaN(f):
		return []byte(`"NaN"`), nil
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(f)
	}
}

// Counts are those of a histogram's buckets.
type Counts []uint64

// MarshalJSON writes each as text.
func (c Counts) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, n := range c {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendUint(append(b, '"'), n, 10), '"')
	}
	return append(b, ']'), nil
}
