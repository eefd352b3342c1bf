package profile

import (
	"encoding/json"
	"fmt"
	"time"
)

// api is the value of a saved profile's key "api" that this version reads and writes.
const api = "causal-profile/v1"

// A Region is what a curve is about: the spans of one scope and name, a region of runtime/trace, or
// a function.
type Region struct {
	Scope string `json:"scope"`
	Name  string `json:"span"`
}

// String returns the name.
func (r Region) String() string { return r.Name }

// Unseen is the note of a process that holds a plan by the clock and has no spans of the region.
// [Merge] leaves it out where another process has.
func (r Region) Unseen() string {
	return fmt.Sprintf("no span seen of region %q: a plan by the clock names its scope, too", r.Name)
}

// A Metric is what of a progress point answers to a speed-up.
type Metric string

// The metrics. The quantiles of a plan's progress point of type latency have names alike,
// "latency_p99.9".
const (
	MetricThroughput Metric = "throughput" // time between visits
	MetricLatencyP50 Metric = "latency_p50"
	MetricLatencyP90 Metric = "latency_p90"
	MetricLatencyP99 Metric = "latency_p99"
)

// A Profile is what has been found out so far about what would happen if a region were faster:
// by the experiments of one plan, from recordings, or both.
type Profile struct {
	// Mode is the kind of the plan's experiments, "" without a plan.
	Mode Mode `json:"mode"`
	// Handover is how those of [ModeOverlap] saw which goroutine waits for which, "" for others.
	Handover Handover `json:"handover,omitempty"`
	// PlanID, PlanHash and Generation name the plan.
	PlanID     string `json:"plan_id"`
	PlanHash   string `json:"plan_hash"`
	Generation uint64 `json:"generation"`
	// Started is when the plan was applied, Ended when it was over; zero while it runs.
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Iterations is the number of times the whole grid was measured.
	Iterations int `json:"iterations"`
	// Experiments is the number of arms measured, Rejected those thrown away.
	Experiments int `json:"experiments"`
	Rejected    int `json:"rejected"`
	// Delay is the sum of the delays inserted.
	Delay time.Duration `json:"delay_ns"`
	// Curves has one entry for each mode, region, progress point and metric. Those of one
	// region, progress point and metric stand together, the strongest first.
	Curves []Curve `json:"curves"`
	// Changes are what would be if the program were built in another way, the best first.
	Changes []Change `json:"changes,omitempty"`
	// Recorded is what the curves of [ModeReplay] rest on, nil without recordings.
	Recorded *Recorded `json:"recorded,omitempty"`
	// Waiting is, by mode, how much of what goroutines waited for is known.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Waits are what regions waited for in the last recordings, that with the most time first.
	Waits []RegionWaits `json:"waits,omitempty"`
	// Tails are why the slowest requests are slow, by region, in the last recordings.
	Tails []Tail `json:"tails,omitempty"`
	// Tallies are the sums behind the curves, of throughput and of latency.
	Tallies []Tally `json:"tallies,omitempty"`
	// Epochs are what this process counted in each epoch of a plan by the clock, in the order of
	// time: those of all processes that held the plan make the answer, see [Merge].
	Epochs []Epoch `json:"epochs,omitempty"`
	// Merged is how many profiles [Merge] has put together, zero for one that is of its own.
	Merged int `json:"merged,omitempty"`
	// Notes say what is missing, in plain words, and why: "no visits of progress point X".
	Notes []string `json:"notes,omitempty"`
}

// A Curve is how one progress point would answer to speeding up one region.
type Curve struct {
	// Mode is how that was found out: an experiment or [ModeReplay].
	Mode     Mode   `json:"mode"`
	Region   Region `json:"region"`
	Progress string `json:"progress"`
	Metric   Metric `json:"metric"`
	// BasePeriod is the mean time between visits of the progress point, or the quantile of
	// latency, with nothing changed.
	BasePeriod time.Duration `json:"base_period_ns"`
	// Own is what the region takes itself for each visit, without waits for locks and processors
	// where that is known, and Slopes are what was measured, by level, in mode [ModeSlowdown]; the
	// effects follow from these. In mode [ModeReplay] they are what such experiments come to in the
	// simulation.
	Own    time.Duration `json:"own_ns,omitempty"`
	Slopes []Slope       `json:"slopes,omitempty"`
	// Inside is true if spans of the region wait for other goroutines, for a lock or a place in a
	// queue, or if that is not known: their callers are held when that has been given back, so that
	// a slope bounds what a faster region brings from below alone.
	Inside bool `json:"waits_inside,omitempty"`
	// Awaited is the part of Own, in [0, 1], that other goroutines wait for, as spans of the region
	// give them something before their ends: a lock, a place, an answer. A hold at an end comes too
	// late for these: by so much a slope may be too small.
	Awaited float64 `json:"awaited,omitempty"`
	// Served is what goroutines without spans did while spans of the region waited for them, as a
	// multiple of Own: it may be the region's work, as that of a pool of workers is, which a hold
	// at an end comes too late for.
	Served float64 `json:"served,omitempty"`
	// Overtaken is the part of the region's spans, in [0, 1], that had not ended when the work that
	// they were started for was done, as others had answered (a quorum, hedged requests).
	Overtaken float64 `json:"overtaken,omitempty"`
	// Behind is the part of a short delay, in [0, 1], that the region's spans may make up for by a
	// shorter wait for a processor, which comes before their ends: a hold after it may cost so much
	// more than a longer span.
	Behind float64 `json:"waits_for_processor,omitempty"`
	// HoldsUp is the part of the region's spans, in [0, 1], that a goroutine ends which soon ends
	// others that are open by then, as one that reads answers for all: a hold there holds up these,
	// too, and costs more than a longer span would.
	HoldsUp float64 `json:"holds_up,omitempty"`
	// Expiring is the part of the region's delays, in [0, 1], that were left out since a deadline
	// was near, or of its spans that a timer has ended the wait for. As many calls may fail, and
	// may succeed where something is faster; and a hold behind such a span costs nothing.
	Expiring float64 `json:"near_deadlines,omitempty"`
	// Drift is how many times as long the region's spans take themselves as when experiments began,
	// by which Own is known; 0 where they take as long.
	Drift float64 `json:"drift,omitempty"`
	// Effects are ordered by speed-up.
	Effects []Effect `json:"effects"`
	// Slope is the reduction for each part of speed-up where the curve begins: 0.5 is 5 % for
	// 10 %. Zero without a number.
	Slope float64 `json:"slope"`
	// Knee is the speed-up in (0, 1) from which on something else is the bottleneck, zero if
	// none was found.
	Knee float64 `json:"knee,omitempty"`
	// PValue is the probability of effects this large, at all speed-ups that have a number
	// together, if there were none, adjusted by Benjamini and Hochberg for the number of regions
	// that are compared; 1 without a number. Significant means that it is at most 0.05, and that an
	// interval leaves out zero.
	PValue      float64 `json:"p_value"`
	Significant bool    `json:"significant"`
	// Disagrees names the other modes whose intervals lie apart from those of this curve.
	Disagrees []Mode `json:"disagrees,omitempty"`
	// Leads is true if the region surely brings more than any other of its mode at this progress
	// point, though how much may not be clear.
	Leads bool `json:"leads,omitempty"`
	// Verdict is what kind of answer this is, and Evidence what it rests on.
	Verdict  Verdict  `json:"verdict"`
	Evidence Evidence `json:"evidence,omitempty"`
}

// An Effect is the predicted answer to one speed-up.
type Effect struct {
	// Speedup is the part of the region's time that is taken away, in [0, 1).
	Speedup float64 `json:"speedup"`
	// Reduction is the part by which the period of the progress point, or its latency, would
	// shrink: 1 - period(speedup)/period(0). Of experiments it is the ratio of the totals of time
	// and visits, so that what comes in bursts counts, and the mean of the samples.
	Reduction float64 `json:"reduction"`
	// StdErr is the standard error of Reduction: of experiments the jackknife's, with rounds as
	// blocks.
	StdErr float64 `json:"std_err"`
	// Lo and Hi bound Reduction: with 95 % confidence as far as the samples scatter, and by one
	// point more to both sides for what the model leaves out, and Margin.
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
	// Margin is by how much the conditions of the experiments may have changed Reduction: a quota
	// that took processor time, say.
	Margin float64 `json:"margin,omitempty"`
	// Bounded is true if Lo and Hi are bounds from both sides as well: in mode [ModeSlowdown]
	// beyond [Near]; of recordings since the program writes no operations on locks and channels
	// into its traces and not all of them can be known: that of a program built by otelprof is
	// narrower.
	Bounded bool `json:"bounded,omitempty"`
	// Confirmed means that the number is of recordings, and that slow-downs in the program agree
	// with it: then Lo and Hi are what both allow.
	Confirmed bool `json:"confirmed,omitempty"`
	// Simulated is Reduction, Lo and Hi as recordings have them by themselves, where slow-downs
	// narrow these; zero elsewhere.
	Simulated [3]float64 `json:"simulated,omitzero"`
	// ThroughputGain is Reduction as a rise of throughput: 1/(1-Reduction) - 1. Of latency it
	// is zero.
	ThroughputGain float64 `json:"throughput_gain"`
	// Samples is the number of measurements, Outliers how many lie more than 3 median absolute
	// deviations from their median, which is a diagnostic only.
	Samples  int `json:"samples"`
	Outliers int `json:"outliers"`
	// Verdict is what kind of answer this is by itself, Loose that Lo and Hi are bounds too far
	// apart for a single number: to be shown as "between 18 and 31 %".
	Verdict Verdict `json:"verdict,omitempty"`
	Loose   bool    `json:"loose,omitempty"`
	// Withheld is why there is no number, zero if there is one; then the numbers above are zero.
	Withheld Withheld `json:"withheld,omitzero"`
	// Warnings are doubts about the number.
	Warnings []string `json:"warnings,omitempty"`
	// Reductions are the samples in the order of time, of experiments the jackknife's
	// pseudo-values, in steps of 1e-6, so that profiles can be merged. Of more than 300 they are as
	// many, evenly chosen.
	Reductions []float64 `json:"reductions,omitempty"`
}

// Recorded is what the curves of [ModeReplay] rest on.
type Recorded struct {
	// Windows is the number of recordings, or parts of recordings, and Length how long they are
	// together.
	Windows int           `json:"windows"`
	Length  time.Duration `json:"length_ns"`
	// Inferred is true if locks and channels were inferred from which goroutine woke which.
	Inferred bool `json:"inferred,omitempty"`
	// CPU is the processor time that the program had in recordings of which that is known. Others
	// is what other programs had of it, Stolen what the host of a virtual machine took, on all
	// processors together, and Throttled for how long threads of the program waited since the quota
	// of their cgroup was used up. Zero where the system does not tell.
	CPU       time.Duration `json:"cpu_ns,omitempty"`
	Others    time.Duration `json:"others_ns,omitempty"`
	Stolen    time.Duration `json:"stolen_ns,omitempty"`
	Throttled time.Duration `json:"throttled_ns,omitempty"`
	// Starved is which part of the time that goroutines ran they had no processor, in [0, 1).
	// Intervals are wider by it, and there are bounds alone above a tenth.
	Starved float64 `json:"starved,omitempty"`
	// Stalled is for how long the whole program stood still, and which is left out.
	Stalled time.Duration `json:"stalled_ns,omitempty"`
	// Progress has the progress points, that with the most visits first.
	Progress []RecordedProgress `json:"progress,omitempty"`
}

// How work comes to a progress point.
const (
	loopOpen   = "open"
	loopClosed = "closed"
)

// RecordedProgress is what the curves of one progress point rest on.
type RecordedProgress struct {
	Progress string `json:"progress"`
	// Visits are those in all windows, and Windows those in which the simulation of nothing changed
	// met what was recorded within 3 %.
	Visits  int `json:"visits"`
	Windows int `json:"windows"`
	// Deviation is by which part of the time between visits it missed that, in the median of all
	// windows.
	Deviation float64 `json:"deviation"`
	// Loop is how work comes there, "" where that is not known. In an "open" loop it comes at times
	// that do not depend on how fast the program is: what is faster shows in latencies, and
	// throughput stays. In a "closed" one a client sends its next request some time after the
	// answer.
	Loop string `json:"loop,omitempty"`
}

// Waiting is for how long goroutines waited in what was measured, by whether it is known which
// goroutine ended the wait. What is not known makes experiments wrong, by as much at most as it is
// of the whole.
type Waiting struct {
	Mode         Mode          `json:"mode"`
	Attributed   time.Duration `json:"attributed_ns"`
	Unattributed time.Duration `json:"unattributed_ns"`
}

// MarshalJSON adds the key "api".
func (p Profile) MarshalJSON() ([]byte, error) {
	type plain Profile // without this method
	return json.Marshal(struct {
		API string `json:"api"`
		plain
	}{api, plain(p)})
}
