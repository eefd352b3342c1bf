package profile

import (
	"encoding/json"
	"time"

	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

// A WithheldCode names a reason why there is no number. Later versions may have further ones. Each
// has parameters, which are fields of [Withheld]:
//
//	few_iterations   Count were measured, Need are needed; Measured
//	started_as       spans of the region start as Name, and get their name later
//	no_spans         no span of the region ended in the experiments
//	few_spans        Count of them ended in Of experiments, Need in each are needed
//	spans_elsewhere  of Elapsed the region's spans took Took, and experiments saw Saved
//	other_path       Part of the visits came from other spans than without delay
//	calls_itself     the process called itself Count times for Of visits
//	waits_before     Count of Of requests waited for others before their first spans
//	unknown_waits    Part of the waiting in the warm-up was for unknown goroutines
//	saturated        processors were short for Part of the time
//	throttled        a quota took Part of the processor time
//	stolen           the host of the virtual machine took Part of it
//	not_inserted     Part of the delays could be inserted
//	owed             Part of the delays was still owed at the end
//	stretched        the period grew by Part, above 1, of what all spans were stretched by
//	unattributed     of Part of the waiting it is not known what ended it
//	self_check       Count of Of intervals without delay leave out zero
//	few_windows      Count recorded windows were simulated, Need are needed
//	deviation        simulated with nothing changed, Count of Of windows were missed by too much, all by Part in the mean
//	stuck            simulated, nothing could go on
//	few_visits       too few visits of the progress point in recordings
//	slower           simulated with a region faster, the program became much slower
//	contradicted     slow-downs in the program, which are measured, lie apart from the simulation
//	starved          goroutines had no processor for more than a tenth of the time
//	choices          select statements and deadlines decide, without example in the recordings
//	pauses           requests are longer by pauses that time decides
//	batches          goroutines wait for batches whose size time decides
//	offers           offers or requests are refused, or servers chosen, by what others do meanwhile
//	conditions       condition variables, of which recordings do not tell enough
//	no_bounds        the bounds of the effect are not among the metrics
//	other            Text has it: a reason that has no code, or had none when it was saved
type WithheldCode string

// A Withheld is a reason why there is no number, with the parameters that its code names; the
// others are zero. The zero Withheld is none. In JSON it also has "text", a sentence for people.
type Withheld struct {
	Code WithheldCode `json:"code"`
	// Count, Of and Need are numbers of things, Part is a share in [0, 1], or of "stretched" a
	// factor.
	Count int64   `json:"count,omitempty"`
	Of    int64   `json:"of,omitempty"`
	Need  int64   `json:"need,omitempty"`
	Part  float64 `json:"part,omitempty"`
	// Name is a span's.
	Name    string        `json:"name,omitempty"`
	Took    time.Duration `json:"took_ns,omitempty"`
	Saved   time.Duration `json:"saved_ns,omitempty"`
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`
	// Measured is what there was instead.
	Measured Measured `json:"measured,omitzero"`
	// Text is the sentence of "other", and that of a code of a later version.
	Text string `json:"text,omitempty"`
}

// Measured is what was measured where that is too little for a number.
type Measured struct {
	// Visits are those of the progress point in Elapsed, Spans the region's; negative if that is
	// not known.
	Visits  uint64        `json:"visits,omitempty"`
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`
	Spans   int64         `json:"spans,omitempty"`
	// Inserted is the delay inserted of what was Owed.
	Inserted time.Duration `json:"inserted_ns,omitempty"`
	Owed     time.Duration `json:"owed_ns,omitempty"`
	// Rejected is how many experiments were thrown away.
	Rejected int `json:"rejected,omitempty"`
}

// MarshalJSON adds the sentence.
func (w Withheld) MarshalJSON() ([]byte, error) {
	type plain Withheld // without this method
	w.Text = w.String()
	return json.Marshal(plain(w))
}

// UnmarshalJSON reads an object, or a string as "other": profiles were saved so once.
func (w *Withheld) UnmarshalJSON(text []byte) error {
	if string(text) == "null" { // by convention of encoding/json no value
		return nil
	}
	if len(text) > 0 && text[0] == '"' {
		*w = Withheld{Code: withheldcode.Other}
		return json.Unmarshal(text, &w.Text)
	}
	type plain Withheld
	if err := json.Unmarshal(text, (*plain)(w)); err != nil {
		return err
	}
	if w.Code == "" {
		w.Code = withheldcode.Other
	}
	if w.sentence() != "" { // of a code that is known here: it is made anew
		w.Text = ""
	}
	return nil
}
