//go:build amd64 || arm64

package known

const (
	addsChain        = 16
	addsInstructions = addsChain + 2
	branched         = 2
)

//go:noescape
func adds(n uint64)

//go:noescape
func branches(n, seed uint64) uint64
