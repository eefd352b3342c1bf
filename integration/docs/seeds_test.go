package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A feature is a row of docs/design/seeds.md.
type feature struct {
	seed, name, state string
	where, shown      []string // what stands in backquotes
}

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`^(Test|Example|Fuzz)\w*$`)
)

// features reads the tables whose heading has these four columns, and what is wrong with their
// form.
func features(page string) (list []feature, problems []string) {
	seed, inside := "", false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		heading, isHeading := strings.CutPrefix(line, "## ")
		switch {
		case isHeading:
			seed, inside = heading, false
		case line == "| feature | state | where | shown by |":
			inside = true
		case !strings.HasPrefix(line, "|"):
			inside = false
		case inside && !strings.HasPrefix(line, "|---"):
			cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
			if len(cells) != 4 {
				problems = append(problems, fmt.Sprintf("%s: %d columns, want 4: %s", seed, len(cells), line))
				continue
			}
			f := feature{seed: seed, name: strings.TrimSpace(cells[0]), state: strings.TrimSpace(cells[1])}
			for i, names := range []*[]string{&f.where, &f.shown} {
				for _, m := range quoted.FindAllStringSubmatch(cells[2+i], -1) {
					*names = append(*names, m[1])
				}
			}
			list = append(list, f)
		}
	}
	return list, problems
}

// A project is what a page may name.
type project struct {
	tests, targets, verbs, words map[string]bool
	exists                       func(path string) bool
}

// problems says what is wrong with a feature.
func (p project) problems(f feature) (list []string) {
	say := func(format string, args ...any) {
		list = append(list, fmt.Sprintf("%s: %q: ", f.seed, f.name)+fmt.Sprintf(format, args...))
	}
	state, reason, _ := strings.Cut(f.state, ": ")
	switch {
	case f.name == "":
		say("must have a name")
	case state == "whole" && reason != "", state != "whole" && state != "otherwise" && state != "left out":
		say(`state %q: must be "whole", or "otherwise" or "left out" with ": " and a reason`, f.state)
	case state != "whole" && reason == "":
		say("state %q: must have a reason", f.state)
	case state != "left out" && (len(f.where) == 0 || len(f.shown) == 0):
		say("%s: must say where it is and what shows it", state)
	}
	for _, name := range slices.Concat(f.where, f.shown) {
		if !p.has(name) {
			say("there is no %s", name)
		}
	}
	return list
}

// has reports whether there is a test, a target of make, a command with its flags, or a file or
// folder.
func (p project) has(name string) bool {
	words := strings.Fields(name)
	switch {
	case len(words) == 0:
		return false
	case words[0] == "make":
		return len(words) > 1 && p.targets[words[1]]
	case words[0] == "otelprof":
		flags := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
		if flags < 0 {
			flags = len(words)
		}
		known := func(flag string) bool { return p.words[strings.TrimPrefix(flag, "-")] }
		return p.verbs[strings.Join(words[1:flags], " ")] && !slices.ContainsFunc(words[flags:], func(w string) bool { return !known(w) })
	case testName.MatchString(name):
		return p.tests[name]
	default:
		return p.exists(name)
	}
}

// Each file, command and test that the page of features names exists.
func TestSeedsAreWhatExists(t *testing.T) {
	list, problems := features(read(t, "docs/design/seeds.md"))
	p := wholeProject(t)
	rows := map[string]int{}
	for _, f := range list {
		rows[f.seed]++
		problems = append(problems, p.problems(f)...)
	}
	for _, problem := range problems {
		t.Errorf("docs/design/seeds.md: %s", problem)
	}
	numbered := regexp.MustCompile(`^[1-5]\. `)
	seeds := 0
	for seed, n := range rows {
		if numbered.MatchString(seed) && n >= 10 {
			seeds++
		}
	}
	if seeds != 5 {
		t.Errorf("docs/design/seeds.md has %d articles with ten features at least, want 5: %v", seeds, rows)
	}
}

// What does not exist, and what no state is, is found.
func TestSeedsOfAPageThatIsWrong(t *testing.T) {
	p := wholeProject(t)
	good := feature{
		seed: "1. A seed", name: "a feature", state: "whole",
		where: []string{"otelhdr", "go.mod", "otelprof hdr diff -expect"}, shown: []string{"TestSeedsOfAPageThatIsWrong", "make test"},
	}
	if list := p.problems(good); len(list) > 0 {
		t.Errorf("a good row has problems: %q", list)
	}
	for name, change := range map[string]func(*feature){
		"no state":           func(f *feature) { f.state = "mostly" },
		"whole with a but":   func(f *feature) { f.state = "whole: nearly" },
		"no reason":          func(f *feature) { f.state = "left out" },
		"shown by nothing":   func(f *feature) { f.shown = nil },
		"nowhere":            func(f *feature) { f.where = nil },
		"no such folder":     func(f *feature) { f.where = []string{"otelhdr/none"} },
		"no such test":       func(f *feature) { f.shown = []string{"TestSeedsOfNothing"} },
		"no such target":     func(f *feature) { f.shown = []string{"make nothing"} },
		"no such command":    func(f *feature) { f.where = []string{"otelprof diff"} },
		"no such subcommand": func(f *feature) { f.where = []string{"otelprof hdr show"} },
		"no such flag":       func(f *feature) { f.where = []string{"otelprof hdr diff -nothing"} },
	} {
		f := good
		change(&f)
		if list := p.problems(f); len(list) != 1 {
			t.Errorf("%s: problems %q, want one", name, list)
		}
	}
	list, problems := features("## 1. A seed\n\n| feature | state | where | shown by |\n|---|---|---|---|\n| a | whole | `x`, `y` | `z` |\n| b | whole |\n\n| c | d | e | f |\n")
	if len(list) != 1 || len(list[0].where) != 2 || len(list[0].shown) != 1 || len(problems) != 1 {
		t.Errorf("features = %+v, %q; want one with three names, and one problem", list, problems)
	}
}

// wholeProject is what is in all modules of the checkout.
func wholeProject(t *testing.T) project {
	t.Helper()
	p := project{tests: map[string]bool{}, targets: map[string]bool{}}
	p.exists = func(path string) bool {
		_, err := os.Stat(filepath.Join(root, path))
		return err == nil
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		p.targets[m[1]] = true
	}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && len(d.Name()) > 1 && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		for _, m := range function.FindAllStringSubmatch(read(t, path), -1) {
			p.tests[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.verbs, p.words = commands(t)
	return p
}

// commands reads cmd/otelprof: its commands as they are typed, "hdr diff", and all strings, the
// names of flags among them.
func commands(t *testing.T) (verbs, words map[string]bool) {
	t.Helper()
	var files []string
	for _, pattern := range []string{"cmd/otelprof/*.go", "cmd/otelprof/internal/*/*.go"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	verbs, words = map[string]bool{}, map[string]bool{}
	names, subs := map[string]string{}, map[string][]string{} // by package and variable
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				words[text(n)] = true
			case *ast.ValueSpec:
				for i, value := range n.Values {
					variable := file.Name.Name + "." + n.Names[i].Name
					names[variable], subs[variable] = commandOf(file.Name.Name, value)
				}
			}
			return true
		})
	}
	var add func(variable, path string)
	add = func(variable, path string) {
		for _, sub := range subs[variable] {
			verb := strings.TrimSpace(path + " " + names[sub])
			verbs[verb] = true
			add(sub, verb)
		}
	}
	add("main.root", "")
	return verbs, words
}

// commandOf returns the name of a command, and the variables of the commands below it: of
// &command.Command{…} or goCommand(…).
func commandOf(pkg string, value ast.Expr) (name string, sub []string) {
	switch v := value.(type) {
	case *ast.CallExpr:
		if len(v.Args) > 0 {
			name = text(v.Args[0])
		}
	case *ast.UnaryExpr:
		literal, ok := v.X.(*ast.CompositeLit)
		if !ok {
			return "", nil
		}
		for _, element := range literal.Elts {
			field, ok := element.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			switch key, _ := field.Key.(*ast.Ident); {
			case key != nil && key.Name == "Name":
				name = text(field.Value)
			case key != nil && key.Name == "Sub":
				sub = variables(pkg, field.Value)
			}
		}
	}
	return name, sub
}

// text is that of a string literal, "" for any other expression.
func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return s
}

// variables are the elements of a slice literal, of this package or others.
func variables(pkg string, e ast.Expr) (list []string) {
	literal, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, element := range literal.Elts {
		switch v := element.(type) {
		case *ast.Ident:
			list = append(list, pkg+"."+v.Name)
		case *ast.SelectorExpr:
			if other, ok := v.X.(*ast.Ident); ok {
				list = append(list, other.Name+"."+v.Sel.Name)
			}
		}
	}
	return list
}
