package meeting

// Override lets an admin's booking violate room policies. It neither frees a taken room nor changes
// the past; see [Fault.Firm].
type Override struct {
	Reason     string
	Violations []Fault // the violations that were overridden; empty: none
}

// Violation is an overridden violation, as history keeps it.
type Violation struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	RoomID  int64  `json:"room_id,omitempty"`
	Limit   any    `json:"limit,omitempty"`
	Actual  any    `json:"actual,omitempty"`
}

// used reports whether violations were overridden.
func (o *Override) used() bool { return o != nil && len(o.Violations) > 0 }

// note adds the overridden violations and the reason to a history entry.
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
