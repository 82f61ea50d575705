package meeting

import (
	"time"

	"punctual/meeting/policy"
)

// Settings of the installation. They may change while the service runs.
type Settings struct {
	Timezone        string        // IANA, of rooms whose site names none; empty: UTC
	HoldPending     bool          // a request takes its rooms while it waits
	Reminders       []Reminder    // defaults, of meetings without their own
	ApprovalTimeout time.Duration // of rooms that name none; 0: until the start
	OnTimeout       Status        // of a request: [Rejected], also when empty, or [Confirmed]
	RemindBefore    time.Duration // the deadline of a request; 0: nobody is reminded
	EscalateAfter   time.Duration // of rooms that name none; 0: never
	CheckIn         CheckIn       // of new rooms
	Limits          policy.Limits
	Offer           time.Duration // validity of a waiting-list offer; 0: the room is booked at once
	ReplyDomain     string        // of new meetings; see [Meeting.ReplyDomain]
	Public          bool          // the public calendar is on
	Undo            time.Duration // how long a change can be undone, and its notifications wait; 0: no undo
}
