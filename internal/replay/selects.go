package replay

// Marks record a select statement where it begins to wait, and what it ended by. One that did not have to wait is recorded by its end
// alone, as a receive that is no select statement's.

// sentTo returns the objects that goroutines send to.
func (p *program) sentTo() map[int32]bool {
	sends := map[int32]bool{}
	for i := range p.lists {
		for k := range p.lists[i].ops {
			if o := &p.lists[i].ops[k]; o.kind == opSend {
				sends[o.arg] = true
			}
		}
	}
	return sends
}

// unwaited finds select statements that did not have to wait, where that is not marked: receives from a channel for which the
// goroutine waits in select statements alone, behind as many others in a row.
func (p *program) unwaited(l *list, sends map[int32]bool) {
	type way struct{ object, nth int32 }
	chosen, plain := map[way]bool{}, map[way]bool{}
	for k := range l.ops {
		if o := &l.ops[k]; o.kind == opReceive && o.site != 0 {
			if x := (way{o.arg, l.row(k)}); l.chooses(k) {
				chosen[x] = true
			} else {
				plain[x] = true
			}
		}
	}
	if len(chosen) == 0 {
		return
	}
	ops := make([]op, 0, len(l.ops)+len(l.ops)/8)
	for k, o := range l.ops {
		if o.kind == opReceive && o.site == 0 && sends[o.arg] && !l.chooses(k) {
			if x := (way{o.arg, l.row(k)}); chosen[x] && !plain[x] {
				begins := o
				begins.kind, begins.arg, begins.d = opChoose, none, 0
				ops = append(ops, begins)
			}
		}
		ops = append(ops, o)
	}
	l.ops = ops
}

// row returns how many receives in a row come right before op k, and waits for timers of select statements.
func (l *list) row(k int) (n int32) {
	for k--; k >= 0 && n < mostPast; k-- {
		switch o := &l.ops[k]; {
		case o.kind == opRun || o.kind == opChoose:
		case o.kind == opReceive, o.kind == opOut && l.chooses(k):
			n++
		default:
			return n
		}
	}
	return n
}

// chooses reports whether op k ends a select statement.
func (l *list) chooses(k int) bool {
	for k--; k >= 0; k-- {
		switch o := &l.ops[k]; {
		case o.kind == opChoose:
			return true
		case o.kind == opOut || o.kind == opRun && o.d < shortSyscall:
		default:
			return false
		}
	}
	return false
}

// ends returns the op that ends the select statement at op k, and from which object it receives, none for a timer.
func (l *list) ends(k int, sends map[int32]bool) (end int, object int32, ok bool) {
	out := -1
	var ran int64
	for j := k + 1; j < len(l.ops); j++ {
		switch o := &l.ops[j]; {
		case o.kind == opRun:
			if ran += o.d; ran < shortSyscall {
				continue
			}
		case o.kind == opOut && out < 0 && (o.reason == waitSelect || o.reason == waitTimer):
			out, ran = j, 0
			continue
		case o.kind == opReceive && sends[o.arg]:
			if out < 0 {
				return j, o.arg, true
			}
		}
		break
	}
	return out, none, out >= 0
}
