package meeting

import (
	"context"
	"slices"
	"strings"
	"time"

	"punctual/meeting/recurrence"
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

	// OtherRoom books other rooms than those requested if they are taken. A series names them by its
	// OnConflict.
	OtherRoom bool
	// Dates of a series that are not like the others, by what clocks show in its zone.
	Dates map[time.Time]Fields
}

// foreign returns how the booking came from a calendar program that goes on changing it; empty: it
// did not.
func (i *Import) foreign() OriginKind {
	if i == nil || !i.Origin.Kind.Foreign() {
		return ""
	}
	return i.Origin.Kind
}

// once reports whether the booking is imported once and for all.
func (i *Import) once() bool { return i != nil && i.foreign() == "" }

// ForeignError says that another calendar program decides about what was to be changed.
type ForeignError struct{ Kind OriginKind }

func (e *ForeignError) Error() string {
	return "only the organizer's calendar can change time, title and attendees"
}

// mayChange returns a [*ForeignError] if another calendar program decides about what the fields change.
// Rooms may be withdrawn.
func (f *Fields) mayChange(m *Meeting, by Actor) error {
	if m.Foreign == "" || by.Calendar {
		return nil
	}
	taken := f.RoomIDs != nil && slices.ContainsFunc(*f.RoomIDs, func(id int64) bool { return !slices.Contains(m.RoomIDs, id) })
	if taken || f.Title != nil || f.Description != nil || f.Start != nil || f.End != nil || f.Timezone != nil || f.Attendees != nil || f.Organizer != nil {
		return &ForeignError{Kind: m.Foreign}
	}
	return nil
}

// mayChange is [Fields.mayChange] for a series.
func (f *SeriesFields) mayChange(s *Series, by Actor) error {
	if s.Foreign != "" && !by.Calendar && (f.Rule != nil || f.ExDates != nil || f.RDates != nil || len(f.Choices) > 0) {
		return &ForeignError{Kind: s.Foreign}
	}
	return f.Fields.mayChange(s.sample(), by)
}

// importing returns the actor who imports, or [ErrForbidden].
func importing(by Actor, i *Import) (Actor, error) {
	if i == nil {
		return by, nil
	}
	switch foreign := i.Origin.Kind.Foreign(); {
	case foreign && by.Kind == ActorUser && by.ID == i.Organizer.UserID, foreign && by.rules():
		return by, nil
	case foreign || !by.rules():
		return by, ErrForbidden
	}
	by.Quiet = true
	return by, nil
}

// respond gives attendees the responses that they gave in the other calendar.
func (i *Import) respond(as []Attendee) {
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
func (t *Terms) history(at time.Time) bool { return t.Import.once() && t.Slot.Start.Before(at) }

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
	if t.Import.once() && !m.Slot.End.After(at) {
		m.Status, m.StartedAt, m.EndedAt = Ended, m.Slot.Start, m.Slot.End
	}
}

// checkImport returns what is in the way of a meeting that is imported, nil for nothing. If it may take
// other rooms, the terms get them.
func (s *Service) checkImport(ctx context.Context, by Actor, t *Terms, f Fields) (*Skipped, error) {
	like := &SeriesFields{Fields: f, OnConflict: FailOnConflict}
	if f.Import.OtherRoom {
		like.OnConflict = OtherRoom
	}
	p, err := s.planner(ctx, by, like)
	if err != nil {
		return nil, err
	}
	date := &plannedDate{date: recurrence.Date{Slot: t.Slot}, terms: *t, room: true}
	if err := p.validate(ctx, []*plannedDate{date}); err != nil {
		return nil, err
	}
	t.Rooms = date.terms.Rooms
	return date.skip, nil
}

// PreviewImport returns what would be in the way of a meeting, nil for nothing. It writes nothing.
func (s *Service) PreviewImport(ctx context.Context, by Actor, f Fields) (*Skipped, error) {
	by, err := importing(by, f.Import)
	if err != nil {
		return nil, err
	}
	f.preview = true
	known, err := s.lookUp(ctx, &f, nil)
	if err != nil {
		return nil, err
	}
	terms, err := f.terms(nil, known)
	if err != nil {
		return nil, err
	}
	return s.checkImport(ctx, by, &terms, f)
}

// importedDates gives the dates of a new series that are not like the others their own terms.
func (s *Service) importedDates(ctx context.Context, series *Series, f SeriesFields, dates []*plannedDate) error {
	for _, w := range dates {
		w.terms.Import = f.Import
		own, differs := f.Import.Dates[w.date.Wall]
		if !differs {
			continue
		}
		own.preview = f.preview
		base := series.sample()
		base.Slot = w.date.Slot
		known, err := s.lookUp(ctx, &own, base)
		if err != nil {
			return err
		}
		terms, err := own.terms(base, known)
		if err != nil {
			return err
		}
		terms.Import, terms.Organizer = f.Import, series.Organizer
		w.terms = terms
	}
	return nil
}

// unbounded are the limits of an import: what was booked elsewhere may be longer than what one can
// book here at once.
func (i *Import) unbounded(c Settings) Settings {
	if i != nil {
		c.Limits.MaxOccurrences, c.Limits.MaxInvitations, c.Limits.MaxRoomDates = 0, 0, 0
	}
	return c
}

// origin returns the event that a meeting comes from; nil: it was booked here, or the actor may not
// see what it is about.
func (s *Service) origin(ctx context.Context, by Actor, m *Meeting) (*Origin, error) {
	by, rooms, err := s.roomsForView(ctx, by, m)
	if err != nil || !by.MaySee(m, rooms) {
		return nil, err
	}
	return s.store.Origin(ctx, m.ID, m.SeriesID)
}

// OriginStore is what imports need from persistence. A meeting or series with an Origin is saved
// together with it, or fails with [ErrOriginTaken].
type OriginStore interface {
	// Origin returns the origin of a meeting, or else of its series; nil: there is none.
	Origin(ctx context.Context, id ID, seriesID int64) (*Origin, error)
}
