package delivery

import (
	"testing"
	"time"
)

func TestSettingsFromEnv(t *testing.T) {
	usual := batchSettings{queue: 2048, batch: 512, delay: 5 * time.Second, timeout: 30 * time.Second}
	with := func(set func(*batchSettings)) batchSettings { s := usual; set(&s); return s }
	for name, tt := range map[string]struct {
		variable, value string
		want            batchSettings
		known           bool
	}{
		"time":         {"EXPORT_TIMEOUT", "250", with(func(s *batchSettings) { s.timeout = 250 * time.Millisecond }), true},
		"no limit":     {"EXPORT_TIMEOUT", "0", with(func(s *batchSettings) { s.timeout = 24 * time.Hour }), true},
		"negative":     {"EXPORT_TIMEOUT", "-1", usual, false},
		"endless":      {"EXPORT_TIMEOUT", "99999999999", usual, false},
		"at once":      {"SCHEDULE_DELAY", "0", with(func(s *batchSettings) { s.delay = 0 }), true},
		"blanks":       {"MAX_QUEUE_SIZE", " 4096\n", with(func(s *batchSettings) { s.queue = 4096 }), true},
		"blanks alone": {"MAX_EXPORT_BATCH_SIZE", " ", usual, true},
		"small queue":  {"MAX_QUEUE_SIZE", "100", with(func(s *batchSettings) { s.queue, s.batch = 100, 100 }), true},
		"large batch":  {"MAX_EXPORT_BATCH_SIZE", "4096", with(func(s *batchSettings) { s.batch = 2048 }), false},
		"full batch":   {"MAX_EXPORT_BATCH_SIZE", "2048", with(func(s *batchSettings) { s.batch = 2048 }), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_BSP_"+tt.variable, tt.value)
			if got, err := settingsFromEnv("OTEL_BSP_", usual); got != tt.want || (err == nil) != tt.known {
				t.Errorf("%s=%q: %+v, %v, want %+v", tt.variable, tt.value, got, err, tt.want)
			}
		})
	}
}
