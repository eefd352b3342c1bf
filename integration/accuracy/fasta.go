package main

import (
	"context"
	"hash/crc32"
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

// fasta makes a random sequence: each number depends on the one before, so one worker at
// a time draws a block of them; each finds the letters for its block; and they are written in order.
func fasta(ctx context.Context, p *program) {
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
	)
	for range 2 {
		wg.Go(func() {
			numbers, text := make([]uint32, blockBytes), make([]byte, blockBytes)
			for ctx.Err() == nil {
				generate.Lock()
				block := blocks
				blocks++
				_, span := p.tracer.Start(ctx, "random")
				for i := range int(p.share("random", blockBytes)) {
					seed = (seed*multiplier + increment) % modulus
					numbers[i] = seed
				}
				span.End()
				generate.Unlock()

				_, span = p.tracer.Start(ctx, "select")
				for i, n := range numbers[:int(p.share("select", blockBytes))] {
					k := 0
					for n >= below[k] {
						k++
					}
					text[i] = letters[k]
				}
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
