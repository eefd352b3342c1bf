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
		{"pool_waiters", "waiters with a channel each are of one pool"},
		{"hidden_conditions", "condition variables of a stock trace are told from signals that ended waits"},
		{"lock_sharding", "at one place in the code several locks may be used"},
		{ruleHidden, "operations that the trace does not show are those of other rounds"},
		{ruleClients, "clients of another process share connections"},
		{ruleUnruled, "waits for condition variables that no rule fits leave bounds"},
		{ruleUndecided, "waits for a timer or a goroutine, whichever is first, leave bounds"},
		{ruleOffers, "offers that are refused leave bounds"},
		{ruleUncalled, "waits for timers that it is not known who has set leave bounds"},
		{rulePauses, "requests are longer by pauses"},
		{ruleBatchSizes, "batches whose size time decides leave bounds"},
		{ruleBatchCost, "larger batches take longer, or not"},
		{ruleOccasional, "work that only some rounds have is done per visit or per time"},
		{ruleStampedes, "several goroutines do what one would have done"},
		{ruleUndisturbed, "other programs leave the processors alone"},
		{ruleOrderKept, "goroutines wait for each other in the recorded order"},
		{ruleEndless, "what condition variables count has no end"},
		{ruleExclusion, "spans that never overlap exclude each other"},
		{ruleCapacity, "channels have as much room as was used"},
		{ruleBuckets, "tokens of a bucket are spilled, or not"},
		{ruleUnlocked, "goroutines wait for locks as long as they did"},
		{ruleWakeup, "processors that are woken come back sooner or later"},
		{ruleOthers, "other programs take other processor time"},
	})
}
