package hdr

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzHistogram checks that no file of a histogram does any harm, and that buckets survive being
// written.
func FuzzHistogram(f *testing.F) {
	f.Add("low,high,count\n0,0,1\n16,17,3\n", 1.0)
	f.Add(`{"relative_error":0.01,"buckets":[{"low":1,"high":1,"count":2},{"low":128,"high":129,"count":1}]}`, 1.0)
	f.Add("Value Percentile TotalCount\n1.5 0.5 1 2\n", 1e6)
	f.Add("HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=", 1.0)
	f.Fuzz(func(t *testing.T, text string, scale float64) {
		in, form, err := detect(strings.NewReader(text))
		if err != nil || form == formatHlog {
			return
		}
		s, err := readSnapshot(in, form, scale)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := writeCSV(&out, s); err != nil {
			t.Fatal(err)
		}
		back, err := readCSV(&out)
		if err != nil || !slices.Equal(slices.Collect(back.Buckets()), slices.Collect(s.Buckets())) {
			t.Fatalf("read again: %v", err)
		}
	})
}
