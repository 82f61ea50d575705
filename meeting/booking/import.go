package booking

import (
	"context"
	"slices"

	"punctual/meeting"
	"punctual/meeting/recurrence"
)

// mayChange returns a [*ForeignError] if another calendar program decides about what the fields change.
// Rooms may be withdrawn.
func (f *Fields) mayChange(m *meeting.Meeting, by meeting.Actor) error {
	if m.Foreign == "" || by.Calendar {
		return nil
	}
	taken := f.RoomIDs != nil && slices.ContainsFunc(*f.RoomIDs, func(id int64) bool { return !slices.Contains(m.RoomIDs, id) })
	if taken || f.Title != nil || f.Description != nil || f.Start != nil || f.End != nil || f.Timezone != nil || f.Attendees != nil || f.Organizer != nil {
		return &meeting.ForeignError{Kind: m.Foreign}
	}
	return nil
}

// mayChange is [Fields.mayChange] for a series.
func (f *SeriesFields) mayChange(s *meeting.Series, by meeting.Actor) error {
	if s.Foreign != "" && !by.Calendar && (f.Rule != nil || f.ExDates != nil || f.RDates != nil || len(f.Choices) > 0) {
		return &meeting.ForeignError{Kind: s.Foreign}
	}
	return f.Fields.mayChange(s.Sample(), by)
}

// importing returns the actor who imports, or [ErrForbidden].
func importing(by meeting.Actor, i *meeting.Import) (meeting.Actor, error) {
	if i == nil {
		return by, nil
	}
	switch foreign := i.Origin.Kind.Foreign(); {
	case foreign && by.Kind == meeting.ActorUser && by.ID == i.Organizer.UserID, foreign && by.IsAdmin():
		return by, nil
	case foreign || !by.IsAdmin():
		return by, meeting.ErrForbidden
	}
	by.Quiet = true
	return by, nil
}

// checkImport returns what is in the way of a meeting that is imported, nil for nothing. If it may take
// other rooms, the terms get them.
func (s *Service) checkImport(ctx context.Context, by meeting.Actor, t *meeting.Terms, f Fields) (*meeting.Skipped, error) {
	like := &SeriesFields{Fields: f, OnConflict: meeting.FailOnConflict}
	if f.Import.OtherRoom {
		like.OnConflict = meeting.OtherRoom
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

// BookImport books a meeting of another calendar. With [meeting.Import.OtherRoom] it gets other rooms if
// those are taken.
func (s *Service) BookImport(ctx context.Context, by meeting.Actor, f Fields) (*meeting.Meeting, error) {
	if f.Import.OtherRoom {
		f.Adjust = func(ctx context.Context, by meeting.Actor, t *meeting.Terms) error {
			_, err := s.checkImport(ctx, by, t, f)
			return err
		}
	}
	return s.Book(ctx, by, f)
}

// PreviewImport returns what would be in the way of a meeting, nil for nothing. It writes nothing.
func (s *Service) PreviewImport(ctx context.Context, by meeting.Actor, f Fields) (*meeting.Skipped, error) {
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
func (s *Service) importedDates(ctx context.Context, series *meeting.Series, f SeriesFields, dates []*plannedDate) error {
	for _, w := range dates {
		w.terms.Import = f.Import
		own, differs := f.Differing[w.date.Wall]
		if !differs {
			continue
		}
		own.preview = f.preview
		base := series.Sample()
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
func unbounded(i *meeting.Import, c meeting.Settings) meeting.Settings {
	if i != nil {
		c.Limits.MaxOccurrences, c.Limits.MaxInvitations, c.Limits.MaxRoomDates = 0, 0, 0
	}
	return c
}

// origin returns the event that a meeting comes from; nil: it was booked here, or the actor may not
// see what it is about.
func (s *Service) origin(ctx context.Context, by meeting.Actor, m *meeting.Meeting) (*meeting.Origin, error) {
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
	Origin(ctx context.Context, id meeting.ID, seriesID int64) (*meeting.Origin, error)
}
