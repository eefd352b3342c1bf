package overlay

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
)

// onlyStatement replaces a function whose body is one statement.
func onlyStatement(want, text string) func(*source) error {
	return func(s *source) error {
		body := s.body().List
		if len(body) == 1 && string(s.text[s.offset(body[0].Pos()):s.offset(body[0].End())]) == want {
			s.replace(body[0].Pos(), body[0].End(), "%s", text)
			return nil
		}
		return fmt.Errorf("must be %s and nothing else", want)
	}
}

// atEntry inserts text at the start of a function of one parameter, whose name it has.
func atEntry(parameter, format string) func(*source) error {
	return func(s *source) error {
		p, err := s.params(parameter)
		if err != nil {
			return err
		}
		s.insert(s.body().Lbrace+1, format, p[0])
		return nil
	}
}

// Lock, Unlock, RLock and RUnlock are inlined, which leaves room for a branch and no further call:
// what they do is left to the function for the slow path while a trace is on. A value that no lock
// has signals that to the function.
var (
	tellLocks    = onlyStatement("m.mu.Lock()", "if otelprofTracing || !m.mu.OtelprofTry() { m.mu.OtelprofLock() }")
	tellTryLocks = onlyStatement("return m.mu.TryLock()", "locked := m.mu.TryLock(); if otelprofTracing && locked { m.otelprofTell('l') }; return locked")
	tellUnlocks  = onlyStatement("m.mu.Unlock()", "m.mu.OtelprofUnlock()")

	tellSlowUnlocks  = atEntry("int32", " if %[1]s == otelprofLater { if %[1]s = m.otelprofDrop(); %[1]s == 0 { return } }; ")
	tellSlowRUnlocks = atEntry("int32", " if %[1]s == otelprofLater { if %[1]s = rw.otelprofLeave(); %[1]s >= 0 { return } }; ")
)

func tellRLocks(s *source) error {
	i, err := s.ifs("rw.readerCount.Add(1) < 0")
	if err != nil {
		return err
	}
	wait, err := s.calls("runtime_SemacquireRWMutexR")
	if err != nil {
		return err
	}
	s.replace(i.Pos(), i.Cond.End(), addLater, "r", "1")
	s.replace(wait.Pos(), wait.End(), "rw.otelprofRLock(r)")
	return nil
}

func tellRUnlocks(s *source) error {
	i, err := s.ifs("r := rw.readerCount.Add(-1); r < 0")
	if err != nil {
		return err
	}
	s.replace(i.Pos(), i.Cond.End(), addLater, "r", "-1")
	return nil
}

// addLater is readerCount.Add, in a form that leaves more room.
const addLater = "%[1]s := int32(otelprofLater); if !otelprofTracing { %[1]s = atomic.AddInt32((*int32)(unsafe.Pointer(&rw.readerCount)), %[2]s) }; if %[1]s < 0"

// tellWriteLocks has RWMutex.Lock write its own operation, and not that of the Mutex in it, which
// has the same address.
func tellWriteLocks(s *source) error {
	inner, err := s.calls("rw.w.Lock")
	if err != nil {
		return err
	}
	wait, err := s.calls("runtime_SemacquireRWMutex")
	if err != nil {
		return err
	}
	s.replace(inner.Pos(), inner.End(), "otelprofWritten := rw.otelprofLockWriters()")
	s.tell(wait.Pos(), "rw.otelprofAwait(otelprofWritten)")
	s.tell(s.body().Rbrace, operation('w', "rw"))
	return nil
}

func tellWriteTryLocks(s *source) error {
	return errors.Join(s.quiet("rw.w.TryLock", "rw.w.mu.TryLock"), s.quiet("rw.w.Unlock", "rw.w.mu.Unlock"), s.beforeReturn('w'))
}

func tellReadTryLocks(s *source) error { return s.beforeReturn('a') }

func (s *source) beforeReturn(letter rune) error {
	return s.before(operation(letter, "rw"))(s.returns("true"))
}

func tellWriteUnlocks(s *source) error {
	return errors.Join(
		s.before(operation('x', "rw"))(s.assigns("r := rw.readerCount.Add(rwmutexMaxReaders)")),
		s.quiet("rw.w.Unlock", "rw.w.mu.Unlock"),
	)
}

// quiet has a function call another one, which writes nothing.
func (s *source) quiet(function, other string) error {
	c, err := one(s, function+"()", func(c *ast.CallExpr) bool { return types.ExprString(c) == function+"()" })
	if err != nil {
		return err
	}
	s.replace(c.Fun.Pos(), c.Fun.End(), "%s", other)
	return nil
}

func tellAdds(s *source) error {
	p, err := s.params("int")
	if err != nil {
		return err
	}
	s.tell(s.body().Lbrace+1, "wg.otelprofAdd("+p[0]+")")
	return nil
}

func tellGroupWaits(s *source) error {
	return errors.Join(s.atStart(operation('v', "wg"), "v == 0"), s.around("runtime_SemacquireWaitGroup", 'V', 'v', "wg"))
}

func tellCondWaits(s *source) error { return s.around("runtime_notifyListWait", 'K', 'k', "c") }

func tellSignals(letter rune, function string) func(*source) error {
	return func(s *source) error { return s.before(operation(letter, "c"))(s.calls(function)) }
}

// around inserts calls before and after a call that may wait.
func (s *source) around(function string, before, after rune, object string) error {
	call, err := s.calls(function)
	if err != nil {
		return err
	}
	s.tell(call.Pos(), operation(before, object))
	s.tell(call.End(), operation(after, object))
	return nil
}

func operation(letter rune, object string) string {
	return fmt.Sprintf("%s.otelprofTell('%c')", object, letter)
}
