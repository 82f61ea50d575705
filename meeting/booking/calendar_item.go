package booking

import (
	"context"
	"slices"
	"time"

	"punctual/meeting"
)

// A CalendarItem is what a calendar needs to show a meeting, or all dates of its series.
type CalendarItem struct {
	meeting.Facts
	UID       string    // of the calendar program that it comes from; empty: ours
	Tentative bool      // it waits for approval
	ChangedAt time.Time // last change
}

// CalendarItem returns the item of a meeting or, for a date of a series, of the whole series: its
// UID is that of the invitations. Users who see only this date get it alone. It fails with
// [meeting.ErrForbidden] if the actor may not see the meeting, and with a [*meeting.StateError] if it will not take
// place.
func (s *Service) CalendarItem(ctx context.Context, by meeting.Actor, id meeting.ID) (*CalendarItem, error) {
	m, err := s.Known(ctx, by, id)
	if err != nil {
		return nil, err
	}
	at := s.Now()
	viewer, rooms, err := s.RoomsForView(ctx, by, m)
	if err != nil {
		return nil, err
	}
	if !viewer.MaySee(m, rooms) {
		return nil, meeting.ErrForbidden
	}
	m = m.At(at)
	if m.Gone() || m.Status == meeting.Released {
		return nil, &meeting.StateError{State: m.Status, Action: "add to a calendar"}
	}
	var e *CalendarItem
	if m.SeriesID != 0 && !m.OriginalStart.IsZero() && m.Status != meeting.Pending {
		if e, err = s.seriesItem(ctx, by, m.SeriesID, at); err != nil {
			return nil, err
		}
	}
	if e == nil {
		e = &CalendarItem{Facts: m.View(viewer, rooms).Facts(meeting.Actor{}), Tentative: m.Status == meeting.Pending, ChangedAt: m.UpdatedAt}
		e.Sequence, e.ReplyDomain = m.Version, m.ReplyDomain
		e.Facts.SetOccurrence(m)
	}
	if m.Foreign != "" {
		err = s.nameForeign(ctx, e, m)
	}
	return e, err
}

// nameForeign gives the item the UID of the event that a meeting comes from, so that people who have the event
// see it once. Its SEQUENCE is that of the first version: later ones of the organizer are newer.
func (s *Service) nameForeign(ctx context.Context, e *CalendarItem, m *meeting.Meeting) error {
	o, err := s.store.Origin(ctx, m.ID, m.SeriesID)
	if err == nil && o != nil {
		e.UID, e.Sequence, e.ReplyDomain = o.UID, o.Sequence, ""
	}
	return err
}

// seriesItem returns the item of a series; nil if the actor may not see it as a whole.
func (s *Service) seriesItem(ctx context.Context, by meeting.Actor, id int64, at time.Time) (*CalendarItem, error) {
	series, err := s.store.Series(ctx, id)
	if err != nil {
		return nil, err
	}
	ms, err := s.store.SeriesMeetings(ctx, id)
	if err != nil {
		return nil, err
	}
	viewer, rooms, err := s.RoomsForView(ctx, by, append([]*meeting.Meeting{series.Sample()}, ms...)...)
	if err != nil {
		return nil, err
	}
	if !viewer.MaySee(series.Sample(), rooms) {
		return nil, nil
	}
	e := &CalendarItem{ChangedAt: series.UpdatedAt}
	var shown []*meeting.Meeting
	for _, m := range ms {
		m = m.At(at)
		if m.Gone() || m.Status == meeting.Released || m.Status == meeting.Pending || m.OriginalStart.IsZero() || !viewer.MaySee(m, rooms) {
			continue
		}
		shown = append(shown, m.View(viewer, rooms))
		if e.ChangedAt.Before(m.UpdatedAt) {
			e.ChangedAt = m.UpdatedAt
		}
	}
	if len(shown) == 0 {
		return nil, nil
	}
	slices.SortFunc(shown, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	series = series.View(viewer, rooms)
	e.Facts = series.Facts(shown, meeting.Actor{})
	series.Fill(&e.Facts, meeting.SeriesNotice{Dates: shown, Calendar: shown}, at)
	e.MeetingID, e.Sequence = shown[0].ID, series.Sequence
	e.Series.ID, e.SeriesID, e.SeriesFirst, e.ReplyDomain = series.ID, series.ID, series.FirstMeeting, series.ReplyDomain
	return e, nil
}
