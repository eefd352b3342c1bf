package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// The rules, in the order in which they are applied. The first four tables are of a recording that
// is being translated, the last two of a program.
var (
	// edges are what happened at the ends of waits and of the window.
	edges = []trace.Rule[func(*model.Builder)]{
		{"overdue", "waits that a busy processor found to be over late end when they were over", (*model.Builder).Punctual},
		{"", "", func(b *model.Builder) { parents(b.P) }},
		{"timer_calls", "goroutines that nothing in the program has started are called by timers", (*model.Builder).FromOutside},
		{"window_start", "waits from before the window are of operations that later ones show", (*model.Builder).Before},
		{"close", "who closes a channel lets go on who comes later", letIn},
	}
	// places are what is decided where goroutines wait.
	places = []trace.Rule[func(*model.Builder)]{
		{"choices", "select statements that end in several ways are decided anew", func(b *model.Builder) { findChoices(b.P) }},
		{"conditions", "waits for condition variables follow a rule that fits each of them", cond.Conditions},
		{"", "", cond.Batches},
		{"incidental", "locks that are waited for seldom and briefly decide nothing", setAside},
		{"", "", func(b *model.Builder) { b.P.Swap = Median(b.Swap, 500) }},
		{"", "", (*model.Builder).Settle},
		{"timer_slack", "timers are late by what they were late by", func(b *model.Builder) { b.P.Tardy = tardiness(b.P) }},
		{"rate_limiter", "waits for timers are of a limiter that all who ask it share", paces},
	}
	// meetings are which goroutine met which.
	meetings = []trace.Rule[func(*model.Builder)]{
		{"", "", func(b *model.Builder) { parents(b.P) }},
		{"connection_channels", "channels of one element, or of one connection, decide nothing", func(b *model.Builder) { pair(b.P) }},
		{"network", "a client's span and the server's below it are joined by a connection", func(b *model.Builder) { connect(b.P) }},
		{"", "", func(b *model.Builder) { match(b.P) }},
		{"handover", "goroutines without spans work for the spans of those who gave them an element", func(b *model.Builder) { handOver(b.P) }},
		{"errands", "what a goroutine without spans does for one that waits for it is of its spans", func(b *model.Builder) { b.P.Errands = findErrands(b) }},
		{"ticker", "waits for timers that end at even intervals are of a ticker", func(b *model.Builder) { timetables(b.P) }},
		{"", "", func(b *model.Builder) { b.P.Recorded() }},
	}
	// objects are locks and channels that goroutines share.
	objects = []trace.Rule[func(*model.Program)]{
		{"fork_join", "a goroutine waits for all that it has started", cond.Gather},
		{"objects", "waits that others end at one place in the program are of one lock or channel", infer},
	}
	// ways are those that work takes through a program, and where lists begin anew.
	ways = []trace.Rule[func(*model.Program)]{
		{"serve", "a goroutine that comes back to a receive serves what it gets there", serve},
		{"reply", "a send after a receive answers the element", reply},
		{"open_loop", "requests come at times that do not depend on the answers before", arrive},
		{"pool_elements", "no list begins anew while it has an element of a pool from before", hold},
		{"", "", closeLists},
		{"channel_lifetime", "channels of one request begin anew with it", findLeft},
		{"", "", settleChoices},
		{"", "", cond.SettleStores},
		{"", "", func(p *model.Program) { p.Patience = longestGap(p) }},
		{"functions", "functions have the part of the time that samples have", attribute},
		{"", "", runErrands},
	}
)

// Rules returns the names of all rules by which recordings are translated.
func Rules() []trace.RuleName {
	return slices.Concat(trace.Named(edges), trace.Named(places), trace.Named(meetings), trace.Named(objects), trace.Named(ways), cond.Rules(), []trace.RuleName{
		{Name: ruleRecur, Doc: "what is done less often than the other side is done as often as in the recording"},
		{Name: ruleSockets, Doc: "reads end by the writes of one goroutine, or kind of goroutine, shortly before"},
		{Name: ruleExternalCalls, Doc: "answers of other processes come as long after their requests as they did"},
	})
}

// Rules within others.
const (
	ruleRecur         = "recur"
	ruleSockets       = "sockets"
	ruleExternalCalls = "external_calls"
)

// apply applies one rule after the other, and rests in between.
func apply[T any](rec *trace.Recording, to T, rules []trace.Rule[func(T)]) {
	for _, r := range rules {
		rec.Rests()
		if r.Name == "" || rec.Uses(r.Name) {
			r.Find(to)
		}
	}
}
