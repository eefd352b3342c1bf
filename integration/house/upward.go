package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// leastFiles is how many files a package has whose references are looked at.
const leastFiles = 21

// upwardFigure finds the package in which the largest part of the references from file to file run
// upwards, in an order of its files in which few do.
func upwardFigure(root string) (figure, error) {
	worst := figure{name: "references upward", unit: "% of those between files", goal: 10}
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly", "./...")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return worst, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	type pkg struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		DepOnly                 bool
	}
	var large []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return worst, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly && len(p.GoFiles) >= leastFiles {
			large = append(large, p)
		}
	}
	for _, p := range large {
		between, err := references(p.ImportPath, p.Dir, p.GoFiles, exports)
		if err != nil {
			return worst, err
		}
		if part := 100 * upward(between); part >= worst.value {
			worst.value, worst.where = part, p.ImportPath
		}
	}
	return worst, nil
}

// references counts those from each file of a package to declarations in each other one.
func references(path, dir string, names []string, exports map[string]string) (map[[2]string]int, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	checked, err := config.Check(path, fset, files, info)
	if err != nil {
		return nil, err
	}
	between := map[[2]string]int{}
	for id, o := range info.Uses {
		if o.Pkg() != checked || o.Parent() != nil && o.Parent() != checked.Scope() { // fields and methods have no parent
			continue
		}
		if from, to := fset.Position(id.Pos()).Filename, fset.Position(o.Pos()).Filename; from != to {
			between[[2]string{from, to}]++
		}
	}
	return between, nil
}

// upward returns which part of the references runs against an order of the files. The order is that
// of Eades, Lin and Smyth, "A fast and effective heuristic for the feedback arc set problem", 1993:
// files that refer to none are last, files that none refers to come first, and else the file with
// the most references more from it than to it.
func upward(between map[[2]string]int) float64 {
	out, in := map[string]int{}, map[string]int{}
	for pair, n := range between {
		out[pair[0]] += n
		in[pair[1]] += n
	}
	left := map[string]bool{}
	for pair := range between {
		left[pair[0]], left[pair[1]] = true, true
	}
	var first, last []string
	for len(left) > 0 {
		names := slices.Sorted(maps.Keys(left))
		next, sink := names[0], false
		for _, name := range names {
			if out[name] == 0 {
				next, sink = name, true
				break
			}
			if in[name] == 0 && in[next] != 0 || in[name] != 0 == (in[next] != 0) && out[name]-in[name] > out[next]-in[next] {
				next = name
			}
		}
		if sink {
			last = append(last, next)
		} else {
			first = append(first, next)
		}
		delete(left, next)
		for pair, n := range between {
			if pair[0] == next {
				in[pair[1]] -= n
			}
			if pair[1] == next {
				out[pair[0]] -= n
			}
		}
	}
	slices.Reverse(last)
	place := map[string]int{}
	for i, name := range append(first, last...) {
		place[name] = i
	}
	all, up := 0, 0
	for pair, n := range between {
		all += n
		if place[pair[1]] < place[pair[0]] {
			up += n
		}
	}
	return float64(up) / float64(max(1, all))
}
