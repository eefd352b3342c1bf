package main

import "testing"

func TestUpward(t *testing.T) {
	between := map[[2]string]int{{"a", "b"}: 6, {"b", "c"}: 3, {"c", "a"}: 1}
	if got := upward(between); got != 0.1 {
		t.Errorf("a cycle of 10 references, of which one is against the others: %g of them upward, want .1", got)
	}
	if got := upward(map[[2]string]int{{"a", "b"}: 1, {"a", "c"}: 1, {"b", "c"}: 1}); got != 0 {
		t.Errorf("without a cycle: %g upward, want none", got)
	}
}

func TestHouseOfOneFile(t *testing.T) {
	h := &house{folders: map[string]*folder{}}
	text := "package p\n\n// F is long.\nfunc F() {\n}\n\ntype (\n\tA int\n\tb int\n)\n\nconst C, d = 1, 2\n"
	if err := h.read("p/p.go", []byte(text)); err != nil {
		t.Fatal(err)
	}
	if got, want := *h.folders["p"], (folder{files: 1, lines: 12, comments: 1, names: 3}); got != want || h.longest != 2 {
		t.Errorf("read: %+v, longest function %d lines, want %+v and 2", got, h.longest, want)
	}
	if h.widest != len("// F is long.") {
		t.Errorf("widest comment %d columns, want %d", h.widest, len("// F is long."))
	}
	for comment, want := range map[string]bool{"// text": true, "//go:build x": false, "//\tcode": false, "//   - row": false} {
		if prose(comment) != want {
			t.Errorf("prose(%q) is %t", comment, !want)
		}
	}
	for name, want := range map[string]bool{".": true, "causal/plan": true, "causal/internal/ledger": false, "internal/x": false, "cmd/otelprof": false, "integration/x": false} {
		if public(name) != want {
			t.Errorf("public(%q) is %t", name, !want)
		}
	}
	if (figure{value: 2, goal: 1}).met() || !(figure{value: 2, goal: 1, least: true}).met() {
		t.Error("a maximum of 1 is met by 2, or a minimum of 1 is not")
	}
}
