package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// An edit changes one place of a program's source. A place that is not there, or there more than
// once, is an error: the program is then another one than the edit was made for.
type edit struct {
	file     string // below the module's folder, with slashes
	from, to string
}

// apply makes the edit in the module in dir.
func (e edit) apply(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(e.file))
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), e.from); n != 1 {
		return fmt.Errorf("%s: %q: must be there once, is there %d times", e.file, e.from, n)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), e.from, e.to, 1)), 0o644)
}

// imports returns the edit that has a file import a package. The file must have one import
// declaration, in parentheses.
func imports(file, path string) edit {
	const declaration = "\nimport (\n"
	return edit{file, declaration, declaration + fmt.Sprintf("\t%q\n", path)}
}
