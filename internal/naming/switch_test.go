package naming

import (
	"strings"
	"testing"
)

func TestFromEnv(t *testing.T) {
	const name = "OTELPROF_TOGGLE_TEST"
	for value, want := range map[string]Switch{
		"": SwitchUnset, " ": SwitchUnset,
		"on": SwitchOn, "ON": SwitchOn, "true": SwitchOn, "True": SwitchOn, "1": SwitchOn, "yes": SwitchOn, " on ": SwitchOn,
		"off": SwitchOff, "OFF": SwitchOff, "Off": SwitchOff, "false": SwitchOff, "FALSE": SwitchOff, "0": SwitchOff, "no": SwitchOff, "none": SwitchOff, "disabled": SwitchOff, "off\n": SwitchOff,
	} {
		t.Setenv(name, value)
		if got, warning := SwitchFromEnv(name); got != want || warning != nil {
			t.Errorf("%q is %v, %v, want %v", value, got, warning, want)
		}
	}
	for _, value := range []string{"of", "maybe", "2", "онн"} {
		t.Setenv(name, value)
		if got, warning := SwitchFromEnv(name); got != SwitchOff || warning == nil || !strings.Contains(warning.Error(), name) {
			t.Errorf("%q is %v, %v, want off and a warning", value, got, warning)
		}
	}
}
