// Package docs_test holds what the documentation says against the code.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/plan"
)

const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReadmeMirrorsQuickstart(t *testing.T) {
	_, block, found := strings.Cut(read(t, "README.md"), "```go\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("README.md has no block of Go")
	}
	if code := read(t, "examples/quickstart/main.go"); !strings.Contains(code, block) {
		t.Errorf("examples/quickstart/main.go does not contain the first block of README.md:\n%s\nit is:\n%s", block, code)
	}
}

// pictures are added when a release is made.
var link = regexp.MustCompile(`[^!]\[[^\]]*\]\(([^)#]+)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(root, filepath.Dir(page), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link to %s: %v", page, m[1], err)
			}
		}
	}
}

// pages are the Markdown files at the root and in docs.
func pages(t *testing.T) []string {
	t.Helper()
	tree := os.DirFS(root)
	list, err := fs.Glob(tree, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(tree, "docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestEveryPlanKeyIsDocumented(t *testing.T) {
	page := read(t, "docs/plans.md")
	for _, key := range keys("", reflect.TypeFor[plan.Plan]()) {
		if !strings.Contains(page, "| `"+key+"` |") {
			t.Errorf("docs/plans.md has no row for %s", key)
		}
	}
}

// keys returns the paths of all values in a plan, "timing.warmup", "regions[].span".
func keys(prefix string, t reflect.Type) []string {
	var list []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		inner, path := f.Type, prefix+name
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			inner, path = inner.Elem(), path+"[]"
		}
		if inner.Kind() == reflect.Struct && strings.HasPrefix(inner.PkgPath(), "github.com/otelprof") {
			list = append(list, keys(path+".", inner)...)
			continue
		}
		list = append(list, path)
	}
	return list
}

// names are those of attributes, metrics, baggage members and environment variables.
var names = regexp.MustCompile(`"(otelprof\.[a-z_]+(?:\.[a-z_]+)*|OTELPROF_[A-Z_]+)"`)

func TestEveryNameIsDocumented(t *testing.T) {
	page := read(t, "docs/attributes.md")
	found := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "examples" || path == "integration" || len(path) > 1 && path[0] == '.'):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		for _, m := range names.FindAllStringSubmatch(read(t, path), -1) {
			found++
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("%s: name %q is not in docs/attributes.md", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("found no names in the code")
	}
}
