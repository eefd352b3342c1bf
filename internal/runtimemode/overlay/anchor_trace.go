package overlay

import (
	"fmt"
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
var registerStrings = atEntry("uintptr", " otelprofRegister(%s); ")

// logging returns a file with a function that writes a log as runtime/trace.Log does, but takes
// strings by their numbers.
func logging(traceruntime []byte) ([]byte, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "traceruntime.go", traceruntime, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	const function = "func trace_userLog"
	s := &source{node: declaration(file, function)}
	if s.node == nil {
		return nil, fmt.Errorf("%s: %w", function, errMissing)
	}
	event, err := one(s, "tl.eventWriter(…).event(…, traceArg(id), tl.string(category), tl.uniqueString(message), tl.stack(…))", func(c *ast.CallExpr) bool {
		return strings.HasPrefix(types.ExprString(c.Fun), "tl.eventWriter(") && strings.HasSuffix(types.ExprString(c.Fun), ").event") && len(c.Args) == 5 &&
			list(c.Args[1:4]) == "traceArg(id), tl.string(category), tl.uniqueString(message)"
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", function, err)
	}
	const text = `package runtime

import "internal/trace/tracev2"

func otelprofLog(tl traceLocker, object, category, message traceArg) {
	%s(%s, object, category, message, 0)
}
`
	return fmt.Appendf(nil, text, types.ExprString(event.Fun), types.ExprString(event.Args[0])), nil
}
