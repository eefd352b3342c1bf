package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// A folder is one of Go files that are not tests.
type folder struct {
	files, lines int
	comments     int // lines that are comments alone
	names        int // exported at the top level
}

// A house is the project.
type house struct {
	folders  map[string]*folder
	longest  int // function, in lines
	where    string
	widest   int // comment in prose, in columns, with tabs of four
	wide     string
	words    int             // of the documentation
	internal map[string]bool // folders below internal
}

func readHouse(root string) (*house, error) {
	h := &house{folders: map[string]*folder{}, internal: map[string]bool{}}
	files := os.DirFS(root)
	return h, fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			if path.Dir(name) == "internal" {
				h.internal[name] = true
			}
			return nil
		case strings.HasPrefix(name, "docs/") && path.Ext(name) == ".md":
			text, err := fs.ReadFile(files, name)
			h.words += len(strings.Fields(string(text)))
			return err
		case path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			return h.read(name, text)
		}
		return nil
	})
}

func (h *house) read(name string, text []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	at := h.folders[dir]
	if at == nil {
		at = &folder{}
		h.folders[dir] = at
	}
	at.files++
	for line := range strings.Lines(string(text)) {
		at.lines++
		if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "//") {
			at.comments++
			if n := columns(line); n > h.widest && prose(comment) {
				h.widest, h.wide = n, name
			}
		}
	}
	for _, decl := range f.Decls {
		at.names += exported(decl)
		if function, ok := decl.(*ast.FuncDecl); ok {
			if n := fset.Position(function.End()).Line - fset.Position(function.Pos()).Line + 1; n > h.longest {
				h.longest, h.where = n, name+" "+function.Name.Name
			}
		}
	}
	return nil
}

// columns is how wide a line is, with tabs of four.
func columns(line string) int {
	line = strings.TrimRight(line, "\n")
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// prose reports whether a comment is text, not a directive, an example or a row of a table.
func prose(comment string) bool {
	text, ok := strings.CutPrefix(comment, "// ")
	return ok && !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "\t") && !strings.Contains(text, "://")
}

// exported counts the names at the top level that a declaration has importers see.
func exported(decl ast.Decl) (n int) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			n++
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					n++
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						n++
					}
				}
			}
		}
	}
	return n
}

// public reports whether other modules can import a folder.
func public(name string) bool {
	parts := strings.Split(name, "/")
	return !slices.Contains(parts, "internal") && parts[0] != "cmd" && parts[0] != "examples" && parts[0] != "integration"
}

const replayFolder = "internal/replay"

func (h *house) figures() []figure {
	var lines, replay, comments, names int
	var mostFiles, mostLines figure
	for name, f := range h.folders {
		lines += f.lines
		if name == replayFolder || strings.HasPrefix(name, replayFolder+"/") {
			replay += f.lines
			comments += f.comments
		}
		if public(name) {
			names += f.names
		}
		if float64(f.files) > mostFiles.value {
			mostFiles = figure{"largest folder", float64(f.files), "files", 30, false, name}
		}
		if float64(f.lines) > mostLines.value {
			mostLines = figure{"largest folder", float64(f.lines), "lines", 4500, false, name}
		}
	}
	return []figure{
		{"Go without tests", float64(lines), "lines", 75_000, false, ""},
		mostFiles,
		mostLines,
		{"folders of internal", float64(len(h.internal)), "folders", 20, false, ""},
		{"replay, all rooms", float64(replay), "lines", 11_000, false, ""},
		{"exported top-level names", float64(names), "names", 300, false, ""},
		{"longest function", float64(h.longest), "lines", 60, false, h.where},
		{"widest comment", float64(h.widest), "columns", 100, false, h.wide},
		{"words in docs", float64(h.words), "words", 25_000, false, ""},
		{"comments of replay", 100 * float64(comments) / float64(max(1, replay)), "% of lines", 18, true, ""},
	}
}
