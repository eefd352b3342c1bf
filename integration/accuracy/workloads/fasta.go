package workloads

import (
	"context"
	"hash/crc32"
	"math/rand/v2"
	"sync"
)

// The generator and the frequencies of the benchmark "fasta".
const (
	modulus    = 139968
	multiplier = 3877
	increment  = 29573
	blockBytes = 60 << 10
)

var (
	letters   = []byte("acgtBDHKMNRSVWY")
	frequency = []float64{0.27, 0.12, 0.12, 0.27, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02}
)

// bounds are the random numbers below which each letter is chosen.
func bounds() []uint32 {
	var (
		all []uint32
		sum float64
	)
	for _, f := range frequency {
		sum += f
		all = append(all, uint32(sum*modulus))
	}
	all[len(all)-1] = modulus
	return all
}

// otherBlocks is how many blocks of numbers stand in for numbers that a shorter draw leaves out.
// The same ones each time would have the processor learn which letters they are, and the looking up
// take a tenth less.
const otherBlocks = 16

func otherNumbers() []uint32 {
	all := make([]uint32, otherBlocks*blockBytes)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range all {
		all[i] = rng.Uint32N(modulus)
	}
	return all
}

// look finds letters for numbers.
func look(text []byte, numbers, below []uint32) {
	for i, n := range numbers {
		k := 0
		for n >= below[k] {
			k++
		}
		text[i] = letters[k]
	}
}

// Fasta makes a random sequence: each number depends on the one before, so one worker at a time
// draws a block of them; each finds the letters for its block; and they are written in order.
func Fasta(ctx context.Context, p *Program) {
	var (
		wg       sync.WaitGroup
		generate = p.mutex()
		output   = p.mutex()

		seed   = uint32(42)
		blocks int

		turn    = p.cond(output)
		written int
		sum     uint32

		below = bounds()
		other = otherNumbers()
	)
	for range 2 {
		wg.Go(func() {
			numbers, text := make([]uint32, 2*blockBytes), make([]byte, blockBytes) // a slower draw has more
			for ctx.Err() == nil {
				generate.Lock()
				block := blocks
				blocks++
				_, span := p.tracer.Start(ctx, "random")
				drawn := int(p.share("random", blockBytes))
				for i := range drawn {
					seed = (seed*multiplier + increment) % modulus
					numbers[i] = seed
				}
				span.End()
				generate.Unlock()

				_, span = p.tracer.Start(ctx, "select")
				looked := int(p.share("select", blockBytes))
				look(text, numbers[:min(drawn, looked)], below)
				look(text, other[block%otherBlocks*blockBytes:][:max(0, looked-drawn)], below)
				span.End()

				output.Lock()
				for written != block {
					turn.Wait()
				}
				_, span = p.tracer.Start(ctx, "write")
				sum = crc32.Update(sum, crc32.IEEETable, text)
				span.End()
				written++
				turn.Broadcast()
				output.Unlock()
				p.progress(ctx)
			}
		})
	}
	wg.Wait()
}
