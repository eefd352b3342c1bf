// Package overlay lets the user's own go command build programs whose scheduler hands delays over.
//
// The go command's flag -overlay replaces files at build time. The files are those of packages
// runtime and sync in the user's GOROOT, with hooks in a few functions, and some added ones that
// are ours, see docs/design/0006-runtime-mode.md. Nothing of Go's is kept: what is replaced is
// read from GOROOT, and rewritten, at each build.
package overlay

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// buildTag is the build tag by which our packages know that the scheduler helps.
const buildTag = "otelprof_runtime"

// The versions of Go whose runtime is known. The oldest is also the one of our go.mod.
const (
	oldest = "go1.26"
	newest = "go1.27"
)

// untested is the environment variable that, if it is not empty, lets a later version than the
// newest do, if all functions are as they should be there. It is for tests of such versions.
const untested = "OTELPROF_UNTESTED_GO"

// errUnsupported is wrapped by errors about a version of Go whose runtime is not known, or not as
// it should be.
var errUnsupported = errors.New("overlay: unsupported")

// added are the files that packages get besides. Folders lie as below src, with a _ before.
//
//go:embed _runtime/*.go _sync/*.go _internal/sync/*.go
var added embed.FS

// rewritten returns the files that are rewritten or added, by their slash-separated paths below
// src. Those of Go's are read from a GOROOT, whose version is that of "go env GOVERSION".
func rewritten(goroot, goversion string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := rewriteAll(goroot, files)
	lang := version.Lang(release(goversion))
	known := lang != "" && version.Compare(lang, oldest) >= 0 && version.Compare(lang, newest) <= 0
	later := version.Compare(lang, newest) > 0
	switch {
	case !known && !later:
		err = fmt.Errorf("must be %s to %s", oldest, newest)
	case !known && err != nil:
		err = fmt.Errorf("must be %s to %s; %w", oldest, newest, err)
	case !known && os.Getenv(untested) == "":
		err = fmt.Errorf("must be %s to %s; all functions are as they should be there, but it has not been tested: $%s=1 builds all the same",
			oldest, newest, untested)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s in %s: %w", errUnsupported, goversion, goroot, err)
	}
	return files, nil
}

// release is a version without what may follow, such as "-X:nogreenteagc" if GOEXPERIMENT was set
// when Go was built.
func release(goversion string) string {
	first, _, _ := strings.Cut(goversion, " ")
	first, _, _ = strings.Cut(first, "-X:")
	return first
}

func rewriteAll(goroot string, files map[string][]byte) error {
	for _, e := range edits {
		if files[e.file] != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(goroot, "src", filepath.FromSlash(e.file)))
		if err != nil {
			return err
		}
		if files[e.file], err = rewrite(e.file, text); err != nil {
			return err
		}
	}
	const name = "runtime/traceruntime.go"
	text, err := os.ReadFile(filepath.Join(goroot, "src", filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	if files["runtime/otelprof_log.go"], err = logging(text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fs.WalkDir(added, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[strings.TrimPrefix(path, "_")], err = added.ReadFile(path)
		return err
	})
}

// replacements is the document that -overlay takes.
type replacements struct{ Replace map[string]string }

// merge writes the files below a folder and returns the document that -overlay takes. Further are
// the user's own replacements; if one of them is about the same file, that is an error.
//
// Names depend on the contents, and files come into being whole, so any number of builds may do
// this at the same time.
func merge(folder, goroot string, files map[string][]byte, further map[string]string) (document string, err error) {
	all := replacements{maps.Clone(further)}
	if all.Replace == nil {
		all.Replace = map[string]string{}
	}
	mine := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(goroot, "src", filepath.FromSlash(name))
		if mine[path], err = store(folder, name, files[name]); err != nil {
			return "", err
		}
	}
	for path := range further {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		if mine[absolute] != "" {
			return "", fmt.Errorf("overlay: -overlay replaces %s, which runtime mode must replace: only one of them can", path)
		}
	}
	maps.Copy(all.Replace, mine)
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return "", err
	}
	return store(folder, "overlay.json", text)
}

// store keeps a file below the folder, in one named after its contents, and returns its path.
func store(folder, name string, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	path := filepath.Join(folder, hex.EncodeToString(sum[:8]), name)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
		return path, nil
	}
	if err := create(path, text); err != nil {
		return "", unwritable(err)
	}
	return path, nil
}

// create makes a file come into being whole. Only its owner may read it, and go into its folder:
// who can write there has a say in what is built.
func create(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".*~")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// unwritable is the error of a cache folder that cannot be written to.
func unwritable(err error) error {
	variable := "XDG_CACHE_HOME"
	switch runtime.GOOS {
	case "windows":
		variable = "LocalAppData"
	case "darwin", "ios":
		variable = "HOME"
	}
	return fmt.Errorf("overlay: %w: must be writable, or $%s set to another folder", err, variable)
}
