package meeting

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
)

// Action is what happened to a meeting, as named in its history and in events.
type Action string

const (
	ActionCreated   Action = "created"
	ActionConfirmed Action = "confirmed"
	ActionRejected  Action = "rejected"
	ActionChanged   Action = "changed"
	ActionCancelled Action = "cancelled"
	ActionStarted   Action = "started"
	ActionEnded     Action = "ended"
	ActionReleased  Action = "released"
	ActionCheckedIn Action = "checked_in"
	ActionResponded Action = "responded" // an attendee responded to the invitation
)

// Entry is one line of a meeting's history. Every action happens once, except "changed", "responded" and
// "confirmed": a confirmed meeting that moves in a room with approval must be confirmed again.
type Entry struct {
	ID      int64 // set by the store; rises
	At      time.Time
	Action  Action
	Actor   Actor
	Changes map[string]Change // by field of the REST resource
	Reason  string
}

// Change of one field.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// openChanges are the fields of a private meeting that everyone may see.
var openChanges = []string{"status", "visibility", "start", "end", "room_ids", "checked_in_at", "check_in.opens_at", "check_in.until"}

// Veiled returns the entry for users who saw the meeting as "Busy" then: its action, and the actor
// only if it was a timer. It leaves out names, comments and changes of hidden fields.
func (e Entry) Veiled() Entry {
	changes := map[string]Change{}
	for _, field := range openChanges {
		if c, ok := e.Changes[field]; ok {
			changes[field] = c
		}
	}
	e.Changes = changes
	if e.Actor.Kind == ActorUser {
		e.Actor, e.Reason = Actor{Kind: ActorUser}, ""
	}
	return e
}

// RoomIDs returns the rooms that the entry names, as far as IDs do.
func (e Entry) RoomIDs() []int64 {
	c, move := e.Changes["room_ids"], e.Changes["pending_change"]
	return slices.Concat(roomsIn(c.From), roomsIn(c.To), roomsOfMove(move.From), roomsOfMove(move.To))
}

// WithoutRooms returns the entry for users who may not know of some rooms.
func (e Entry) WithoutRooms(hidden []int64) Entry {
	if !slices.ContainsFunc(e.RoomIDs(), func(id int64) bool { return slices.Contains(hidden, id) }) {
		return e
	}
	e.Changes = maps.Clone(e.Changes)
	if c, ok := e.Changes["room_ids"]; ok {
		others := func(v any) []int64 {
			return slices.DeleteFunc(append([]int64{}, roomsIn(v)...), func(id int64) bool { return slices.Contains(hidden, id) })
		}
		e.Changes["room_ids"] = Change{From: others(c.From), To: others(c.To)}
	}
	delete(e.Changes, "pending_change")
	return e
}

// roomsOfMove returns the rooms of a requested move, as [PendingChange.summary] describes it.
func roomsOfMove(v any) []int64 {
	move, _ := v.(map[string]any)
	return roomsIn(move["room_ids"])
}

// roomsIn returns IDs, which are floats if they were read from a database.
func roomsIn(v any) (ids []int64) {
	switch v := v.(type) {
	case []int64:
		return v
	case []any:
		for _, id := range v {
			if n, ok := id.(float64); ok {
				ids = append(ids, int64(n))
			}
		}
	}
	return ids
}

// Reasons in history for changes by the installation.
const (
	ReasonDefaultReminders = "default_reminders" // the defaults in the configuration changed
	ReasonRoomCheckIn      = "room_check_in"     // the check-in settings of a room changed
)

// RemindersChanged returns the history entry for a meeting that follows new default reminders.
func RemindersChanged(from, to []Reminder, at time.Time) Entry {
	return Entry{
		At: at, Action: ActionChanged, Actor: Actor{Kind: ActorSystem, Name: "configuration"}, Reason: ReasonDefaultReminders,
		Changes: map[string]Change{"reminders": {From: reminderTexts(from), To: reminderTexts(to)}},
	}
}

// CheckInChanged returns the history entry for a meeting that follows new check-in settings of a
// room.
func CheckInChanged(from, to CheckInWindow, at time.Time) Entry {
	e := Entry{At: at, Action: ActionChanged, Actor: Actor{Kind: ActorSystem, Name: "room"}, Reason: ReasonRoomCheckIn, Changes: map[string]Change{}}
	note := func(field string, from, to time.Time) {
		if !from.Equal(to) {
			e.Changes[field] = Change{From: instantOrNil(from), To: instantOrNil(to)}
		}
	}
	note("check_in.opens_at", from.Opens, to.Opens)
	note("check_in.until", from.Until, to.Until)
	return e
}

// instantOrNil returns nil for the zero time.
func instantOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}

// turned adds the change of status to an entry; from is empty for a new meeting.
func turned(from, to Status, others map[string]Change) map[string]Change {
	changes := maps.Clone(others)
	if changes == nil {
		changes = map[string]Change{}
	}
	c := Change{To: to}
	if from != "" {
		c.From = from
	}
	changes["status"] = c
	return changes
}

// Notice is one notification to one person on one channel. It is recorded in the transaction that
// caused it and delivered afterwards. A second notice with the same DedupeKey is ignored.
type Notice struct {
	ID        int64 // set by the store; 0 if it was recorded before
	DedupeKey string
	Kind      NoticeKind
	Channel   Channel
	MeetingID ID
	To        Person
	Chat      string    // ID of a [ChatChannel], whose name and locale To has; "": To is a person
	Due       time.Time // when to send
	Expires   time.Time // after it, it is recorded as skipped instead of sent; zero: never
	Late      bool      // already too late: record as skipped, do not send
	Facts     Facts

	about    *Meeting // for a notice of a series: the meeting that it is filed under
	Single   bool     // it is about the meeting as it was before it became a date of a series
	occasion string   // distinguishes notices of this kind about one meeting; part of DedupeKey
}

// NoticeKind is the value of X-Punctual-Kind.
type NoticeKind string

const (
	NoticeReminder         NoticeKind = "reminder"
	NoticeInvitation       NoticeKind = "invitation"
	NoticeChange           NoticeKind = "change"
	NoticeCancellation     NoticeKind = "cancellation"
	NoticeReply            NoticeKind = "reply" // the answer of a room
	NoticeFaultReport      NoticeKind = "fault_report"
	NoticeApprovalRequest  NoticeKind = "approval_request"
	NoticeApprovalReminder NoticeKind = "approval_reminder"
	NoticeEscalation       NoticeKind = "escalation"
	NoticeDecision         NoticeKind = "decision"
	NoticeReleased         NoticeKind = "released"
	NoticeDeclined         NoticeKind = "declined"
	NoticeWaitlistOffer    NoticeKind = "waitlist_offer"
	NoticeWaitlistBooked   NoticeKind = "waitlist_booked"
	NoticeWaitlistExpired  NoticeKind = "waitlist_expired"
)

// Facts are the data for the text of a notice, as of the time when it was created.
type Facts struct {
	MeetingID   ID          `json:"meeting_id"`
	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"`
	Start       time.Time   `json:"start"`
	End         time.Time   `json:"end"`
	Timezone    string      `json:"timezone"` // of the rooms, for recipients without one
	Rooms       []string    `json:"rooms"`
	RoomIDs     []int64     `json:"room_ids,omitempty"` // of a post in a chat channel: all rooms that it names
	Fields      []FieldFact `json:"fields,omitempty"`   // custom fields for mails
	Organizer   Contact     `json:"organizer"`
	Attendees   []Contact   `json:"attendees,omitempty"`
	Sequence    int64       `json:"sequence"`              // iCalendar SEQUENCE
	Before      Anchor      `json:"before,omitempty"`      // of a reminder: start or end
	Offset      int64       `json:"offset,omitempty"`      // of a reminder, in seconds
	Decision    Status      `json:"decision,omitempty"`    // confirmed or rejected
	Reason      string      `json:"reason,omitempty"`      // "timeout", or the reason of a cancellation
	Comment     string      `json:"comment,omitempty"`     // of the approver
	Deadline    *time.Time  `json:"deadline,omitempty"`    // of an approval request
	CheckInBy   *time.Time  `json:"check_in_by,omitempty"` // of a reminder: when the check-in window ends
	NoShows     int         `json:"no_shows,omitempty"`    // of a release: consecutive no-shows of the series
	BookedBy    string      `json:"booked_by,omitempty"`   // of an invitation or a request: name of the user who booked for the organizer
	Handover    bool        `json:"handover,omitempty"`    // of an invitation: the recipient has become the organizer
	By          string      `json:"by,omitempty"`          // name of the user who changed, cancelled or decided
	ByFor       []string    `json:"by_for,omitempty"`      // names of the users for whom By decided as deputy, or acted as delegate
	Request     *Requested  `json:"request,omitempty"`     // of an approval request, approval reminder or escalation
	Move        *Placement  `json:"move,omitempty"`        // requested move, if the request or the decision is only about a move
	Was         *Placement  `json:"was,omitempty"`         // of a change: where the meeting was, if its time changed
	WaitID      int64       `json:"wait_id,omitempty"`     // of an offer from the waiting list
	Count       int         `json:"count,omitempty"`       // of a handover: meetings that the recipient organizes now
	LinkSeed    string      `json:"link_seed,omitempty"`   // of a password link: its secret is derived from it

	Reply *Reply `json:"reply,omitempty"` // of an answer to an invitation

	Agenda []AgendaItem `json:"agenda,omitempty"` // of a digest, by start

	ScheduleVersion int64 `json:"schedule_version,omitempty"` // of the meeting; 0 for a series

	SeriesID      int64        `json:"series_id,omitempty"`      // of the meeting
	SeriesFirst   ID           `json:"series_first,omitempty"`   // meeting whose UID the series has; 0: it has its own
	ReplyDomain   string       `json:"reply_domain,omitempty"`   // see [Meeting.ReplyDomain]
	OriginalStart *time.Time   `json:"original_start,omitempty"` // of the occurrence; nil for an added date
	Series        *SeriesFacts `json:"series,omitempty"`         // if the notice covers all or several dates
}

// Reply is the answer of a room to an invitation from another calendar program.
type Reply struct {
	From      string `json:"from"` // address of the room
	Name      string `json:"name"` // of the room
	Lang      string `json:"lang"` // BCP 47
	Subject   string `json:"subject"`
	Text      string `json:"text"`
	Calendar  string `json:"calendar"`         // iCalendar; empty: the invitation could not be read
	Method    string `json:"method,omitempty"` // of Calendar; empty: REPLY
	CC        string `json:"cc,omitempty"`     // address of the person who acts for the organizer; empty: nobody
	InReplyTo string `json:"in_reply_to,omitempty"`
	Event     string `json:"event"`          // UID of what is answered
	Date      string `json:"date,omitempty"` // of a series, in UTC; empty: the whole event
}

// Requested is an approval request as shown to an approver.
type Requested struct {
	Number    int64    `json:"number"`               // identifies the request in links
	OnTimeout Status   `json:"on_timeout,omitempty"` // outcome without a decision: rejected or confirmed
	Agreed    []string `json:"agreed,omitempty"`     // names of approvers of earlier levels
	For       []string `json:"for,omitempty"`        // names of the approvers for whom the reader is deputy
}

// AgendaItem is a meeting in a digest.
type AgendaItem struct {
	MeetingID ID        `json:"meeting_id"`
	Title     string    `json:"title"`
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	Rooms     []string  `json:"rooms"`
	Pending   bool      `json:"pending,omitempty"` // waits for approval
}

// Placement is a time and the names of rooms.
type Placement struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Rooms []string  `json:"rooms"`
}

// Contact is a name and an email address.
type Contact struct {
	Name     string   `json:"name"`
	Email    string   `json:"email"`
	Response Response `json:"response,omitempty"` // of an attendee: needs_action, accepted, declined or tentative
}

// Record adds a history entry, which the next save writes. The actor of what a delegate did is the delegate, and
// the change "acted_for" names the person for whom.
func (m *Meeting) Record(e Entry) {
	if d := e.Actor.Delegate; d != nil {
		changes := maps.Clone(e.Changes)
		if changes == nil {
			changes = map[string]Change{}
		}
		changes["acted_for"] = Change{To: cmp.Or(e.Actor.Name, e.Actor.Email)}
		e.Changes, e.Actor = changes, *d
		e.Actor.Name = cmp.Or(d.Name, d.Email)
	}
	m.History = append(m.History, e)
}

// reminderTexts are reminders as history shows them: "15m before start by email, sms".
func reminderTexts(rs []Reminder) []string {
	texts := make([]string, len(rs))
	for i, r := range rs {
		channels := make([]string, len(r.Channels))
		for j, c := range r.Channels {
			channels[j] = string(c)
		}
		texts[i] = fault.FormatDuration(r.Offset) + " before " + string(r.Before) + " by " + strings.Join(channels, ", ")
	}
	return texts
}

// SeriesFacts describe a recurring meeting. Times without an offset are local times in the zone of the facts,
// in the format of iCalendar: 20270210T090000.
type SeriesFacts struct {
	ID        int64        `json:"id"`
	Rooms     []string     `json:"rooms,omitempty"` // default: those of the facts
	Start     string       `json:"start"`           // of the first date
	End       string       `json:"end"`
	Rule      string       `json:"rule"`                // with UNTIL in UTC
	ExDates   []string     `json:"exdates,omitempty"`   // excluded dates of the rule
	RDates    []string     `json:"rdates,omitempty"`    // added dates
	Count     int64        `json:"count"`               // of future dates
	Dates     []time.Time  `json:"dates,omitempty"`     // the first future dates, to show
	Places    [][]string   `json:"places,omitempty"`    // rooms of each of Dates; none: the same for all
	Last      time.Time    `json:"last"`                // last date
	Overrides []Occurrence `json:"overrides,omitempty"` // dates that differ from the series
	Cancelled []Occurrence `json:"cancelled,omitempty"` // of a cancellation of some dates; none: of all
	Meetings  []ID         `json:"meetings,omitempty"`  // of a post in a chat channel: the dates that it is about
	Part      SeriesPart   `json:"part,omitempty"`      // of a change that takes several notices: ends, goes_on or added
	Split     *time.Time   `json:"split,omitempty"`     // where the series ends or continues: first date of the split-off series
}
