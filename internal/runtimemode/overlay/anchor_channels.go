package overlay

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// Operations on channels are written while the channel's lock is held, so that they stand in the
// order in which they take effect. Each insertion is behind a load of otelprofTracing.

// tellMakes has makechan write that there is a new channel where another one may have been.
func tellMakes(s *source) error {
	return s.before("otelprofPrepare(c); otelprofChannel('c', c)")(s.returns("c"))
}

// tellSends has chansend write its operations.
func tellSends(s *source) error {
	err := errors.Join(
		s.declines(), s.beforeLock(), s.beforeWait('S'),
		s.atStart("otelprofTried('s', c, block)", "sg := c.recvq.dequeue(); sg != nil"),
		s.atStart("otelprofTried('s', c, block)", "c.qcount < c.dataqsiz"),
		s.atStart("otelprofChannel('e', c)", "closed"), // it panics
	)
	if err != nil {
		return err
	}
	body := s.body().List
	last, ok := body[len(body)-1].(*ast.ReturnStmt)
	if !ok || list(last.Results) != "true" {
		return errors.New("must end in return true")
	}
	s.tell(last.Pos(), "otelprofChannel('s', c)")
	return nil
}

// tellReceives has chanrecv write its operations.
func tellReceives(s *source) error {
	return errors.Join(
		s.beforeLock(), s.beforeWait('R'),
		s.atStart("otelprofChannel('e', c)", "empty(c)"),
		s.atStart("otelprofChannel('e', c)", "c.qcount == 0"),
		s.atStart("otelprofTried('r', c, block)", "sg := c.sendq.dequeue(); sg != nil"),
		s.atStart("otelprofTried('r', c, block)", "c.qcount > 0"),
		s.before("otelprofReceived(c, success)")(s.returns("true, success")),
	)
}

// tellCloses has closechan write its operation.
func tellCloses(s *source) error {
	return s.before("otelprofChannel('z', c)")(s.assigns("c.closed = 1"))
}

// tellSelects has selectgo write its operations, with the locks of all its channels held.
func tellSelects(s *source) error {
	p, err := s.params("*scase", "*uint16", "*uintptr", "int", "int", "bool")
	if err != nil {
		return err
	}
	s.tell(s.body().Lbrace+1, "otelprofPrepareSelect("+p[0]+", "+p[3]+" + "+p[4]+")")
	for label, what := range map[string]string{"bufrecv": "'r'", "recv": "'r'", "rclose": "'e'", "bufsend": "'s'", "send": "'s'"} {
		l, err := one(s, "label "+label, func(l *ast.LabeledStmt) bool { return l.Label.Name == label })
		if err != nil {
			return err
		}
		s.tell(l.Stmt.Pos(), "otelprofTried("+what+", c, "+p[5]+" || "+what+" == 'e')")
	}
	woken, err := one(s, "if casi < nsends with the end of a wait", func(i *ast.IfStmt) bool {
		if len(i.Body.List) == 0 || condition(i) != "casi < nsends" {
			return false
		}
		inner, ok := i.Body.List[0].(*ast.IfStmt)
		return ok && condition(inner) == "!caseSuccess"
	})
	if err != nil {
		return err
	}
	s.tell(woken.Body.List[0].End(), "otelprofChannel('s', c)")
	received, err := s.assigns("recvOK = caseSuccess")
	if err != nil {
		return err
	}
	s.tell(received.End(), "otelprofReceived(c, recvOK)")
	return errors.Join(
		s.atStart("if "+p[3]+" > 0 { otelprofDefault() }", "!block"), // it may have been an offer
		s.before("otelprofSelect("+p[0]+", "+p[3]+", "+p[4]+")")(s.ifs("gp.waiting != nil")),
		s.atStart("otelprofChannel('e', c)", "!caseSuccess"), // it panics
	)
}

// tell inserts a call at a place, for while a trace is on.
func (s *source) tell(at token.Pos, call string) {
	after := ""
	if before := s.text[s.offset(at)-1]; !strings.ContainsRune("\t\n {", rune(before)) {
		after = "; " // a statement ends there
	}
	s.insert(at, "%sif otelprofTracing { %s }; ", after, call)
}

// condition is that of an if, with what comes before it.
func condition(i *ast.IfStmt) string {
	cond := types.ExprString(i.Cond)
	if a, ok := i.Init.(*ast.AssignStmt); ok {
		return assignment(a) + "; " + cond
	}
	return cond
}

func assignment(a *ast.AssignStmt) string {
	return list(a.Lhs) + " " + a.Tok.String() + " " + list(a.Rhs)
}

func list(all []ast.Expr) string {
	var texts []string
	for _, e := range all {
		texts = append(texts, types.ExprString(e))
	}
	return strings.Join(texts, ", ")
}

func (s *source) ifs(cond string) (*ast.IfStmt, error) {
	return one(s, "if "+cond, func(i *ast.IfStmt) bool { return condition(i) == cond })
}

func (s *source) loops(cond string) (*ast.ForStmt, error) {
	return one(s, "for "+cond, func(f *ast.ForStmt) bool { return f.Cond != nil && types.ExprString(f.Cond) == cond })
}

func (s *source) assigns(text string) (*ast.AssignStmt, error) {
	return one(s, text, func(a *ast.AssignStmt) bool { return assignment(a) == text })
}

func (s *source) calls(function string) (*ast.ExprStmt, error) {
	return one(s, function+"(…)", func(e *ast.ExprStmt) bool {
		c, ok := e.X.(*ast.CallExpr)
		return ok && types.ExprString(c.Fun) == function
	})
}

func (s *source) returns(results string) (*ast.ReturnStmt, error) {
	return one(s, "return "+results, func(r *ast.ReturnStmt) bool { return list(r.Results) == results })
}

// atStart inserts a call at the start of the body of an if.
func (s *source) atStart(call, cond string) error {
	i, err := s.ifs(cond)
	if err != nil {
		return err
	}
	s.tell(i.Body.Lbrace+1, call)
	return nil
}

// before returns what inserts a call before a node, if that was found.
func (s *source) before(call string) func(ast.Node, error) error {
	return func(n ast.Node, err error) error {
		if err == nil {
			s.tell(n.Pos(), call)
		}
		return err
	}
}

// declines inserts a call where a send is not done that must not wait: the default of a select with
// one case. A receive has no such call, since none waits for what was not there.
func (s *source) declines() error {
	found := 0
	ast.Inspect(s.node, func(n ast.Node) bool {
		if i, ok := n.(*ast.IfStmt); ok && (condition(i) == "!block" || strings.HasPrefix(condition(i), "!block && c.closed == 0 && ")) {
			s.tell(i.Body.Lbrace+1, "otelprofDefault()")
			found++
		}
		return true
	})
	if found < 2 {
		return errors.New("if !block: found fewer than twice")
	}
	return nil
}

// beforeLock has the channel's capacity prepared.
func (s *source) beforeLock() error {
	return s.before("otelprofPrepare(c)")(s.calls("lock"))
}

// beforeWait inserts a call, with the lock held, where the operation is going to wait.
func (s *source) beforeWait(letter rune) error {
	return s.before("otelprofChannel('" + string(letter) + "', c)")(s.assigns("gp := getg()"))
}
