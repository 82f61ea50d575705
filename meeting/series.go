package meeting

import (
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// A Series is the content that all dates of a recurring meeting share, and the rule that generates
// them. Each date is a [Meeting] of its own.
type Series struct {
	ID         int64
	PreviousID int64 // series that it was split from; 0: none
	// FirstMeeting is the meeting that became the first date, and whose UID calendars use for the
	// series; 0: the series has a UID of its own.
	FirstMeeting ID
	Organizer    Person // UserID is set
	Title        string
	// Description and the fields below apply to each date unless it was changed individually.
	Description      string
	Timezone         string    // IANA, of all wall-clock times
	Start, End       time.Time // local times of the first date, stored as UTC, in whole seconds
	Rule             *recurrence.Rule
	ExDates, RDates  []recurrence.WallTime
	RoomIDs          []int64
	RoomNames        []string // by RoomIDs; read by the store, never written
	Limits           []Limit  `json:"-"` // of its rooms; never written
	Attendees        []Attendee
	Reminders        []Reminder // ignored if DefaultReminders
	DefaultReminders bool
	Visibility       Visibility
	TypeID           int64     // 0: none
	CancelledAt      time.Time // when the whole series was canceled; zero: not canceled
	Custom           []FieldValue
	Foreign          OriginKind // see [Meeting.Foreign]
	ReplyDomain      string     // see [Meeting.ReplyDomain]
	Origin           *Origin    // of a new series, see [Meeting.Origin]; not read

	// Sequence is the SEQUENCE of the last calendar mail about the series or one of its dates,
	// which share a UID. The store raises it before it takes such notices: see
	// [SeriesChange.RaisesSequence] and [Meeting.RaisesSequence].
	Sequence int64

	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time

	BookedBy string   `json:"-"` // name of the user who books it now for somebody else; empty: the organizer does
	Notices  []Notice `json:"-"` // recorded since it was read; see [Series.TakeNotices]
}

// ReasonSeries is the reason in a meeting's history for changes of its series.
const ReasonSeries = "series"

// Recurrence returns the recurrence set of the series.
func (s *Series) Recurrence() *recurrence.Set {
	return &recurrence.Set{Start: s.Start, End: s.End, Zone: clock.ZoneOrUTC(s.Timezone), Rule: s.Rule, ExDates: s.ExDates, RDates: s.RDates}
}

// Dates of the series, in order.
func (s *Series) Dates() []recurrence.Date {
	return s.Recurrence().Dates(recurrence.AllDates)
}

// First returns the start of the first date by the rule.
func (s *Series) First() time.Time { return clock.InstantOrShift(s.Start, clock.ZoneOrUTC(s.Timezone)) }

// Terms returns the series' terms for one date.
func (s *Series) Terms(d recurrence.Date, rooms []*Room, kind *Type, defaults []Reminder) Terms {
	t := Terms{
		Title: s.Title, Description: s.Description, Slot: d.Slot, Timezone: s.Timezone, Rooms: rooms,
		Attendees: s.Attendees, Reminders: s.Reminders, DefaultReminders: s.DefaultReminders, Visibility: s.Visibility,
		Organizer: s.Organizer, Type: kind, Custom: s.Custom,
	}
	if s.DefaultReminders {
		t.Reminders = defaults
	}
	return t
}

// ApplyTerms sets the series' content from terms.
func (s *Series) ApplyTerms(t Terms, at time.Time) {
	s.Title, s.Description, s.Timezone = t.Title, t.Description, t.Timezone
	s.RoomIDs, s.RoomNames, s.Limits = RoomIDs(t.Rooms), RoomNames(t.Rooms), LimitsOf(t.Rooms)
	s.Attendees, s.Visibility = t.Attendees, t.Visibility
	s.Organizer, s.TypeID = t.OrganizerOf(s.Sample()), t.Type.id()
	s.Custom = t.Custom
	s.Reminders, s.DefaultReminders = t.Reminders, t.DefaultReminders
	s.UpdatedAt = at
}

// Sample returns a meeting with the series' content, for checks that take a meeting.
func (s *Series) Sample() *Meeting {
	return &Meeting{
		Title: s.Title, Description: s.Description, Slot: s.Recurrence().Date(s.Start).Slot, Timezone: s.Timezone,
		Organizer: s.Organizer, RoomIDs: s.RoomIDs, RoomNames: s.RoomNames, Limits: s.Limits, Attendees: s.Attendees,
		Reminders: s.Reminders, DefaultReminders: s.DefaultReminders, Visibility: s.Visibility, TypeID: s.TypeID, Custom: s.Custom,
		SeriesID: s.ID, Foreign: s.Foreign, ReplyDomain: s.ReplyDomain, bookedBy: s.BookedBy,
	}
}

// View returns the series as the actor may see it; see [Meeting.View].
func (s *Series) View(by Actor, rooms []*Room) *Series {
	m := s.Sample().View(by, rooms)
	seen := *s
	seen.Organizer, seen.TypeID, seen.Custom = m.Organizer, m.TypeID, m.Custom
	seen.RoomIDs, seen.RoomNames = m.RoomIDs, m.RoomNames
	seen.Title, seen.Description, seen.Attendees, seen.Reminders = m.Title, m.Description, m.Attendees, m.Reminders
	return &seen
}

// Clone returns a copy with lists of its own.
func (s *Series) Clone() *Series {
	c := *s
	c.ExDates, c.RDates = slices.Clone(s.ExDates), slices.Clone(s.RDates)
	c.RoomIDs, c.RoomNames, c.Limits = slices.Clone(s.RoomIDs), slices.Clone(s.RoomNames), slices.Clone(s.Limits)
	c.Attendees, c.Reminders = slices.Clone(s.Attendees), slices.Clone(s.Reminders)
	c.Notices = nil
	return &c
}

// Split divides the series at a date. The second part has no ID yet; it is nil if the rule has
// no date before the given one.
func (s *Series) Split(d recurrence.Date, at time.Time) (first, second *Series) {
	before, after, ok := s.Recurrence().Split(d.Wall)
	if !ok {
		return s, nil
	}
	first, second = s.Clone(), s.Clone()
	first.UpdatedAt = at
	first.recur(before)
	second.ID, second.PreviousID, second.Version, second.Sequence, second.CreatedAt, second.UpdatedAt = 0, s.ID, 0, 0, at, at
	second.FirstMeeting = 0
	second.recur(after)
	return first, second
}

// recur sets the recurrence set of the series.
func (s *Series) recur(r recurrence.Set) {
	s.Start, s.End, s.Rule, s.ExDates, s.RDates = r.Start, r.End, r.Rule, r.ExDates, r.RDates
}

// Skipped is a date that could not be booked, and the reason.
type Skipped struct {
	OriginalStart time.Time
	Reason        string      // "room_conflict", the code of a violation, or "cancelled"
	Conflicts     []Occupancy // which rooms are taken, and when
	Violations    []Fault     // policy violations
}

// ReasonTaken is the reason for a date whose rooms are taken.
const ReasonTaken = "room_conflict"

// SeriesConflictError lists all dates of a series that cannot be booked.
type SeriesConflictError struct{ Dates []Skipped }

func (e *SeriesConflictError) Error() string {
	var reasons []string
	for _, d := range e.Dates {
		reasons = append(reasons, d.OriginalStart.Format(time.RFC3339)+": "+d.Reason)
	}
	return "dates that cannot be: " + strings.Join(reasons, ", ")
}

// Taken reports whether a date fails because a room is taken, and not only because of rules.
func (e *SeriesConflictError) Taken() bool {
	return slices.ContainsFunc(e.Dates, func(d Skipped) bool { return len(d.Conflicts) > 0 })
}

// OnConflict says what happens to a date that cannot be booked as requested.
type OnConflict string

const (
	FailOnConflict OnConflict = "fail"       // nothing is saved
	SkipOnConflict OnConflict = "skip"       // the others are saved
	OtherRoom      OnConflict = "other_room" // another room of the site is booked, if there is one; else nothing is saved
)

// Scope says which dates of a series a change covers. Dates that have begun never change.
type Scope string

const (
	ScopeAll       Scope = "all"
	ScopeFollowing Scope = "following" // from one date on
)

// ErrOutdated is returned if the series changed after its change was planned.
var ErrOutdated = errors.New("changed meanwhile")

// SeriesChange is a fully planned change of a series. Saving it sets IDs and versions.
type SeriesChange struct {
	Series *Series    // new if its ID is 0
	Split  *Series    // new series that takes over dates; nil: none
	Update []*Meeting // in their new state, with the versions that were read; those with SeriesID 0 move to Split
	Create []*Meeting // of Split, if set, else of Series

	Before  []*Meeting // those of Update as they were read
	Skipped []Skipped  // dates that could not be booked

	Undoable *Undoable   // until when it can be undone; nil: it cannot
	Undoes   *PastChange // the change that it undoes; nil: none
}

// RaisesSequence reports whether a notice changes the series or one of its dates in calendars, so
// that the store must raise [Series.Sequence].
func (c *SeriesChange) RaisesSequence() bool {
	return c.Series != nil && slices.ContainsFunc(c.Series.Notices, Notice.forCalendars) || slices.ContainsFunc(c.Update, (*Meeting).RaisesSequence)
}

// Target returns the series that new dates belong to.
func (c *SeriesChange) Target() *Series {
	if c.Split != nil {
		return c.Split
	}
	return c.Series
}

// NoteRule records in the history that the meeting repeats.
func (m *Meeting) NoteRule(s *Series, by Actor, at time.Time) {
	rule := Change{To: s.Rule.String()}
	for i := range m.History {
		if e := &m.History[i]; e.Action == ActionChanged {
			e.Changes["rrule"] = rule
			return
		}
	}
	m.Record(Entry{At: at, Action: ActionChanged, Actor: by, Changes: map[string]Change{"rrule": rule}})
}

// Wants returns what a planned change takes, and its existing meetings.
func (c *SeriesChange) Wants() (needed []Occupancy, by []ID) {
	for _, m := range append(slices.Clone(c.Update), c.Create...) {
		needed = append(append(needed, m.Occupied...), m.requested...)
		if r := m.Request; r != nil && r.Change != nil {
			needed = append(needed, r.Change.Held...)
		}
		if m.ID != 0 {
			by = append(by, m.ID)
		}
	}
	return needed, by
}
