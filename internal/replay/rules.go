package replay

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Rules that speak against answers, or bound them by other programs that would have left the same
// recording.
const (
	ruleHidden      = "hidden_operations"
	ruleClients     = "clients"
	ruleUnruled     = "conditions_without_rule"
	ruleUndecided   = "undecided"
	ruleOffers      = "offers"
	ruleUncalled    = "timers_of_unknown_origin"
	rulePauses      = "pauses"
	ruleBatchSizes  = "batch_sizes"
	ruleBatchCost   = "batch_cost"
	ruleOccasional  = "occasional_work"
	ruleStampedes   = "stampedes"
	ruleUndisturbed = "undisturbed"
	ruleOrderKept   = "order_kept"
	ruleEndless     = "endless_conditions"
	ruleExclusion   = "mutual_exclusion"
	ruleCapacity    = "channel_capacity"
	ruleBuckets     = "token_bucket"
	ruleUnlocked    = "unlocked"
	ruleWakeup      = "wakeup_latency"
	ruleOthers      = "other_programs"
)

// Rules returns the names of all rules.
func Rules() []trace.RuleName {
	return slices.Concat(infer.Rules(), []trace.RuleName{
		{Name: "pool_waiters", Doc: "waiters with a channel each are of one pool"},
		{Name: "hidden_conditions", Doc: "condition variables of a stock trace are told from signals that ended waits"},
		{Name: "lock_sharding", Doc: "at one place in the code several locks may be used"},
		{Name: ruleHidden, Doc: "operations that the trace does not show are those of other rounds"},
		{Name: ruleClients, Doc: "clients of another process share connections"},
		{Name: ruleUnruled, Doc: "waits for condition variables that no rule fits leave bounds"},
		{Name: ruleUndecided, Doc: "waits for a timer or a goroutine, whichever is first, leave bounds"},
		{Name: ruleOffers, Doc: "offers that are refused leave bounds"},
		{Name: ruleUncalled, Doc: "waits for timers that it is not known who has set leave bounds"},
		{Name: rulePauses, Doc: "requests are longer by pauses"},
		{Name: ruleBatchSizes, Doc: "batches whose size time decides leave bounds"},
		{Name: ruleBatchCost, Doc: "larger batches take longer, or not"},
		{Name: ruleOccasional, Doc: "work that only some rounds have is done per visit or per time"},
		{Name: ruleStampedes, Doc: "several goroutines do what one would have done"},
		{Name: ruleUndisturbed, Doc: "other programs leave the processors alone"},
		{Name: ruleOrderKept, Doc: "goroutines wait for each other in the recorded order"},
		{Name: ruleEndless, Doc: "what condition variables count has no end"},
		{Name: ruleExclusion, Doc: "spans that never overlap exclude each other"},
		{Name: ruleCapacity, Doc: "channels have as much room as was used"},
		{Name: ruleBuckets, Doc: "tokens of a bucket are spilled, or not"},
		{Name: ruleUnlocked, Doc: "goroutines wait for locks as long as they did"},
		{Name: ruleWakeup, Doc: "processors that are woken come back sooner or later"},
		{Name: ruleOthers, Doc: "other programs take other processor time"},
	})
}
