package stats

// A Contrast is what experiments that slow a region down come to, beside placebos: the time of
// visits of a progress point, what it would have been with the region as it is, and the region's
// own time, for how much more of it callers were held, and what it would have been. All are sums,
// so that contrasts add up.
type Contrast struct{ Time, Base, Taken, Own, Placed float64 }

// Plus returns the sum with another contrast, or the difference with a sign of -1.
func (c Contrast) Plus(d Contrast, sign float64) Contrast {
	return Contrast{c.Time + sign*d.Time, c.Base + sign*d.Base, c.Taken + sign*d.Taken, c.Own + sign*d.Own, c.Placed + sign*d.Placed}
}

// LeastSlower is the part below which a region was not slower: what that costs is not known, and
// quotients by it are beyond what a profile may hold.
const LeastSlower = 1e-4

// Slower is by which part of its own time the region was held for more than in its placebos, 0 for
// less, or hardly more.
func (c Contrast) Slower() float64 {
	if c.Own <= 0 || c.Taken <= LeastSlower*c.Own {
		return 0
	}
	return c.Taken / c.Own
}

// Elasticity is by which part the time for each visit grew for each part by which the region was
// slower; 0 where that is not known.
func (c Contrast) Elasticity() float64 {
	if slower := c.Slower(); slower > 0 && c.Base > 0 {
		return (c.Time/c.Base - 1) / slower
	}
	return 0
}

// Rerouted is by which part there was more of the region for each visit, by its own time, for each
// part by which it was slower; 0 where that is not known.
func (c Contrast) Rerouted() float64 {
	if slower := c.Slower(); slower > 0 && c.Placed > 0 {
		return (c.Own/c.Placed - 1) / slower
	}
	return 0
}
