package naming

import (
	"fmt"
	"os"
	"strings"
)

// A Switch is the value of a variable.
type Switch int

// The states of a switch.
const (
	SwitchUnset Switch = iota
	SwitchOn
	SwitchOff
)

// ParseSwitch reads on, true, yes, y, t, 1, enabled, and off, false, no, n, f, 0, none, disabled,
// in any case. All else is not known.
func ParseSwitch(value string) (s Switch, known bool) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "":
		return SwitchUnset, true
	case "on", "true", "yes", "y", "t", "1", "enable", "enabled":
		return SwitchOn, true
	case "off", "false", "no", "n", "f", "0", "none", "disable", "disabled":
		return SwitchOff, true
	}
	return SwitchUnset, false
}

// SwitchFromEnv reads a variable that opts in to something and is its kill switch. A value that is
// not known is off, with a warning: to go on without what was asked for is better than with what
// was to be stopped.
func SwitchFromEnv(name string) (s Switch, warning error) {
	value := os.Getenv(name)
	s, known := ParseSwitch(value)
	if !known {
		return SwitchOff, fmt.Errorf("%s %q: must be on or off, off is taken", name, value)
	}
	return s, nil
}
