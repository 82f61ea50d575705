package meeting

// Override is an admin's word that a booking may break the rules of its rooms. It neither
// makes a taken room free nor changes what is over; see [Fault.Firm].
type Override struct {
	Reason     string
	Violations []Fault // the rules that were passed over; none: there was no need
}

// Violation is a rule that was passed over, as history keeps it.
type Violation struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	RoomID  int64  `json:"room_id,omitempty"`
	Limit   any    `json:"limit,omitempty"`
	Actual  any    `json:"actual,omitempty"`
}

// used reports whether rules were passed over.
func (o *Override) used() bool { return o != nil && len(o.Violations) > 0 }

// note adds to an entry of the history what was passed over, and why.
func (o *Override) note(e *Entry) {
	if !o.used() {
		return
	}
	violations := make([]Violation, len(o.Violations))
	for i, f := range o.Violations {
		violations[i] = Violation{Code: f.Code, Message: f.Message, RoomID: f.Figures.RoomID, Limit: f.Figures.Limit, Actual: f.Figures.Actual}
	}
	if e.Changes == nil {
		e.Changes = map[string]Change{}
	}
	e.Changes["override"] = Change{To: violations}
	e.Reason = o.Reason
}
