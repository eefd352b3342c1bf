package stacks

import "slices"

// A Node is a call at one place of a tree: the same function called from elsewhere is another.
type Node struct {
	Frame
	// Depth is 0 for an outermost call.
	Depth int
	// Whole is the weight of the stacks that go through the node, AsLeaf the weight of the stacks
	// that end in it.
	Whole, AsLeaf Weight
	// Children is the number of different calls that it makes.
	Children int
	// Last reports that no sibling follows.
	Last bool
}

// Visit calls enter for all nodes: children after their parents, the heaviest first, and among
// equals by name. The order depends on nothing else. The children of a node are left out if enter
// returns false for it. After the children, whether or not they were left out, leave is called, if
// it is not nil.
func (t *Tree) Visit(enter func(n Node) bool, leave func(n Node)) {
	type step struct {
		at    int32
		depth int
		last  bool
		leave bool
	}
	push := func(todo []step, parent int32, depth int) []step {
		children := t.sorted(parent)
		for i, at := range slices.Backward(children) {
			todo = append(todo, step{at: at, depth: depth, last: i == len(children)-1})
		}
		return todo
	}
	// A list in place of recursion: foreign recordings are as deep as they like.
	for todo := push(nil, 0, 0); len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		from := &t.nodes[s.at]
		n := Node{
			Frame: t.table.frames[from.frame], Depth: s.depth, Whole: from.whole, AsLeaf: from.asLeaf,
			Children: int(from.children), Last: s.last,
		}
		if s.leave {
			leave(n)
			continue
		}
		if leave != nil {
			s.leave = true
			todo = append(todo, s)
		}
		if enter(n) {
			todo = push(todo, s.at, s.depth+1)
		}
	}
}

// each calls f for all nodes, in the order of [Tree.Visit].
func (t *Tree) each(f func(n Node)) {
	t.Visit(func(n Node) bool { f(n); return true }, nil)
}

// Leaves calls f for each stack of the tree, innermost call first, with what ends in it. f must
// not keep the slice.
func (t *Tree) Leaves(f func(stack []Frame, w Weight)) {
	if w := t.nodes[0].asLeaf; w != (Weight{}) {
		f(nil, w)
	}
	var path, stack []Frame
	t.each(func(n Node) {
		path = append(path[:n.Depth], n.Frame)
		if n.AsLeaf == (Weight{}) {
			return
		}
		stack = append(stack[:0], path...)
		slices.Reverse(stack)
		f(stack, n.AsLeaf)
	})
}
