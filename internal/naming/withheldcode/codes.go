// Package withheldcode has the codes of the reasons why a causal profile has no number. They are
// made by experiments, by what reads recordings and by what reads metrics; profile.WithheldCode has
// what they mean to users, and which parameters belong to each.
package withheldcode

// The codes.
const (
	Iterations   = "few_iterations"  // Count were measured, Need are needed; Measured
	StartedAs    = "started_as"      // spans of the region start as Name, and get their name later
	NoSpans      = "no_spans"        // no span of the region ended in the experiments
	FewSpans     = "few_spans"       // Count of them ended in Of experiments, Need in each are needed
	Elsewhere    = "spans_elsewhere" // of Elapsed the region's spans took Took, and experiments saw Saved
	OtherPath    = "other_path"      // Part of the visits came from other spans than without delay
	CallsItself  = "calls_itself"    // the process called itself Count times for Of visits
	WaitsBefore  = "waits_before"    // Count of Of requests waited for others before their first spans
	UnknownWaits = "unknown_waits"   // Part of the waiting in the warm-up was for unknown goroutines
	Saturated    = "saturated"       // processors were short for Part of the time
	Throttled    = "throttled"       // a quota took Part of the processor time
	Stolen       = "stolen"          // the host of the virtual machine took Part of it
	NotInserted  = "not_inserted"    // Part of the delays could be inserted
	Owed         = "owed"            // Part of the delays was still owed at the end
	Stretched    = "stretched"       // the period grew by Part, above 1, of what all spans were stretched by
	Unattributed = "unattributed"    // of Part of the waiting it is not known what ended it
	SelfCheck    = "self_check"      // Count of Of intervals without delay leave out zero
	Windows      = "few_windows"     // Count recorded windows were simulated, Need are needed
	Deviation    = "deviation"       // simulated with nothing changed, Count of Of windows were missed by too much, all by Part in the mean
	Stuck        = "stuck"           // simulated, nothing could go on
	Visits       = "few_visits"      // too few visits of the progress point in recordings
	Slower       = "slower"          // simulated with a region faster, the program became much slower
	Contradicted = "contradicted"    // slow-downs in the program, which are measured, lie apart from the simulation
	Starved      = "starved"         // goroutines had no processor for more than a tenth of the time
	Choices      = "choices"         // select statements and deadlines decide, without example in the recordings
	Pauses       = "pauses"          // requests are longer by pauses that time decides
	Offers       = "offers"          // offers or requests are refused, by what others do meanwhile
	Bounds       = "no_bounds"       // the bounds of the effect are not among the metrics
	Other        = "other"           // Text has it: a reason that has no code, or had none when it was saved
)
