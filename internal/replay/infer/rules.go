package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// The rules, in the order in which they are applied. The first three tables are of a recording that
// is being translated, by [Finish]; the last two are of a program, by [Settle]. A rule with a name
// infers, and can be left out (see [trace.Rule]); one without a name is a step that later ones
// need.
//
// The order is a chain of dependencies. Rules that put ops in or take ops out come before rules
// that keep places of ops, and rules that replace a kind of wait come before rules that take what
// is left of it. A new rule goes behind the last rule whose result it reads.
var (
	// edges are what happened at the ends of waits and of the window. Punctual comes first: the
	// builder has noted places of ops for it, and FromOutside puts ops in. FromOutside takes a
	// goroutine without a parent for one that a timer calls, so it needs parents. Before leaves out
	// the tokens that FromOutside has given to timers.
	edges = []trace.Rule[func(*model.Builder)]{
		{Name: "overdue", Doc: "waits that a busy processor found to be over late end when they were over", Find: (*model.Builder).Punctual},
		{Find: func(b *model.Builder) { parents(b.P) }},
		{Name: "timer_calls", Doc: "goroutines that nothing in the program has started are called by timers", Find: (*model.Builder).FromOutside},
		{Name: "window_start", Doc: "waits from before the window are of operations that later ones show", Find: (*model.Builder).Before},
		{Name: "close", Doc: "who closes a channel lets go on who comes later", Find: letIn},
	}
	// places are what is decided where goroutines wait. Select statements come first, as the other
	// rules must not take a case of one for a wait of its own. Condition variables need their
	// locks, which setAside may take away. Settle turns codes of lateness into times, which all
	// later rules copy. Tardiness looks at waits for timers that rate limiters may replace.
	places = []trace.Rule[func(*model.Builder)]{
		{Name: "choices", Doc: "select statements that end in several ways are decided anew", Find: func(b *model.Builder) { findChoices(b.P) }},
		{Name: "conditions", Doc: "waits for condition variables follow a rule that fits each of them", Find: cond.Conditions},
		{Find: cond.Batches},
		{Name: "incidental", Doc: "locks that are waited for seldom and briefly decide nothing", Find: setAside},
		{Find: func(b *model.Builder) { b.P.Swap = Median(b.Swap, 500) }},
		{Find: (*model.Builder).Settle},
		{Name: "timer_slack", Doc: "timers are late by what they were late by", Find: func(b *model.Builder) { b.P.Tardy = cond.Tardiness(b.P) }},
		{Name: "rate_limiter", Doc: "waits for timers are of a limiter that all who ask it share", Find: paces},
	}
	// meetings are which goroutine met which. Parents is there again, since the ops of places have
	// moved. Channels that decide nothing become tokens before connections are looked for: a
	// request may be handed over by such a channel. Connections put ops in, so that match, which
	// keeps places in segments, comes behind. Errands need the letters that connections and
	// hand-overs leave, and are the last to need the builder.
	meetings = []trace.Rule[func(*model.Builder)]{
		{Find: func(b *model.Builder) { parents(b.P) }},
		{Name: "connection_channels", Doc: "channels of one element, or of one connection, decide nothing", Find: func(b *model.Builder) { pair(b.P) }},
		{Name: "network", Doc: "a client's span and the server's below it are joined by a connection", Find: func(b *model.Builder) { connect(b.P) }},
		{Find: func(b *model.Builder) { initialElements(b, match(b.P)) }},
		{Name: "handover", Doc: "goroutines without spans work for the spans of those who gave them an element", Find: func(b *model.Builder) { handOver(b.P) }},
		{Name: "errands", Doc: "what a goroutine without spans does for one that waits for it is of its spans", Find: func(b *model.Builder) { b.P.Errands = findErrands(b) }},
		{Name: "ticker", Doc: "waits for timers that end at even intervals are of a ticker", Find: func(b *model.Builder) { timetables(b.P) }},
		{Find: func(b *model.Builder) { b.P.Recorded() }},
	}
	// objects are locks and channels that goroutines share. They are applied only where inferring
	// is asked for: without them the program keeps the recorded order, which is one of its bounds.
	// Fork-join comes first: a WaitGroup waits with the same reason as a Mutex, and is no lock.
	objects = []trace.Rule[func(*model.Program)]{
		{Name: "fork_join", Doc: "a goroutine waits for all that it has started", Find: cond.Gather},
		{Name: "objects", Doc: "waits that others end at one place in the program are of one lock or channel", Find: infer},
	}
	// ways are how work goes through a program, and where lists begin anew. Serve, reply and hold
	// decide where a list must not begin anew, closeLists where it does. What depends on that comes
	// behind: channels of one request, select statements, stores. The last two change sets of
	// regions alone.
	ways = []trace.Rule[func(*model.Program)]{
		{Name: "serve", Doc: "a goroutine that comes back to a receive serves what it gets there", Find: serve},
		{Find: func(p *model.Program) { p.Answers = model.Nowhere(len(p.Segments)) }},
		{Name: "reply", Doc: "a send after a receive answers the element", Find: reply},
		{Name: "open_loop", Doc: "requests come at times that do not depend on the answers before", Find: arrive},
		{Name: "pool_elements", Doc: "no list begins anew while it has an element of a pool", Find: model.HoldElements},
		{Find: closeLists},
		{Name: "channel_lifetime", Doc: "channels of one request begin anew with it", Find: findLeft},
		{Find: settleChoices},
		{Find: func(p *model.Program) { p.Patience = longestGap(p) }},
		{Name: "functions", Doc: "functions have the part of the time that samples have", Find: attribute},
		{Find: runErrands},
	}
)

// Rules returns the names of all rules by which recordings are translated, with the rules of
// package cond and the ones that are asked for within others. The order is that of application, but
// for these. A name is what ablation leaves out, and must be unique.
func Rules() []trace.RuleName {
	return slices.Concat(trace.Named(edges), trace.Named(places), trace.Named(meetings), trace.Named(objects), trace.Named(ways), cond.Rules(), []trace.RuleName{
		{Name: ruleRecur, Doc: "what is done less often than the other side is done as often as in the recording"},
		{Name: ruleSockets, Doc: "reads end by the writes of one goroutine, or kind of goroutine, shortly before"},
		{Name: ruleInitial, Doc: "channels held at first what gives the work on each element to its sender"},
		{Name: ruleExternalCalls, Doc: "answers of other processes come as long after their requests as they did"},
	})
}

// Rules within others. They have no entry in a table, since they are part of a larger step: recur
// of closeLists, initial elements of match, sockets and external calls of connect.
const (
	ruleRecur         = "recur"
	ruleSockets       = "sockets"
	ruleInitial       = "initial_elements"
	ruleExternalCalls = "external_calls"
)
