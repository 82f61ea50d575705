package meeting

import (
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// A Series is what all dates of a recurring meeting have in common, and the rule that generates
// them. Each date is a [Meeting] of its own, with the rooms that it holds.
type Series struct {
	ID         int64
	PreviousID int64  // of the series it was split off; 0: none
	Organizer  Person // UserID is set
	Title      string
	// Description and the fields below apply to each date unless it was changed individually.
	Description      string
	Timezone         string    // IANA, of all wall-clock times
	Start, End       time.Time // of the first date as clocks show it, in UTC, in whole seconds
	Rule             *recurrence.Rule
	ExDates, RDates  []recurrence.WallTime
	RoomIDs          []int64
	RoomNames        []string // by RoomIDs; read by the store, never written
	Attendees        []Attendee
	Reminders        []Reminder // ignored if DefaultReminders
	DefaultReminders bool
	Visibility       Visibility
	CancelledAt      time.Time // as a whole; zero: was not

	// Sequence is the SEQUENCE of the last mail to calendars about the series or one of its dates,
	// which share a UID. The store raises it before it takes such notices: see
	// [SeriesChange.RaisesSequence] and [Meeting.RaisesSequence].
	Sequence int64

	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time

	notices []Notice
}

// ReasonSeries is the reason in a meeting's history of what came through its series.
const ReasonSeries = "series"

// Recurrence returns the recurrence set of the series.
func (s *Series) Recurrence() *recurrence.Set {
	return &recurrence.Set{Start: s.Start, End: s.End, Zone: clock.ZoneOrUTC(s.Timezone), Rule: s.Rule, ExDates: s.ExDates, RDates: s.RDates}
}

// Dates of the series, in order.
func (s *Series) Dates() []recurrence.Date {
	return s.Recurrence().Dates(recurrence.AllDates)
}

// First is when the series' first date begins by its rule.
func (s *Series) First() time.Time { return clock.InstantOrShift(s.Start, clock.ZoneOrUTC(s.Timezone)) }

// terms of one date, as the series has them.
func (s *Series) terms(d recurrence.Date, rooms []*Room, defaults []Reminder) Terms {
	t := Terms{
		Title: s.Title, Description: s.Description, Slot: d.Slot, Timezone: s.Timezone, Rooms: rooms,
		Attendees: s.Attendees, Reminders: s.Reminders, DefaultReminders: s.DefaultReminders, Visibility: s.Visibility,
	}
	if s.DefaultReminders {
		t.Reminders = defaults
	}
	return t
}

// take makes the terms the series'.
func (s *Series) take(t Terms, at time.Time) {
	s.Title, s.Description, s.Timezone = t.Title, t.Description, t.Timezone
	s.RoomIDs, s.RoomNames = ids(t.Rooms), names(t.Rooms)
	s.Attendees, s.Visibility = t.Attendees, t.Visibility
	s.Reminders, s.DefaultReminders = t.Reminders, t.DefaultReminders
	s.UpdatedAt = at
}

// sample is a meeting like those of the series: for what is asked of meetings.
func (s *Series) sample() *Meeting {
	return &Meeting{
		Title: s.Title, Description: s.Description, Slot: s.Recurrence().Date(s.Start).Slot, Timezone: s.Timezone,
		Organizer: s.Organizer, RoomIDs: s.RoomIDs, RoomNames: s.RoomNames, Attendees: s.Attendees,
		Reminders: s.Reminders, DefaultReminders: s.DefaultReminders, Visibility: s.Visibility,
		SeriesID: s.ID,
	}
}

// View returns the series as the actor may see it; see [Meeting.View].
func (s *Series) View(by Actor, rooms []*Room) *Series {
	m := s.sample().View(by, rooms)
	seen := *s
	seen.Organizer = m.Organizer
	seen.Title, seen.Description, seen.Attendees, seen.Reminders = m.Title, m.Description, m.Attendees, m.Reminders
	return &seen
}

// clone is a copy whose lists are its own.
func (s *Series) clone() *Series {
	c := *s
	c.ExDates, c.RDates = slices.Clone(s.ExDates), slices.Clone(s.RDates)
	c.RoomIDs, c.RoomNames = slices.Clone(s.RoomIDs), slices.Clone(s.RoomNames)
	c.Attendees, c.Reminders = slices.Clone(s.Attendees), slices.Clone(s.Reminders)
	c.notices = nil
	return &c
}

// split divides the series at a date. The second part has no ID yet; it is nil if the rule has
// no date before the given one.
func (s *Series) split(d recurrence.Date, at time.Time) (first, second *Series) {
	before, after, ok := s.Recurrence().Split(d.Wall)
	if !ok {
		return s, nil
	}
	first, second = s.clone(), s.clone()
	first.UpdatedAt = at
	first.recur(before)
	second.ID, second.PreviousID, second.Version, second.Sequence, second.CreatedAt, second.UpdatedAt = 0, s.ID, 0, 0, at, at
	second.recur(after)
	return first, second
}

// recur gives the series the dates of a set.
func (s *Series) recur(r recurrence.Set) {
	s.Start, s.End, s.Rule, s.ExDates, s.RDates = r.Start, r.End, r.Rule, r.ExDates, r.RDates
}

// Skipped is a date that a series could not have, and the reason.
type Skipped struct {
	OriginalStart time.Time
	Reason        string      // "room_conflict", the code of a rule that it would break, or "cancelled"
	Conflicts     []Occupancy // which rooms are taken, and when
	Violations    []Fault     // which rules it would break
}

// ReasonTaken is the reason of a date whose rooms are taken.
const ReasonTaken = "room_conflict"

// SeriesConflictError lists all dates that a series could not have.
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
	OtherRoom      OnConflict = "other_room" // another room of the site takes it, if one can; else nothing is saved
)

// Scope says which dates of a series a change concerns. Dates that have begun are never changed.
type Scope string

const (
	ScopeAll       Scope = "all"
	ScopeFollowing Scope = "following" // from one date on
)

// ErrOutdated says that what a change of a series was planned on has changed meanwhile.
var ErrOutdated = errors.New("changed meanwhile")

// SeriesChange is a change of a series with all that it brings about, planned in full. IDs and
// versions are set in it when it is saved.
type SeriesChange struct {
	Series *Series    // new if its ID is 0
	Split  *Series    // new: takes over dates of Series; nil: none does
	Update []*Meeting // as they are to be, with the versions they had; one with SeriesID 0 belongs to Split from now on
	Create []*Meeting // of Split, or else of Series
}

// RaisesSequence reports whether a notice changes the series or one of its dates in calendars, so
// that the store must raise [Series.Sequence].
func (c *SeriesChange) RaisesSequence() bool {
	return c.Series != nil && slices.ContainsFunc(c.Series.notices, Notice.forCalendars) || slices.ContainsFunc(c.Update, (*Meeting).RaisesSequence)
}

// Target is the series that new dates belong to.
func (c *SeriesChange) Target() *Series {
	if c.Split != nil {
		return c.Split
	}
	return c.Series
}
