package naming

import (
	"strings"
	"testing"
)

func TestFromEnv(t *testing.T) {
	const name = "OTELPROF_TOGGLE_TEST"
	for value, want := range map[string]Switch{
		"": Unset, " ": Unset,
		"on": On, "ON": On, "true": On, "True": On, "1": On, "yes": On, " on ": On,
		"off": Off, "OFF": Off, "Off": Off, "false": Off, "FALSE": Off, "0": Off, "no": Off, "none": Off, "disabled": Off, "off\n": Off,
	} {
		t.Setenv(name, value)
		if got, warning := SwitchFromEnv(name); got != want || warning != nil {
			t.Errorf("%q is %v, %v, want %v", value, got, warning, want)
		}
	}
	for _, value := range []string{"of", "maybe", "2", "онн"} {
		t.Setenv(name, value)
		if got, warning := SwitchFromEnv(name); got != Off || warning == nil || !strings.Contains(warning.Error(), name) {
			t.Errorf("%q is %v, %v, want off and a warning", value, got, warning)
		}
	}
}
