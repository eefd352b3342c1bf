package virtualtime

import (
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/goroutine"
	_ "github.com/otelprof/otelprof/internal/testutil/thorough" // takes its flag, as all of causal/... do
)

// A panic in a ledger, of which a plan dies, leaves no lock behind: goroutines of the application
// wait for it.
func TestPanicLeavesNoLock(t *testing.T) {
	for name, do := range map[string]func(*ledgers){
		"clear": func(t *ledgers) { t.Clear(1 << 60) },
		"sweep": func(t *ledgers) { t.Sweep(1<<60, 1, 1) },
	} {
		var all ledgers
		const id = goroutine.ID(7)
		all.Adopt(id, &ledger.Ledger{}, nil)
		all.shard(id).Of[id+Shards] = nil // panics
		func() {
			defer func() { _ = recover() }()
			do(&all)
			t.Errorf("%s: no panic", name)
		}()
		if shard := all.shard(id); !shard.Mu.TryLock() {
			t.Errorf("%s: the lock is held", name)
		}
	}
}
