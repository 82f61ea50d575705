package meeting

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/delayjob"
	"punctual/meeting/clock"
)

// WaitState is the state of a [Wait].
type WaitState string

const (
	Waiting     WaitState = "waiting"
	Offered     WaitState = "offered"   // its rooms are held until the person accepts
	Booked      WaitState = "booked"    // it became a meeting
	WaitExpired WaitState = "expired"   // nothing became free in time, or an offer was not accepted
	Withdrawn   WaitState = "withdrawn" // left or declined
	Refused     WaitState = "refused"   // it became free, but the rules no longer allow it
)

// Valid reports whether the state exists.
func (s WaitState) Valid() bool {
	return slices.Contains([]WaitState{Waiting, Offered, Booked, WaitExpired, Withdrawn, Refused}, s)
}

// Reasons why a wait ended without a booking: its Reason.
const (
	ReasonStarted = "start"    // its start has passed
	ReasonUntil   = "until"    // its chosen end has passed
	ReasonOffer   = "offer"    // an offer was not accepted in time
	ReasonRules   = "rules"    // rules no longer allow it
	ReasonAccount = "inactive" // the person's account was disabled
)

// ReasonWaitingList is the reason in the history of a meeting that came from the waiting list.
const ReasonWaitingList = "waiting_list"

// A Wait is a person's place on the waiting list for rooms that are taken. Places are served in the
// order in which people joined. A wait for several rooms gets all of them or none.
type Wait struct {
	ID       int64
	Person   Person // UserID is set; the others are read by the store
	JoinedBy Person // delegate who joined for them, by UserID and Name; without UserID: the person joined
	State    WaitState
	Wished   Wished
	Wants    []Occupancy // what it would take, buffers included
	Until    time.Time   // end of the wait; zero: the start
	Expires  time.Time   // the earlier of Until and the start

	OfferUntil time.Time // to accept the offer; zero: there was none
	MeetingID  ID        // that it became; 0: none
	Reason     string    // why it ended without a booking
	Detail     string    // the violations, in words

	Position  int // from 1; read by the store; 0 unless it waits
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time

	notices []Notice
}

// Wished is the meeting that the person waits for.
type Wished struct {
	Title, Description string
	Slot               clock.Slot
	Timezone           string
	RoomIDs            []int64
	RoomNames          []string // as they were when the person joined
	Attendees          []Person
	Reminders          []Reminder
	DefaultReminders   bool
	Visibility         Visibility
	Custom             []FieldValue
}

// wished returns the meeting for terms that could not be booked.
func wished(t Terms) Wished {
	w := Wished{
		Title: t.Title, Description: t.Description, Slot: t.Slot, Timezone: t.Timezone,
		RoomIDs: RoomIDs(t.Rooms), RoomNames: RoomNames(t.Rooms), Attendees: Persons(t.Attendees),
		DefaultReminders: t.DefaultReminders, Visibility: t.Visibility, Custom: t.Custom,
	}
	if !t.DefaultReminders {
		w.Reminders = t.Reminders
	}
	return w
}

// NewWait creates the place of a person who requested these terms, themselves or by a delegate.
func NewWait(t Terms, by Actor, until, at time.Time) *Wait {
	w := &Wait{
		Person: Person{UserID: by.ID, Email: by.Email, Name: by.Name}, State: Waiting,
		Wished: wished(t), Wants: (&Meeting{Slot: t.Slot}).Occupancies(t.Rooms),
		Until: until, Expires: t.Slot.Start, CreatedAt: at, UpdatedAt: at,
	}
	if d := by.Delegate; d != nil {
		w.JoinedBy = Person{UserID: d.ID, Name: d.Name}
	}
	if !until.IsZero() {
		w.Expires = clock.Earlier(until, w.Expires)
	}
	return w
}

// Open reports whether the wait can still lead to a booking.
func (w *Wait) Open() bool { return w.State == Waiting || w.State == Offered }

// Due returns when its timer fires: the end of the offer, or of the wait.
func (w *Wait) Due() time.Time {
	if w.State == Offered {
		return w.OfferUntil
	}
	return w.Expires
}

// Messages returns the future timed events of the wait.
func (w *Wait) Messages() []delayjob.Message {
	if !w.Open() {
		return nil
	}
	return []delayjob.Message{{Job: JobWaitlistExpire, Key: strconv.FormatInt(w.ID, 10), Version: w.Version, Due: w.Due()}}
}

// Offer holds the rooms until the person accepts, at most until the wait ends.
func (w *Wait) Offer(length time.Duration, at time.Time) {
	w.State, w.OfferUntil, w.UpdatedAt = Offered, clock.Earlier(at.Add(length), w.Expires), at
	f := w.facts()
	f.Deadline, f.WaitID = &w.OfferUntil, w.ID
	w.notify(Notice{Kind: NoticeWaitlistOffer, Due: at, Expires: w.OfferUntil, Facts: f})
}

// Booked ends the wait with a meeting, whose ID the store sets.
func (w *Wait) Booked(m *Meeting, by Actor, at time.Time) {
	w.State, w.UpdatedAt = Booked, at
	if by.Kind == ActorUser && by.Delegate == nil {
		return // the person who accepts needs no mail
	}
	f := w.facts()
	if by.Delegate != nil {
		f.By = by.Delegate.Name
	}
	f.Decision = m.Status
	w.notify(Notice{Kind: NoticeWaitlistBooked, Due: at, Expires: w.Wished.Slot.End, Facts: f})
}

// End ends a wait without a booking and notifies the person.
func (w *Wait) End(state WaitState, reason, detail string, at time.Time) {
	w.State, w.Reason, w.Detail, w.UpdatedAt = state, reason, detail, at
	f := w.facts()
	f.Reason, f.Comment = reason, detail
	w.notify(Notice{Kind: NoticeWaitlistExpired, Due: at, Facts: f})
}

// Expire ends a wait or an offer that has timed out.
func (w *Wait) Expire(at time.Time) { w.End(WaitExpired, w.timeOut(), "", at) }

// timeOut returns the reason of a wait or an offer that times out.
func (w *Wait) timeOut() string {
	switch {
	case w.State == Offered:
		return ReasonOffer
	case w.Expires.Before(w.Wished.Slot.Start):
		return ReasonUntil
	default:
		return ReasonStarted
	}
}

// At returns the wait as it is at an instant, even if its timer is late.
func (w *Wait) At(at time.Time) *Wait {
	seen := *w
	if w.Open() && !at.Before(w.Due()) {
		seen.State, seen.Reason, seen.Position = WaitExpired, w.timeOut(), 0
	}
	return &seen
}

func (w *Wait) facts() Facts {
	return Facts{
		Title: w.Wished.Title, Start: w.Wished.Slot.Start, End: w.Wished.Slot.End, Timezone: w.Wished.Timezone,
		Rooms: slices.Clone(w.Wished.RoomNames), BookedBy: w.JoinedBy.Name,
	}
}

// notify records a mail to the person.
func (w *Wait) notify(n Notice) {
	n.Channel, n.To = Email, w.Person
	w.notices = append(w.notices, n)
}

// TakeNotices returns and clears the notices recorded since the last call. A store calls it once
// the wait has the ID of its meeting.
func (w *Wait) TakeNotices() []Notice {
	ns := w.notices
	w.notices = nil
	for i := range ns {
		n := &ns[i]
		n.MeetingID, n.Facts.MeetingID = w.MeetingID, w.MeetingID
		n.DedupeKey = strings.Join([]string{string(n.Kind), "wait-" + strconv.FormatInt(w.ID, 10), string(n.Channel), strings.ToLower(n.address())}, ":")
	}
	return ns
}

// MaySeeWait reports whether the actor may see and end the wait: its person, their delegates (for a private
// meeting those for private meetings), and admins.
func (a Actor) MaySeeWait(w *Wait) bool {
	return a.IsAdmin() || a.Kind == ActorUser && a.ID == w.Person.UserID || a.mayActFor(w.Person.UserID, w.Wished.Visibility == Private)
}

// ActingOn returns the actor for what a user does to the wait: the user, or its person if the user is their
// delegate.
func (a Actor) ActingOn(w *Wait) Actor {
	if a.ID == w.Person.UserID {
		return a
	}
	acting, _ := a.For(w.Person, w.Wished.Visibility == Private)
	return acting
}

// Takes returns all that the meeting holds, including for a pending move.
func (m *Meeting) Takes() []Occupancy {
	if m.Request == nil || m.Request.Change == nil {
		return m.Occupied
	}
	return append(slices.Clip(m.Occupied), m.Request.Change.Held...)
}

// FreedBy returns what the meeting held and no longer holds in a later state.
func (m *Meeting) FreedBy(later *Meeting) []Occupancy { return Uncovered(m.Takes(), later.Takes()) }

// Looks returns the messages that make workers serve the waiting lists of the rooms. The number
// makes a later message follow one that is being handled.
func Looks(rooms []int64, number int64, at time.Time) []delayjob.Message {
	ms := make([]delayjob.Message, len(rooms))
	for i, id := range rooms {
		ms[i] = delayjob.Message{Job: JobWaitlistLook, Key: strconv.FormatInt(id, 10), Version: number, Due: at}
	}
	return ms
}

// InState returns nil if the wait is in one of the states at an instant.
func (w *Wait) InState(at time.Time, what string, states ...WaitState) error {
	if state := w.At(at).State; !slices.Contains(states, state) {
		return &StateError{State: Status(state), Action: what}
	}
	return nil
}
