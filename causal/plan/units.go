package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written as in Go source, "200ms".
type Duration time.Duration

// String returns the same as time.Duration's.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns the same as String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [time.ParseDuration] reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: must be like 200ms, 2s or 1m30s", text)
	}
	*d = Duration(v)
	return nil
}

// Percent is a part of one, written with a percent sign: 0.05 is "5%".
type Percent float64

// percentDigits is the precision of a Percent: as text it comes back unchanged.
const percentDigits = 15

// String returns the value with a percent sign.
func (p Percent) String() string {
	return strconv.FormatFloat(100*float64(p), 'g', percentDigits, 64) + "%"
}

// MarshalText returns the same as String.
func (p Percent) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a number, of which 15 digits count, followed by a percent sign.
func (p *Percent) UnmarshalText(text []byte) error {
	digits, found := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if !found || err != nil {
		return fmt.Errorf("percentage %q: must be like 5%%", text)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', percentDigits, 64), 64) // it is a number
	*p = Percent(v / 100)
	return nil
}
