package moving

import (
	"slices"
	"time"
)

// Result is the outcome for a room, a person or a booking.
type Result string

const (
	Created   Result = "created"
	Updated   Result = "updated"
	Unchanged Result = "unchanged" // it was here before
	Taken     Result = "conflict"
	Failed    Result = "failed"
)

// Counts are numbers of results.
type Counts map[Result]int

// Report is what an import did, or would do.
type Report struct {
	Program  string            `json:"program"`
	At       time.Time         `json:"at"`
	DryRun   bool              `json:"dry_run"`
	Counts   map[string]Counts `json:"counts"`   // by sites, rooms, people, types, fields, series, meetings
	Bookings int               `json:"bookings"` // of the other program
	Problems []Problem         `json:"problems"`
	Notes    []Note            `json:"notes"`
}

// Problem is a booking that did not get its room, or could not be imported at all.
type Problem struct {
	Result    Result `json:"result"` // conflict or failed
	Kept      string `json:"kept"`   // rejected: as a meeting without its room; other_room; "": in this report only
	MeetingID int64  `json:"meeting_id,omitempty"`
	Message   string `json:"message"`
	Booking   Shown  `json:"booking"`
	Holder    *Shown `json:"holder,omitempty"` // has the room
	Room      string `json:"room,omitempty"`   // that both want; or the one that was found instead
}

// Shown is a booking with all that the other program knew of it.
type Shown struct {
	Ref         string         `json:"ref"`
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	Organizer   string         `json:"organizer"`
	Rooms       []string       `json:"rooms"`
	Start       time.Time      `json:"start"`
	End         time.Time      `json:"end"`
	Timezone    string         `json:"timezone,omitempty"`
	Private     bool           `json:"private,omitempty"`
	Pending     bool           `json:"pending,omitempty"`
	Type        string         `json:"type,omitempty"`
	Attendees   []string       `json:"attendees,omitempty"`
	Fields      map[string]any `json:"fields,omitempty"`
	Extra       []Extra        `json:"extra,omitempty"`
}

// Failures returns how many bookings could not be imported at all.
func (r *Report) Failures() int {
	n := 0
	for _, p := range r.Problems {
		if p.Result == Failed {
			n++
		}
	}
	return n
}

// Sections of Counts, in the order of reports.
var Sections = []string{"sites", "rooms", "people", "types", "fields", "series", "meetings"}

func (r *Report) count(section string, result Result, n int) {
	if r.Counts[section] == nil {
		r.Counts[section] = Counts{}
	}
	r.Counts[section][result] += n
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Problems, func(a, b Problem) int { return a.Booking.Start.Compare(b.Booking.Start) })
}
