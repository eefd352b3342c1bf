package stacks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/otelprof/otelprof/internal/testutil/golden"
)

// stack makes frames of names, the outermost first: "main:3" is line 3 of main.go.
func stack(names ...string) []Frame {
	out := make([]Frame, len(names))
	for i, n := range names {
		var line int
		function, at, ok := strings.Cut(n, ":")
		if ok {
			line, _ = strconv.Atoi(at)
		}
		out[len(names)-1-i] = NewFrame("shop/"+function, "/src/shop/"+function+".go", line)
	}
	return out
}

func weight(n int64) Weight { return Weight{Samples: n, Nanos: n * 1e7} }

// example is a small service.
func example() *Tree {
	t := NewTree()
	t.Add(stack("main:10", "serve:20", "price:30", "discount:40"), weight(60))
	t.Add(stack("main:10", "serve:20", "price:31"), weight(25))
	t.Add(stack("main:10", "serve:21", "store:50"), weight(30))
	t.Add(stack("main:10", "serve:21"), weight(3))
	t.Add(stack("gc:5", "scan:6"), weight(12))
	t.Add(stack("main:10", "serve:22", "log:70"), weight(1))
	t.Add(stack("main:10", "serve:23", "trace:71"), weight(1))
	return t
}

func lines(t *Tree) []string {
	var out []string
	t.each(func(n Node) {
		out = append(out, fmt.Sprintf("%s%s:%d %d/%d", strings.Repeat(" ", n.Depth), n.Func, n.Line, n.Whole.Samples, n.AsLeaf.Samples))
	})
	return out
}

func TestStacksMerge(t *testing.T) {
	want := []string{
		"shop/main:10 120/0",
		" shop/serve:20 85/0",
		"  shop/price:30 60/0",
		"   shop/discount:40 60/60",
		"  shop/price:31 25/25",
		" shop/serve:21 33/3",
		"  shop/store:50 30/30",
		" shop/serve:22 1/0",
		"  shop/log:70 1/1",
		" shop/serve:23 1/0",
		"  shop/trace:71 1/1",
		"shop/gc:5 12/0",
		" shop/scan:6 12/12",
	}
	tree := example()
	if diff := cmp.Diff(want, lines(tree)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if tree.Total() != weight(132) || tree.Len() != 13 || tree.TooFew() {
		t.Errorf("total %v, %d nodes, too few %v", tree.Total(), tree.Len(), tree.TooFew())
	}
	functions := tree.WithoutLines()
	if got := lines(functions)[1]; got != " shop/serve:0 120/3" {
		t.Errorf("without lines: %q", got)
	}
}

func TestFrameKeepsTheBaseNameOnly(t *testing.T) {
	for _, tc := range []struct{ file, want string }{
		{"/home/u/src/a.go", "a.go"}, {`C:\src\a.go`, "a.go"}, {"a.go", "a.go"}, {"", ""}, {"_cgo_gotypes.go", "_cgo_gotypes.go"},
	} {
		if got := NewFrame("f", tc.file, 1); got.File != tc.want {
			t.Errorf("NewFrame(%q).File = %q, want %q", tc.file, got.File, tc.want)
		}
	}
	if got := NewFrame("", "", -1); got != (Frame{Func: "[unknown]"}) {
		t.Errorf("frame of nothing: %+v", got)
	}
}

// A tree is what its stacks are, in any order and through any trees, also where nodes have
// many children.
func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frame := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("f%d:%d", rapid.IntRange(0, 40).Draw(t, "f"), rapid.IntRange(1, 2).Draw(t, "line"))
		})
		stacks := rapid.SliceOf(rapid.SliceOfN(frame, 0, 6)).Draw(t, "stacks")
		parts := []*Tree{NewTree(), NewTree(), NewTree()}
		all, shuffled := NewTree(), NewTree()
		for i, s := range stacks {
			w := weight(int64(i%5 + 1))
			all.Add(stack(s...), w)
			parts[rapid.IntRange(0, 2).Draw(t, "part")].Add(stack(s...), w)
		}
		for _, i := range rapid.Permutation([]int{0, 1, 2}).Draw(t, "order") {
			shuffled.Merge(parts[i])
		}
		if diff := cmp.Diff(lines(all), lines(shuffled)); diff != "" {
			t.Fatalf("merged trees differ (-one +merged):\n%s", diff)
		}
		if diff := cmp.Diff(lines(all), lines(all.Clone())); diff != "" {
			t.Fatalf("clone differs:\n%s", diff)
		}
		again := NewTree()
		var leaves int64
		all.Leaves(func(s []Frame, w Weight) { again.Add(s, w); leaves += w.Samples })
		if diff := cmp.Diff(lines(all), lines(again)); diff != "" || leaves != all.Total().Samples {
			t.Fatalf("leaves do not make the tree again, %d of %d samples:\n%s", leaves, all.Total().Samples, diff)
		}
	})
}

// A clone and its original go their own ways.
func TestCloneIsIndependent(t *testing.T) {
	a := example()
	b := a.Clone()
	b.Add(stack("main:10", "new:1"), weight(5))
	a.Add(stack("main:10", "other:1"), weight(7))
	if got := strings.Join(lines(a), ";"); strings.Contains(got, "new") || !strings.Contains(got, "other:1 7/7") {
		t.Errorf("original: %s", got)
	}
	if got := strings.Join(lines(b), ";"); strings.Contains(got, "other") || !strings.Contains(got, "new:1 5/5") {
		t.Errorf("clone: %s", got)
	}
}

// A full tree loses no weight and says what it cut short.
func TestFullTree(t *testing.T) {
	tree := NewTree()
	for i := range maxNodes {
		tree.Add(stack("main", fmt.Sprint("f", i)), weight(1))
	}
	if tree.Len() >= maxNodes || tree.folded.Samples != 2 || tree.Total().Samples != maxNodes {
		t.Errorf("%d nodes, %v cut short of %v", tree.Len(), tree.folded, tree.Total())
	}
	merged := NewTree()
	merged.Add(stack("one", "two"), weight(1))
	merged.Merge(tree)
	var leaves int64
	merged.Leaves(func(_ []Frame, w Weight) { leaves += w.Samples })
	if leaves != maxNodes+1 || merged.folded.Samples != 4 {
		t.Errorf("merged: %d samples, %v cut short", leaves, merged.folded)
	}
}

func TestAddAllocs(t *testing.T) {
	tree, frames := NewTree(), stack("main:1", "a:2", "b:3", "c:4")
	var ids []FrameID
	for _, f := range frames {
		ids = append(ids, tree.Intern(f))
	}
	tree.AddInterned(ids, weight(1))
	if n := testing.AllocsPerRun(100, func() { tree.AddInterned(ids, weight(1)); tree.Add(frames, weight(1)) }); n != 0 {
		t.Errorf("a known stack makes %v allocations, want 0", n)
	}
}

func TestTreeJSON(t *testing.T) {
	got, err := json.MarshalIndent(example(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "tree.json", append(got, '\n'))
	deep := NewTree()
	deep.Add(make([]Frame, 5000), weight(1))
	doc, err := json.Marshal(deep)
	var back any
	if err == nil {
		err = json.Unmarshal(doc, &back)
	}
	if err != nil || !bytes.Contains(doc, []byte(`"self_samples":1`)) {
		t.Errorf("5000 frames: %v", err)
	}
}

func TestRenderings(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"tree.txt":             func(b *bytes.Buffer) error { return example().WriteText(b, TextOptions{Title: `region "checkout"`}) },
		"short.txt":            func(b *bytes.Buffer) error { return example().WithoutLines().WriteText(b, TextOptions{MinShare: 0.02}) },
		"color.txt":            func(b *bytes.Buffer) error { return example().WriteText(b, TextOptions{Color: true, MinShare: 0.02}) },
		"tree.folded":          func(b *bytes.Buffer) error { return example().WriteFolded(b) },
		"tree.svg":             func(b *bytes.Buffer) error { return example().WriteSVG(b, `region "a < b"`) },
		"tree.speedscope.json": func(b *bytes.Buffer) error { return example().WriteSpeedscope(b, "checkout") },
		"diff.txt": func(b *bytes.Buffer) error {
			after := example()
			after.Add(stack("main:10", "serve:20", "price:31"), weight(100))
			after.Add(stack("main:10", "serve:20", "serve:20"), weight(1))
			return example().WriteDiff(b, after, 4)
		},
		"few.txt": func(b *bytes.Buffer) error {
			few := NewTree()
			few.Add(stack("main:1"), weight(12))
			return few.WriteText(b, TextOptions{})
		},
		"nothing.txt": func(b *bytes.Buffer) error { return NewTree().WriteText(b, TextOptions{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, b.Bytes())
	}
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return NewTree().WriteSVG(b, "") },
		func(b *bytes.Buffer) error { return NewTree().WriteSpeedscope(b, "") },
		func(b *bytes.Buffer) error { return NewTree().WriteFolded(b) },
		func(b *bytes.Buffer) error { return NewTree().WriteDiff(b, example(), 0) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || strings.Contains(b.String(), "NaN") {
			t.Errorf("nothing: %v\n%s", err, b.String())
		}
	}
}

// manyStacks are like those of a service: a common trunk of ten calls, and branches.
func manyStacks(n int) (frames []Frame, stacks [][]int) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		frames = append(frames, NewFrame(fmt.Sprintf("example.com/service/pkg%d.(*T).method%d", i%40, i), "file.go", i))
	}
	for range n {
		var s []int
		for d := range 10 {
			s = append(s, d)
		}
		for range 4 + r.IntN(12) {
			s = append(s, 10+r.IntN(6)+6*len(s))
		}
		stacks = append(stacks, s)
	}
	return frames, stacks
}

func BenchmarkAdd(b *testing.B) {
	frames, stacks := manyStacks(1000)
	tree := NewTree()
	ids := make([][]FrameID, len(stacks))
	for i, s := range stacks {
		for _, f := range s {
			ids[i] = append(ids[i], tree.Intern(frames[f]))
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		tree.AddInterned(ids[i%len(ids)], weight(1))
		i++
	}
}

func BenchmarkMerge(b *testing.B) {
	frames, stacks := manyStacks(1000)
	tree := NewTree()
	for _, s := range stacks {
		var one []Frame
		for _, f := range s {
			one = append(one, frames[f])
		}
		tree.Add(one, weight(1))
	}
	b.ReportAllocs()
	for b.Loop() {
		NewTree().Merge(tree)
	}
}
