package profile

// An Outcome is what was foretold of a version, beside what came with the next one.
type Outcome struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Region has become faster by this part of its self time.
	Region Region  `json:"region"`
	Faster float64 `json:"faster"`
	// Foretold, with its interval, is the reduction for so much, and Came the one that was
	// measured.
	Progress string  `json:"progress"`
	Metric   Metric  `json:"metric"`
	Foretold float64 `json:"foretold"`
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
	Came     float64 `json:"came"`
	// Load is by which part more requests came, or were there at a time, whichever differs less.
	Load float64 `json:"load"`
	// Verdict is "held" if it came within the interval and a point, "missed" if not. It is
	// "other_load" where Load is more than a fifth, and "others_changed" where other regions
	// have changed as well, by a quarter as much or more: these say nothing of what was foretold.
	Verdict string `json:"verdict"`
}
