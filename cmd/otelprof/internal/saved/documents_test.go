package saved_test

import (
	"strings"
	"testing"
)

// One object over many lines is whole, also where one of these begins with its resource.
func TestObjectOverManyLines(t *testing.T) {
	whole := strings.NewReplacer(`[{"resource"`, "[\n{\"resource\"", `"scopeSpans":[{`, "\"scopeSpans\":[\n{").Replace(line("1", "1", "", "a", 0, 10))
	if strings.Count(whole, "\n") != 3 {
		t.Fatalf("%q has %d lines, want 3", whole, strings.Count(whole, "\n"))
	}
	d := read(t, "pretty.json", whole+whole[:19]+line("2", "1", "", "b", 0, 10))
	if f := d.Files[0]; d.Sessions != 2 || f.Damaged != 1 {
		t.Errorf("%d sessions, problems %v; want 2, and one about what is torn", d.Sessions, f.Problems)
	}
}
