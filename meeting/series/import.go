package series

import (
	"context"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/recurrence"
)

// mayChange is [Fields.mayChange] for a series.
func (f *Fields) mayChange(s *meeting.Series, by meeting.Actor) error {
	if s.Foreign != "" && !by.Calendar && (f.Rule != nil || f.ExDates != nil || f.RDates != nil || len(f.Choices) > 0) {
		return &meeting.ForeignError{Kind: s.Foreign}
	}
	return f.Fields.MayChange(s.Sample(), by)
}

// checkImport returns what is in the way of a meeting that is imported, nil for nothing. If it may take
// other rooms, the terms get them.
func (s *Service) checkImport(ctx context.Context, by meeting.Actor, t *meeting.Terms, f booking.Fields) (*meeting.Skipped, error) {
	like := &Fields{Fields: f, OnConflict: meeting.FailOnConflict}
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
func (s *Service) BookImport(ctx context.Context, by meeting.Actor, f booking.Fields) (*meeting.Meeting, error) {
	if f.Import.OtherRoom {
		f.Adjust = func(ctx context.Context, by meeting.Actor, t *meeting.Terms) error {
			_, err := s.checkImport(ctx, by, t, f)
			return err
		}
	}
	return s.booking.Book(ctx, by, f)
}

// PreviewImport returns what would be in the way of a meeting, nil for nothing. It writes nothing.
func (s *Service) PreviewImport(ctx context.Context, by meeting.Actor, f booking.Fields) (*meeting.Skipped, error) {
	by, err := booking.Importer(by, f.Import)
	if err != nil {
		return nil, err
	}
	f.Preview = true
	known, err := s.booking.LookUp(ctx, by, &f, nil)
	if err != nil {
		return nil, err
	}
	terms, err := f.Terms(nil, known)
	if err != nil {
		return nil, err
	}
	return s.checkImport(ctx, by, &terms, f)
}

// importedDates gives the dates of a new series that are not like the others their own terms.
func (s *Service) importedDates(ctx context.Context, by meeting.Actor, series *meeting.Series, f Fields, dates []*plannedDate) error {
	for _, w := range dates {
		w.terms.Import = f.Import
		own, differs := f.Differing[w.date.Wall]
		if !differs {
			continue
		}
		own.Preview = f.Preview
		base := series.Sample()
		base.Slot = w.date.Slot
		known, err := s.booking.LookUp(ctx, by, &own, base)
		if err != nil {
			return err
		}
		terms, err := own.Terms(base, known)
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
