// Package hdrlog reads and writes what HdrHistogram and the tools around it do: its encoded
// histograms, its interval logs (.hlog) and its percentile distributions (.hgrm).
//
// # What is kept
//
// An encoded histogram holds counts, and neither the sum nor the extremes. A decoded
// [otelhdr.Snapshot] has the buckets of as many significant digits over all of uint64, so those of
// one log can be merged whatever their ranges. Its percentiles are the greatest values of their
// buckets, its extremes the outer bounds of its outer buckets, as in other implementations; its sum
// is that of the middles. One with a lowest discernible value above 1 keeps the bounds of its
// buckets, and is encoded with that value again.
//
// Encoding writes buckets of 1 to 5 significant digits, and is lossless for snapshots that have
// them, see [otelhdr.WithSignificantDigits]. Others are counted where the middles of their buckets
// fall, at the number of digits that is as fine or finer; the two finest errors, below that of 5
// digits, become that of 5 digits. Buckets wider than their layout are never made narrower: the
// lowest discernible value becomes the least for which one of HdrHistogram's buckets holds each,
// and where that would be more than twice as wide there is an error. Values out of range are
// counted as the minimum or the maximum. HdrHistogram has no values of 2^63 and above: these are an
// error.
//
// Encoding writes version 2 and decoding reads versions 0, 1 and 2.
package hdrlog
