package docs_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// insides is the heading of the list of files that take insides of Go or of the SDK for known.
const insides = "## Insides of Go and of the SDK"

// TestInsidesAreListed walks the root module for go:linkname, package unsafe and assembly, and
// wants each file listed, and each test that the list names to exist.
func TestInsidesAreListed(t *testing.T) {
	_, list, _ := strings.Cut(read(t, "docs/dependencies.md"), insides)
	var listed, want []string
	for _, m := range regexp.MustCompile("`([^` ]+\\.(?:go|s))`").FindAllStringSubmatch(list, -1) {
		listed = append(listed, m[1])
	}
	p := wholeProject(t)
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(list, -1) {
		if !p.has(name) {
			t.Errorf("docs/dependencies.md: there is no %s", name)
		}
	}
	inside := regexp.MustCompile(`(?m)^//go:linkname |^(?:import)?\s+_? ?"unsafe"`)
	files := os.DirFS(root)
	if err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := fs.Stat(files, path.Join(name, "go.mod"))
			if name != "." && (nested == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		assembly := strings.HasSuffix(name, ".s")
		if !assembly && !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		if text := read(t, name); inside.MatchString(text) || assembly && strings.Contains(text, "TEXT ·") {
			want = append(want, name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(listed)
	slices.Sort(want)
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("files with linknames, unsafe or assembly that docs/dependencies.md lists (-want +got):\n%s", diff)
	}
}
