package overlay

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

var errMissing = errors.New("missing")

// field adds a field at the end of a struct, where no other one's offset depends on it.
func field(text string) func(*source) error {
	return func(s *source) error {
		t, ok := s.node.(*ast.TypeSpec).Type.(*ast.StructType)
		if !ok {
			return errors.New("must be a struct")
		}
		s.insert(t.Fields.Closing, "\t%s; ", text)
		return nil
	}
}

// seeSwitches calls the hook before each change of a goroutine's status.
func seeSwitches(s *source) error {
	p, err := s.params("*g", "uint32", "uint32")
	if err != nil {
		return err
	}
	loop, err := s.loops(fmt.Sprintf("!%s.atomicstatus.CompareAndSwap(%s, %s)", p[0], p[1], p[2]))
	if err != nil {
		return err
	}
	s.insert(loop.Pos(), "if otelprofOn != 0 && otelprofSees(%[1]s, %[2]s, %[3]s) { systemstack(func() { otelprofSwitch(%[1]s, %[2]s, %[3]s) }) }; ", p[0], p[1], p[2])
	return nil
}

// seePreemptions calls the hook for the one stop that no change of status by casgstatus shows.
func seePreemptions(s *source) error {
	p, err := s.params("*g", "uint32", "uint32")
	if err != nil {
		return err
	}
	loop, err := s.loops("!" + p[0] + ".atomicstatus.CompareAndSwap(_Grunning, _Gscan | _Gpreempted)")
	if err != nil {
		return err
	}
	s.insert(loop.Pos(), "if otelprofOn != 0 { otelprofPreempted(%s) }; ", p[0])
	return nil
}

// lengthenSlices has sysmon note where a slice begins, and ask before it preempts.
func lengthenSlices(s *source) error {
	p, err := s.params("int64")
	if err != nil {
		return err
	}
	owner, err := one(s, "a variable that is an element of allp", func(a *ast.AssignStmt) bool {
		return len(a.Lhs) == 1 && a.Tok == token.DEFINE && strings.HasPrefix(types.ExprString(a.Rhs[0]), "allp[")
	})
	if err != nil {
		return err
	}
	const field = ".schedwhen"
	slice, err := one(s, "if …"+field+"+forcePreemptNS <= "+p[0], func(i *ast.IfStmt) bool {
		return strings.HasSuffix(types.ExprString(i.Cond), field+" + forcePreemptNS <= "+p[0])
	})
	if err != nil {
		return err
	}
	tick, _, _ := strings.Cut(types.ExprString(slice.Cond), field)
	first, err := s.assigns(tick + field + " = " + p[0])
	if err != nil {
		return err
	}
	pp := types.ExprString(owner.Lhs[0])
	s.insert(first.End(), "; %[1]s.otelprof.aheadBefore = %[1]s.otelprof.ahead", pp)
	s.insert(slice.Cond.End(), " && !otelprofLonger(%s, %s, %s)", pp, tick, p[0])
	return nil
}

// forbidShortcut has coroutines change their status as others do.
func forbidShortcut(s *source) error {
	a, err := s.assigns("canCAS := true")
	if err != nil {
		return err
	}
	s.replace(a.Rhs[0].Pos(), a.Rhs[0].End(), "otelprofOn == 0")
	return nil
}

// extendSleeps has the timer of a sleep ask before it ends it.
func extendSleeps(s *source) error {
	ready, err := one(s, "goready(….(*g), …)", func(c *ast.CallExpr) bool {
		if types.ExprString(c.Fun) != "goready" || len(c.Args) == 0 {
			return false
		}
		t, ok := c.Args[0].(*ast.TypeAssertExpr)
		return ok && types.ExprString(t.Type) == "*g"
	})
	if err != nil {
		return err
	}
	s.insert(ready.Pos(), "if otelprofEpoch != 0 && otelprofExtend(%s) { return }; ", types.ExprString(ready.Args[0]))
	return nil
}

// settle has a goroutine pay when a wait is over that a timer or the network may have ended. The
// place is the one return of these values, with no lock held.
func settle(results string) func(*source) error {
	return func(s *source) error {
		last, err := s.returns(results)
		if err != nil {
			return err
		}
		s.insert(last.Pos(), "if otelprofEpoch != 0 { otelprofSettle() }; ")
		return nil
	}
}

// settleSleeps has a goroutine pay what is left when a sleep is over.
func settleSleeps(s *source) error {
	if _, err := s.params("int64"); err != nil {
		return err
	}
	body := s.body()
	if len(body.List) == 0 {
		return errors.New("must have a body")
	}
	if _, isReturn := body.List[len(body.List)-1].(*ast.ReturnStmt); isReturn {
		return errors.New("must not end in a return")
	}
	s.insert(body.Rbrace, "\tif otelprofEpoch != 0 { otelprofSettle() }; ")
	return nil
}

// bubbled makes sure of the field that shows whether a goroutine is in a bubble of
// testing/synctest, whose sleeps take no time.
func bubbled(s *source) error {
	_, err := one(s, "field bubble *synctestBubble", func(f *ast.Field) bool {
		return len(f.Names) == 1 && f.Names[0].Name == "bubble" && types.ExprString(f.Type) == "*synctestBubble"
	})
	return err
}
