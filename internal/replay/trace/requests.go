package trace

import "sync"

// Which spans are requests shows in the spans of a recording alone. Windows have the spans of all
// windows, and a dozen programs are made of each, so that it is found once for all of these.

// RemoteParents returns the spans that are remote parents of others, by their IDs, -1 for those of
// other processes; nil if no span has a remote parent. A parent within the recording is that of a
// request over a loopback connection: client and server are one program, and what the server does
// is no work that came from outside. The map must only be read.
func (r *Recording) RemoteParents() map[uint64]int32 {
	if r.common == nil {
		return remoteParents(r.Spans)
	}
	return r.common.of(r).parents
}

// Requests returns the regions whose spans are visits of a progress point, and by span the number
// of that point, None for none. Points of regions come behind those that the program counts itself,
// in the order of the regions. Both slices must only be read.
//
// These are the spans without a parent here, with the others of their regions if these are fewer.
// Where all regions of theirs have more others, as those of all calls of HTTP together, it is the
// spans without a parent alone, of the region that has most. Example, of spans "HTTP GET":
//
//	60 without a parent, 20 below others    all 80 are visits
//	20 without a parent, 60 below others    the 20 are
//
// A span whose remote parent is in this process, too, is below that one. TestRootsAmongOthers holds
// it.
func (r *Recording) Requests() (regions, points []int32) {
	if r.common == nil {
		return r.requests(remoteParents(r.Spans))
	}
	x := r.common.of(r)
	return x.requests, x.points
}

// A common is what the windows of one recording share, and the variants of these, which are copies
// of the struct: what was found in the spans that were asked about last. It is apart from Origin,
// which a study keeps for longer than spans.
type common struct {
	mu   sync.Mutex
	last found
}

// found is what there is in these spans, of these regions, where the program counts so many
// progress points itself.
type found struct {
	spans   []Span
	regions []Region
	counted int

	parents          map[uint64]int32 // see RemoteParents
	requests, points []int32          // see Requests
}

// of returns what there is in a recording. A variant may have other spans, or a region more.
func (c *common) of(r *Recording) found {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := &c.last; !same(x.spans, r.Spans) || !same(x.regions, r.Regions) || x.counted != len(r.Points) {
		parents := remoteParents(r.Spans)
		requests, points := r.requests(parents)
		c.last = found{r.Spans, r.Regions, len(r.Points), parents, requests, points}
	}
	return c.last
}

// same reports whether two slices are the same memory: what they hold never changes in place.
func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func remoteParents(spans []Span) map[uint64]int32 {
	parents := map[uint64]int32{}
	for i := range spans {
		if id := spans[i].Remote; id != 0 {
			parents[id] = -1
		}
	}
	if len(parents) == 0 {
		return nil
	}
	for i := range spans {
		if _, ok := parents[spans[i].ID]; ok {
			parents[spans[i].ID] = int32(i)
		}
	}
	return parents
}

func (r *Recording) requests(parents map[uint64]int32) (regions, points []int32) {
	isRoot := func(s *Span) bool { return s.Root && (s.Remote == 0 || parents[s.Remote] < 0) }
	roots, all := make([]int, len(r.Regions)), make([]int, len(r.Regions))
	for i := range r.Spans {
		s := &r.Spans[i]
		all[s.Region]++
		if isRoot(s) {
			roots[s.Region]++
		}
	}
	most := int32(None)
	taken := false
	for region, n := range roots {
		taken = taken || n > 0 && 2*n > all[region]
		if n > 0 && (most < 0 || n > roots[most]) {
			most = int32(region)
		}
	}
	of := make([]int32, len(r.Regions))
	for region, n := range roots {
		of[region] = None
		if n > 0 && 2*n > all[region] || !taken && int32(region) == most {
			of[region] = int32(len(r.Points) + len(regions))
			regions = append(regions, int32(region))
		}
	}
	points = make([]int32, len(r.Spans))
	for i := range r.Spans {
		s := &r.Spans[i]
		points[i] = of[s.Region]
		if !taken && !isRoot(s) {
			points[i] = None
		}
	}
	return regions, points
}
