package profile

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Waits of several recordings are summed up, and a region has so many rows at most.
func TestMergeWaits(t *testing.T) {
	stock, order := Region{"shop", "stock"}, Region{"shop", "order"}
	row := func(where string, total time.Duration) Wait {
		return Wait{In: stock, By: order, Kind: "lock", Where: where, Count: 1, Total: total, Longest: total}
	}
	first := []RegionWaits{{Region: stock, Spans: 1, Time: 10, Waits: []Wait{row("a", 5), row("b", 2)}}}
	second := []RegionWaits{{Region: order, Spans: 3, Time: 99}, {Region: stock, Spans: 2, Time: 20, Waits: []Wait{row("b", 4)}}}
	b := row("b", 6)
	b.Count, b.Longest = 2, 4
	want := []RegionWaits{{Region: order, Spans: 3, Time: 99}, {Region: stock, Spans: 3, Time: 30, Waits: []Wait{b, row("a", 5)}}}
	got := Merge(Profile{Waits: first}, Profile{Waits: second}).Waits
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	var many []Wait
	for i := range 2 * mostWaits {
		many = append(many, row(fmt.Sprint(i), time.Duration(i+1)))
	}
	rows := MergeWaits([]RegionWaits{{Region: stock, Waits: many}})[0].Waits
	if len(rows) != mostWaits || rows[0].Total != 2*mostWaits {
		t.Errorf("%d rows, the first %v; want the %d longest", len(rows), rows[0], mostWaits)
	}
}
