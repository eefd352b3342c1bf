package otelprof

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

func TestNewResource(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,team=a")
	t.Setenv("OTEL_SERVICE_NAME", "env")
	named := resource.NewSchemaless(attribute.String("service.name", "resource"), attribute.String("team", "b"),
		attribute.String("service.instance.id", "mine"))
	tests := map[string]struct {
		config     config
		name, team string
		instance   string
	}{
		"environment": {config{}, "env", "a", ""},
		"resource":    {config{resource: named}, "resource", "b", "mine"},
		"name":        {config{resource: named, serviceName: "code"}, "code", "b", "mine"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := newResource(tt.config)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{text(r, "service.name"), text(r, "team"), text(r, "deployment.environment.name"), text(r, "telemetry.sdk.language")}
			if diff := cmp.Diff([]string{tt.name, tt.team, "test", "go"}, got); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			if id := text(r, "service.instance.id"); tt.instance != "" && id != tt.instance || tt.instance == "" && !uuidPattern.MatchString(id) {
				t.Errorf("service.instance.id = %q, want %q or a UUID", id, tt.instance)
			}
		})
	}
}

var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestNewResourceSchemaConflict(t *testing.T) {
	l := &log{}
	r, err := newResource(config{
		resource: resource.NewWithAttributes("https://other/1", attribute.String("team", "b")),
		logger:   slog.New(slog.NewTextHandler(l, nil)),
	})
	if err != nil {
		t.Fatalf("newResource: %v", err)
	}
	if got := text(r, "team"); got != "b" {
		t.Errorf("team = %q, want b", got)
	}
	if w := l.warnings(); len(w) != 1 || !strings.Contains(w[0], "schema URL") {
		t.Errorf("said %q, want the conflict", w)
	}
}

func TestResourceIsUTF8(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=shop,team=caf%E9")
	var log bytes.Buffer
	r, err := newResource(config{logger: slog.New(slog.NewTextHandler(&log, nil)), resource: resource.Empty()})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(r, "team"); got != "caf\uFFFD" {
		t.Errorf("team = %q, want caf and U+FFFD", got)
	}
	if got := text(r, "service.name"); got != "shop" {
		t.Errorf("service.name = %q, want shop", got)
	}
	if !strings.Contains(log.String(), "not UTF-8") {
		t.Errorf("log %q: want a word of what was replaced", log.String())
	}
}
