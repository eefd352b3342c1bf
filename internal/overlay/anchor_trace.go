package overlay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
)

// seeTraces has otelprofTracing follow the tracer's own variable.
func seeTraces(value string) func(*source) error {
	return func(s *source) error {
		a, err := s.assigns("trace.enabled = " + value)
		if err != nil {
			return err
		}
		s.insert(a.End(), "; otelprofTracing = %s", value)
		return nil
	}
}

// sharpenClock has a trace count in otelprofTick.
func sharpenClock(s *source) error {
	v := s.node.(*ast.ValueSpec).Values[0]
	s.insert(v.Pos(), "otelprofTick + 0*(") // it may be the only use of an import
	s.insert(v.End(), ")")
	return nil
}

// registerStrings has a generation of the trace begin with our strings in it.
func registerStrings(s *source) error {
	p, err := s.params("uintptr")
	if err != nil {
		return err
	}
	s.insert(s.body().Lbrace+1, " otelprofRegister(%s); ", p[0])
	return nil
}

// logging returns the function that writes a log, whose constants have other names in other versions.
func logging(traceruntime []byte) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "traceruntime.go", traceruntime, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	s := &source{node: declaration(file, "func trace_userLog")}
	if s.node == nil {
		return "", errMissing
	}
	event, err := one(s, "tl.eventWriter(…).event(…, traceArg(id), tl.string(category), tl.uniqueString(message), tl.stack(…))", func(c *ast.CallExpr) bool {
		return strings.HasPrefix(types.ExprString(c.Fun), "tl.eventWriter(") && strings.HasSuffix(types.ExprString(c.Fun), ").event") && len(c.Args) == 5 &&
			list(c.Args[1:4]) == "traceArg(id), tl.string(category), tl.uniqueString(message)"
	})
	if err != nil {
		return "", err
	}
	imports := ""
	kind := types.ExprString(event.Args[0])
	if strings.HasPrefix(kind, "tracev2.") {
		imports = "import \"internal/trace/tracev2\"\n\n"
	}
	return imports + "func otelprofLog(tl traceLocker, object, category, message traceArg) {\n\t" +
		types.ExprString(event.Fun) + "(" + kind + ", object, category, message, 0)\n}\n", nil
}
