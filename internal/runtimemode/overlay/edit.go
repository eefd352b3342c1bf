package overlay

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// An edit changes one declaration of Go's own packages. It finds its place by the shape of the
// statements there, and fails if that is not as it must be.
type edit struct {
	file string // below src
	decl string // "func x", "func T.x" for a method of T or *T, "type x" or "const x"
	find func(*source) error
}

// edits are all changes to files of Go's own packages. What they insert is on the line where they
// insert it, so that stack traces keep their line numbers.
var edits = []edit{
	{"runtime/runtime2.go", "type g", field("otelprof otelprofG")},
	{"runtime/runtime2.go", "type g", bubbled},
	{"runtime/runtime2.go", "type p", field("otelprof otelprofP")},
	{"runtime/proc.go", "func casgstatus", seeSwitches},
	{"runtime/proc.go", "func casGToPreemptScan", seePreemptions},
	{"runtime/proc.go", "func retake", lengthenSlices},
	{"runtime/coro.go", "func coroswitch_m", forbidShortcut},
	{"runtime/time.go", "func goroutineReady", extendSleeps},
	{"runtime/time.go", "func timeSleep", settleSleeps},
	{"runtime/trace.go", "func StartTrace", seeTraces("true")},
	{"runtime/trace.go", "func traceAdvance", seeTraces("false")},
	{"runtime/trace.go", "func traceRegisterLabelsAndReasons", registerStrings},
	{"runtime/tracetime.go", "const traceTimeDiv", sharpenClock},
	{"runtime/chan.go", "func makechan", tellMakes},
	{"runtime/chan.go", "func chansend", tellSends},
	{"runtime/chan.go", "func chanrecv", tellReceives},
	{"runtime/chan.go", "func chanrecv", settle("true, success")},
	{"runtime/chan.go", "func closechan", tellCloses},
	{"runtime/select.go", "func selectgo", tellSelects},
	{"runtime/select.go", "func selectgo", settle("casi, recvOK")},
	{"runtime/netpoll.go", "func poll_runtime_pollWait", settle("pollNoError")},
	{"internal/sync/mutex.go", "func Mutex.unlockSlow", tellSlowUnlocks},
	{"sync/mutex.go", "func Mutex.Lock", tellLocks},
	{"sync/mutex.go", "func Mutex.TryLock", tellTryLocks},
	{"sync/mutex.go", "func Mutex.Unlock", tellUnlocks},
	{"sync/rwmutex.go", "func RWMutex.RLock", tellRLocks},
	{"sync/rwmutex.go", "func RWMutex.TryRLock", tellReadTryLocks},
	{"sync/rwmutex.go", "func RWMutex.RUnlock", tellRUnlocks},
	{"sync/rwmutex.go", "func RWMutex.rUnlockSlow", tellSlowRUnlocks},
	{"sync/rwmutex.go", "func RWMutex.Lock", tellWriteLocks},
	{"sync/rwmutex.go", "func RWMutex.TryLock", tellWriteTryLocks},
	{"sync/rwmutex.go", "func RWMutex.Unlock", tellWriteUnlocks},
	{"sync/waitgroup.go", "func WaitGroup.Add", tellAdds},
	{"sync/waitgroup.go", "func WaitGroup.Wait", tellGroupWaits},
	{"sync/cond.go", "func Cond.Wait", tellCondWaits},
	{"sync/cond.go", "func Cond.Signal", tellSignals('n', "runtime_notifyListNotifyOne")},
	{"sync/cond.go", "func Cond.Broadcast", tellSignals('m', "runtime_notifyListNotifyAll")},
}

// A source is a declaration in a file that is being rewritten.
type source struct {
	fset    *token.FileSet
	text    []byte
	node    ast.Node // *ast.FuncDecl, *ast.TypeSpec or *ast.ValueSpec
	splices []splice
}

// A splice is text that takes the place of some bytes.
type splice struct {
	from, to int
	text     string
}

// rewrite applies the edits for one file, named by its path below src, to its text.
func rewrite(name string, text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path.Base(name), text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("%s/%w", path.Dir(name), err)
	}
	var splices []splice
	for _, e := range edits {
		if e.file != name {
			continue
		}
		s := &source{fset: fset, text: text, node: declaration(file, e.decl)}
		err := errMissing
		if s.node != nil {
			err = e.find(s)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, e.decl, err)
		}
		splices = append(splices, s.splices...)
	}
	out := apply(text, splices)
	if _, err := parser.ParseFile(token.NewFileSet(), path.Base(name), out, parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("%s/%w", path.Dir(name), err)
	}
	return out, nil
}

func apply(text []byte, splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, s := range splices {
		out = append(out, text[at:s.from]...)
		out = append(out, s.text...)
		at = s.to
	}
	return append(out, text[at:]...)
}

// declaration returns the function or type that an edit is about, nil if there is none.
func declaration(file *ast.File, name string) ast.Node {
	kind, name, _ := strings.Cut(name, " ")
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if kind == "func" && receiver(d)+d.Name.Name == name && d.Body != nil {
				return d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if kind == "type" && spec.Name.Name == name {
						return spec
					}
				case *ast.ValueSpec:
					if kind == "const" && d.Tok == token.CONST && len(spec.Names) == 1 && spec.Names[0].Name == name && len(spec.Values) == 1 {
						return spec
					}
				}
			}
		}
	}
	return nil
}

// receiver returns "T." for a method of T or *T, and "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "."
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

func (s *source) body() *ast.BlockStmt { return s.node.(*ast.FuncDecl).Body }

func (s *source) insert(at token.Pos, format string, args ...any) {
	s.replace(at, at, format, args...)
}

func (s *source) replace(from, to token.Pos, format string, args ...any) {
	s.splices = append(s.splices, splice{s.offset(from), s.offset(to), fmt.Sprintf(format, args...)})
}

// params returns the names of a function's parameters, if their types are these.
func (s *source) params(want ...string) ([]string, error) {
	var names, got []string
	for _, f := range s.node.(*ast.FuncDecl).Type.Params.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
			got = append(got, types.ExprString(f.Type))
		}
	}
	if !slices.Equal(want, got) {
		return nil, fmt.Errorf("parameters (%s): must be (%s)", strings.Join(got, ", "), strings.Join(want, ", "))
	}
	return names, nil
}

// one returns the node below the declaration for which match holds, if there is just one.
func one[N ast.Node](s *source, what string, match func(N) bool) (N, error) {
	var found []N
	ast.Inspect(s.node, func(n ast.Node) bool {
		if n, ok := n.(N); ok && match(n) {
			found = append(found, n)
		}
		return true
	})
	if len(found) != 1 {
		var none N
		return none, fmt.Errorf("%s: found %d times, must be once", what, len(found))
	}
	return found[0], nil
}
