// Fasta makes a random DNA sequence, like the benchmark of that name: two workers draw blocks of
// random numbers, of which each depends on the one before, so one worker draws at a time; find
// the letter for each number side by side; and write the blocks in order.
//
//	go run ./fasta
//
// Three regions, "random", "select" and "write": which of them is worth the work? The causal
// profile says it, by recordings that are simulated and beside them by the simple form, experiments
// in which all regions but one are made longer (dilation). Then the optimised variant, which looks
// up where to begin its search, shows what that was worth.
package main

import (
	"context"
	"hash/crc32"
	"math"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/examples/internal/beside"
)

func main() { beside.Main(program) }

var program = beside.Program{
	Name:     "fasta",
	About:    "2 workers; random numbers under a lock, letters side by side, written in order",
	Unit:     "block",
	Region:   "select",
	Function: "(*alphabet).choose",
	Change:   "a small table says where to begin the search for a letter",
	Dilation: true,
	Run:      generate,
}

const (
	workers    = 2
	blockBytes = 60 << 10
)

// generate makes a sequence until ctx is over.
func generate(ctx context.Context, tracer trace.Tracer, optimized bool) {
	r := &random{tracer: tracer, seed: 42}
	a := newAlphabet(optimized)
	out := newOutput(tracer)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			numbers, text := make([]uint32, blockBytes), make([]byte, blockBytes)
			for ctx.Err() == nil {
				within, span := tracer.Start(ctx, "block")
				block := r.fill(within, numbers)
				_, choice := tracer.Start(within, "select")
				a.choose(text, numbers)
				choice.End()
				out.write(within, block, text)
				span.End()
			}
		})
	}
	wg.Wait()
}

// random is the generator of the benchmark.
type random struct {
	tracer trace.Tracer

	mu     causal.Mutex
	seed   uint32
	blocks int
}

// fill draws a block of numbers in [0, modulus), and returns which block it is.
func (r *random) fill(ctx context.Context, numbers []uint32) int {
	causal.Blocked(ctx, r.mu.Lock) // is not made longer by dilation: what is waited for is
	defer r.mu.Unlock()
	_, span := r.tracer.Start(ctx, "random")
	defer span.End()
	seed := r.seed
	for i := range numbers {
		seed = (seed*3877 + 29573) % modulus
		numbers[i] = seed
	}
	r.seed = seed
	r.blocks++
	return r.blocks - 1
}

const modulus = 139968

// An alphabet has letters that are not equally frequent.
type alphabet struct {
	letters []letter
	// start is by number/tableStep: the first letter that it may be. Without it the search
	// begins at the first of all.
	start []uint8
}

// A letter stands for the numbers below a bound, and not below that of the letter before.
type letter struct {
	name  byte
	below uint32
}

const tableStep = 1 << 14

func newAlphabet(optimized bool) *alphabet {
	a := &alphabet{}
	sum := 0.0
	for _, group := range []struct {
		names     string
		frequency float64 // of each
	}{{"BDHKMNRSVWY", 0.02}, {"cg", 0.12}, {"at", 0.27}} {
		for _, name := range []byte(group.names) {
			sum += group.frequency
			a.letters = append(a.letters, letter{name, uint32(math.Round(sum * modulus))})
		}
	}
	if optimized {
		for n := uint32(0); n < modulus; n += tableStep {
			a.start = append(a.start, uint8(a.search(n, 0)))
		}
	}
	return a
}

// search tries one letter after the other.
func (a *alphabet) search(n uint32, from int) int {
	for n >= a.letters[from].below {
		from++
	}
	return from
}

// choose finds the letter for each number.
func (a *alphabet) choose(text []byte, numbers []uint32) {
	for i, n := range numbers {
		from := 0
		if a.start != nil {
			from = int(a.start[n/tableStep])
		}
		text[i] = a.letters[a.search(n, from)].name
	}
}

// An output takes blocks in order.
type output struct {
	tracer trace.Tracer

	mu   causal.Mutex
	turn *causal.Cond
	next int
	sum  uint32 // stands for a file: a checksum of all that was written
}

func newOutput(tracer trace.Tracer) *output {
	o := &output{tracer: tracer}
	o.turn = causal.NewCond(&o.mu)
	return o
}

// write waits for the block's turn and writes it.
func (o *output) write(ctx context.Context, block int, text []byte) {
	causal.Blocked(ctx, o.mu.Lock)
	defer o.mu.Unlock()
	for o.next != block {
		causal.Blocked(ctx, o.turn.Wait)
	}
	_, span := o.tracer.Start(ctx, "write")
	o.sum = crc32.Update(o.sum, crc32.IEEETable, text)
	span.End()
	o.next++
	o.turn.Broadcast()
}
