// Package docs_test holds what the documentation says against the code.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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

// The first two blocks of Go in README.md stand in programs that are tested.
func TestReadmeMirrorsPrograms(t *testing.T) {
	rest := read(t, "README.md")
	for _, program := range []string{"otelprof_example_test.go", "examples/quickstart/main.go"} {
		_, block, found := strings.Cut(rest, "```go\n")
		block, after, closed := strings.Cut(block, "```")
		if !found || !closed {
			t.Fatalf("README.md has no block of Go for %s", program)
		}
		code := read(t, program)
		if !strings.Contains(code, block) && !strings.Contains(strings.ReplaceAll(code, "\n\t", "\n"), block) { // a part of a function
			t.Errorf("%s does not contain this block of README.md:\n%s", program, block)
		}
		rest = after
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

// The public packages are those in which the check of the API looks for what breaks programs.
func TestAPIDiffHasThePublicPackages(t *testing.T) {
	_, list, _ := strings.Cut(read(t, "VERSIONING.md"), "`github.com/otelprof/otelprof`: the root,")
	list, _, _ = strings.Cut(list, "\n- ")
	want := []string{"."}
	for _, m := range quoted.FindAllStringSubmatch(list, -1) {
		want = append(want, m[1])
	}
	_, packages, _ := strings.Cut(read(t, ".github/workflows/apidiff.yml"), "PACKAGES: >-\n")
	packages, _, _ = strings.Cut(packages, "    steps:\n")
	got := strings.Fields(packages)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf(".github/workflows/apidiff.yml compares %q, VERSIONING.md has %q", got, want)
	}
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

// plans are the plans that pages show, in a block or indented.
var plans = regexp.MustCompile(`(?m)^ *api: causal/v1\n(?:(?: .*|[a-z]+:.*)\n)*`)

// A plan that a page shows is accepted on the day that it is read: only its end, which plan new
// writes, is added.
func TestPlansAreAccepted(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		for _, text := range plans.FindAllString(read(t, page), -1) {
			found++
			indent := text[:strings.Index(text, "api:")]
			text += indent + "expires_at: " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + "\n"
			if _, err := plan.Parse([]byte(text)); err != nil {
				t.Errorf("%s: this plan is refused: %v\n%s", page, err, text)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d plans found, want those of README.md and docs/plans.md", found)
	}
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
