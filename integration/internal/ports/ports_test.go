package ports

import (
	"slices"
	"testing"
)

func TestFree(t *testing.T) {
	var all []string
	for range 2 {
		free, err := Free(3)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, free...)
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 6 {
		t.Errorf("Free twice = %v, want six different ports", all)
	}
}
