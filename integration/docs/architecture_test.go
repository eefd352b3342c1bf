package docs_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const module = "github.com/otelprof/otelprof"

// A floor is what packages may import, as depguard has it.
type floor struct {
	packages string   // one, or all below with "/..."
	except   []string // patterns of those below that have floors of their own
	allows   []string // patterns, too
}

// floors reads them from the linter's configuration.
func floors(t *testing.T) (all []floor) {
	t.Helper()
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						Files []string `yaml:"files"`
						Allow []string `yaml:"allow"`
					} `yaml:"rules"`
				} `yaml:"depguard"`
			} `yaml:"settings"`
		} `yaml:"linters"`
	}
	if err := yaml.Unmarshal([]byte(read(t, ".golangci.yml")), &config); err != nil {
		t.Fatal(err)
	}
	for name, rule := range config.Linters.Settings.Depguard.Rules {
		if !strings.HasPrefix(name, "floor-") {
			continue
		}
		if len(rule.Files) == 0 {
			t.Fatalf("%s: no files, want a pattern", name)
		}
		f := floor{packages: packagesOf(rule.Files[0])}
		for _, file := range rule.Files[1:] {
			left, out := strings.CutPrefix(file, "!")
			if !out || !covers(f.packages, strings.TrimSuffix(packagesOf(left), "/...")) {
				t.Fatalf("%s: files %s, want one pattern, and after it what is left out of that", name, file)
			}
			f.except = append(f.except, packagesOf(left))
		}
		for _, allow := range rule.Allow {
			exact := strings.TrimSuffix(allow, "$")
			short := strings.TrimPrefix(strings.TrimPrefix(exact, module), "/")
			if exact == allow {
				short += "/..."
			}
			if short == "" {
				short = "."
			}
			if short != f.packages && short+"/..." != f.packages { // a package and its tests may import themselves
				f.allows = append(f.allows, short)
			}
		}
		slices.Sort(f.allows)
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b floor) int { return strings.Compare(a.packages, b.packages) })
	return all
}

// packagesOf makes a pattern of packages of one of files.
func packagesOf(files string) string {
	path := strings.TrimPrefix(files, "${config-path}/")
	if below, all := strings.CutSuffix(path, "**.go"); all {
		return below + "..."
	}
	if path = strings.TrimSuffix(strings.TrimSuffix(path, "*.go"), "/"); path == "" {
		return "."
	}
	return path
}

// holds reports whether a package stands on the floor.
func (f floor) holds(path string) bool {
	return covers(f.packages, path) && !slices.ContainsFunc(f.except, func(e string) bool { return covers(e, path) })
}

// covers reports whether a pattern is about a package, both without the module.
func covers(pattern, path string) bool {
	below, many := strings.CutSuffix(pattern, "/...")
	return path == below || many && strings.HasPrefix(path, below+"/")
}

// The table of imports in docs/architecture.md is what the linter holds.
func TestArchitectureIsWhatTheLinterHolds(t *testing.T) {
	_, table, found := strings.Cut(read(t, "docs/architecture.md"), "| package | may import |\n|---|---|\n")
	if !found {
		t.Fatal("docs/architecture.md has no table of imports")
	}
	var got, want []string
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		got = append(got, strings.TrimSpace(line))
	}
	for _, f := range floors(t) {
		allows := "nothing of ours"
		if len(f.allows) > 0 {
			allows = "`" + strings.Join(f.allows, "`, `") + "`"
		}
		want = append(want, "| `"+f.packages+"` | "+allows+" |")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/architecture.md and .golangci.yml differ, -linter +docs:\n%s", diff)
	}
}

// Each package stands on one floor, imports what that allows, and what a floor allows is imported:
// a new edge needs a line.
func TestFloorsAreTheImports(t *testing.T) {
	all := floors(t)
	used := map[string]map[string]bool{}
	decoder := json.NewDecoder(strings.NewReader(string(goIn(t, root, "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./..."))))
	for {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if path == "" {
			path = "."
		}
		if strings.HasPrefix(path, "cmd/") {
			continue // the top
		}
		at := slices.IndexFunc(all, func(f floor) bool { return f.holds(path) })
		if at < 0 {
			t.Errorf("package %s stands on no floor: .golangci.yml must have one", path)
			continue
		}
		f := all[at]
		if used[f.packages] == nil {
			used[f.packages] = map[string]bool{}
		}
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			short, ours := strings.CutPrefix(imported, module)
			if short = strings.TrimPrefix(short, "/"); short == "" {
				short = "."
			}
			if !ours || f.holds(short) {
				continue
			}
			i := slices.IndexFunc(f.allows, func(a string) bool { return covers(a, short) })
			if i < 0 {
				t.Errorf("package %s imports %s, which its floor does not allow", path, short)
				continue
			}
			used[f.packages][f.allows[i]] = true
		}
	}
	for _, f := range all {
		for _, allow := range f.allows {
			if !used[f.packages][allow] {
				t.Errorf("%s may import %s, and does not: .golangci.yml allows too much", f.packages, allow)
			}
		}
	}
}
