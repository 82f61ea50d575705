package booking

import (
	"context"
	"slices"

	"punctual/meeting"
)

// MayChange returns a [*meeting.ForeignError] if another calendar program decides about what the fields change.
// Rooms may be withdrawn.
func (f *Fields) MayChange(m *meeting.Meeting, by meeting.Actor) error {
	if m.Foreign == "" || by.Calendar {
		return nil
	}
	taken := f.RoomIDs != nil && slices.ContainsFunc(*f.RoomIDs, func(id int64) bool { return !slices.Contains(m.RoomIDs, id) })
	if taken || f.Title != nil || f.Description != nil || f.Start != nil || f.End != nil || f.Timezone != nil || f.Attendees != nil || f.Organizer != nil {
		return &meeting.ForeignError{Kind: m.Foreign}
	}
	return nil
}

// Importer returns the actor who imports, or [meeting.ErrForbidden].
func Importer(by meeting.Actor, i *meeting.Import) (meeting.Actor, error) {
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

// origin returns the event that a meeting comes from; nil: it was booked here, or the actor may not
// see what it is about.
func (s *Service) origin(ctx context.Context, by meeting.Actor, m *meeting.Meeting) (*meeting.Origin, error) {
	by, rooms, err := s.RoomsForView(ctx, by, m)
	if err != nil || !by.MaySee(m, rooms) {
		return nil, err
	}
	return s.store.Origin(ctx, m.ID, m.SeriesID)
}

// OriginStore is what imports need from persistence. A meeting or series with an Origin is saved
// together with it, or fails with [meeting.ErrOriginTaken].
type OriginStore interface {
	// Origin returns the origin of a meeting, or else of its series; nil: there is none.
	Origin(ctx context.Context, id meeting.ID, seriesID int64) (*meeting.Origin, error)
}
