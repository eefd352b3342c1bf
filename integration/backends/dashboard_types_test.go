package backends

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// wrongDashboards spoil one. Each must be refused by the types.
var wrongDashboards = [][2]string{
	{`"type": "heatmap"`, `"type": "heatmop"`},
	{`"uid": "otelprof-region"`, `"uid": 7`},
	{`"w": 24`, `"w": "24"`},
	{`"mode": "scheme"`, `"mode": "schema"`},
	{`"showColorScale": true`, `"showColorScales": true`},
	{`"type": "log"`, `"type": "logarithmic"`},
	{`"graphTooltip": 1`, `"graphTooltip": 3`},
	{`"refresh": 2`, `"refresh": "onTimeRangeChanged"`},
	{`"keepTime": true`, `"keepTimes": true`},
	{`"expr":`, `"expression":`},
	{`"queryType": "search"`, `"queryType": "find"`},
	{`"unit": "s"`, `"unit": 1`},
	{`"titleFormat":`, `"title":`},
}

// TestDashboardTypes has a compiler assign each dashboard to Grafana's own types.
func TestDashboardTypes(t *testing.T) {
	needs(t)
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(tools, "grafana")
	compiler := filepath.Join(dir, "node_modules", "typescript", "bin", "tsc")
	node, err := exec.LookPath("node")
	if _, missing := os.Stat(compiler); err != nil || missing != nil {
		testutil.Lacks(t, "INTEGRATION", fmt.Sprintf("Grafana's types need node and npm: %v", errors.Join(err, missing)))
	}
	work := filepath.Join(dir, "check") // beside the packages, where the compiler looks for them
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dashboard.ts", "tsconfig.json"} {
		text, err := os.ReadFile(filepath.Join("grafana", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(work, name), string(text))
	}
	const head = "import type { Dashboard } from './dashboard';\n"
	files, err := filepath.Glob(configs + "grafana/dashboards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		write(t, filepath.Join(work, name+".ts"), head+"export const d: Dashboard = "+readFile(t, file)+";\n")
	}
	wrong := head
	right := readFile(t, configs+"grafana/dashboards/region.json")
	for i, change := range wrongDashboards {
		spoilt := strings.Replace(right, change[0], change[1], 1)
		if spoilt == right {
			t.Fatalf("the dashboard has no %s", change[0])
		}
		var line bytes.Buffer
		if err := json.Compact(&line, []byte(spoilt)); err != nil {
			t.Fatal(err)
		}
		// The compiler complains where a line has no error that is expected to have one.
		wrong += fmt.Sprintf("// @ts-expect-error %s\nexport const d%d: Dashboard = %s;\n", change[1], i, &line)
	}
	write(t, filepath.Join(work, "wrong.ts"), wrong)
	cmd := exec.CommandContext(t.Context(), node, compiler, "--project", work)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
	version := schemaVersion(t)
	if image := "grafana/grafana:" + version; !strings.Contains(readFile(t, configs+"compose.yaml"), image) {
		t.Errorf("compose.yaml: Grafana must be %s, as the types are", image)
	}
	check(t, "dashboard_types", "figure=%d dashboards are of the types of @grafana/schema %s, %d wrong ones are not", len(files), version, len(wrongDashboards))
}

// schemaVersion is that of the types.
func schemaVersion(t testing.TB) string {
	t.Helper()
	m := regexp.MustCompile(`"@grafana/schema": "([\d.]+)"`).FindStringSubmatch(readFile(t, filepath.Join("grafana", "package.json")))
	if m == nil {
		t.Fatal("grafana/package.json: must name a version of @grafana/schema")
	}
	return m[1]
}

func readFile(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
