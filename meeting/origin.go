package meeting

import (
	"context"
	"strings"
	"time"
)

// Origin is the event of another calendar that a meeting comes from.
type Origin struct {
	Kind      OriginKind
	UID       string
	Organizer string // email address, as the calendar has it; empty: none
	Sequence  int64
	Stamp     time.Time // of that version; zero: unknown
}

// OriginKind is how a meeting came from another calendar.
type OriginKind string

const (
	OriginImport OriginKind = "import" // an administrator imported it
	OriginMail   OriginKind = "mail"   // an invitation by mail
	OriginCalDAV OriginKind = "caldav" // a calendar program wrote it
)

// Foreign reports whether another calendar program goes on changing the meeting. Its time, title and
// attendees are read-only here, and that program notifies the attendees.
func (k OriginKind) Foreign() bool { return k == OriginMail || k == OriginCalDAV }

// Import says that a booking or a change comes from another calendar.
//
// What an admin or the system imports notifies nobody and needs no approval, and what has begun is
// history that no rule is applied to. An organizer, or the system for them, books what comes from a
// [OriginKind.Foreign] origin: all rules apply.
type Import struct {
	Organizer Person // UserID is set
	Origin    Origin
	Responses map[string]Response // by lower-case email
	People    map[string]Person   // users among the attendees, by lower-case email; nil: they are looked up
	// Rooms returns rooms by ID, in order, as the caller may keep and change them; nil: they are looked up. If the
	// rooms were outdated, which is noticed when a booking is saved, it is called again.
	Rooms func(ctx context.Context, ids []int64) ([]*Room, error)

	// OtherRoom books other rooms than those requested if they are taken. A series names them by its
	// OnConflict.
	OtherRoom bool
}

// Foreign returns how the booking came from a calendar program that goes on changing it; empty: it
// did not.
func (i *Import) Foreign() OriginKind {
	if i == nil || !i.Origin.Kind.Foreign() {
		return ""
	}
	return i.Origin.Kind
}

// Once reports whether the booking is imported once and for all.
func (i *Import) Once() bool { return i != nil && i.Foreign() == "" }

// ForeignError says that another calendar program decides about what was to be changed.
type ForeignError struct{ Kind OriginKind }

func (e *ForeignError) Error() string {
	return "only the organizer's calendar can change time, title and attendees"
}

// Respond gives attendees the responses that they gave in the other calendar.
func (i *Import) Respond(as []Attendee) {
	if i == nil {
		return
	}
	for n, a := range as {
		if r := i.Responses[strings.ToLower(a.Email)]; r != "" {
			as[n].Response = r
		}
	}
}

// history reports whether the terms are imported and have begun.
func (t *Terms) history(at time.Time) bool { return t.Import.Once() && t.Slot.Start.Before(at) }

// imported completes a meeting that comes from another calendar.
func (m *Meeting) imported(t Terms, at time.Time) {
	if t.Import == nil {
		return
	}
	if origin := t.Import.Origin; origin.UID != "" {
		m.Origin = &origin
	}
	if t.history(at) {
		m.claims = nil
	}
	if t.Import.Once() && !m.Slot.End.After(at) {
		m.Status, m.StartedAt, m.EndedAt = Ended, m.Slot.Start, m.Slot.End
	}
}
