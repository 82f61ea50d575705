package approval

import (
	"context"
	"errors"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// FollowLink returns the content of the page behind a link. It changes nothing, because programs
// that scan mails follow links too. It returns [meeting.ErrNotFound] if the meeting or the reader does not
// (or no longer) exist.
func (s *Service) FollowLink(ctx context.Context, l meeting.Link) (*meeting.Linked, error) {
	reader, by, err := s.booking.ActorByID(ctx, l.UserID)
	if err != nil {
		return nil, err
	}
	m, l, err := s.follow(ctx, l)
	if err != nil {
		return nil, err
	}
	rooms, err := s.booking.RoomsByID(ctx, m.RequestedRooms())
	if err != nil {
		return nil, err
	}
	at := s.booking.Now()
	linked := &meeting.Linked{State: m.LinkState(l, by, rooms, at), Reader: reader, Meeting: m.ViewAt(at, by, rooms)}
	if linked.State == meeting.LinkOpen {
		if mine := m.PartOf(by, rooms); len(mine) < len(meeting.LevelsOf(rooms).At(m.Request.Level)) {
			linked.Part = meeting.RoomNames(mine)
		}
	}
	if linked.Dates, err = s.linkedDates(ctx, m); err != nil {
		return nil, err
	}
	if v := m.Approval.Decision; v != nil && v.First <= l.Number && l.Number <= v.Number {
		linked.Decision = v
	}
	return linked, nil
}

// follow finds the meeting of a link, and the link to its request. If that request was decided or
// withdrawn individually, it finds another date of the series that was requested with it and still
// waits, or was decided.
func (s *Service) follow(ctx context.Context, l meeting.Link) (*meeting.Meeting, meeting.Link, error) {
	m, err := s.store.Meeting(ctx, l.MeetingID)
	if err != nil {
		return nil, l, err
	}
	v := m.Approval.Decision
	if v == nil || v.Number != l.Number || m.SeriesID == 0 {
		return m, l, nil
	}
	ms, err := s.store.SeriesMeetings(ctx, m.SeriesID)
	if err != nil {
		return nil, l, err
	}
	for _, o := range ms {
		if o.Request != nil && v.About(o.Request.RequestedAt, o.RequestedRooms()) {
			return o, meeting.Link{MeetingID: o.ID, Number: o.Request.Number, UserID: l.UserID}, nil
		}
	}
	if v.Result != meeting.Cancelled {
		return m, l, nil
	}
	for _, o := range ms {
		if d := o.Approval.Decision; d != nil && d.Result != meeting.Cancelled && v.About(d.RequestedAt, d.RoomIDs) {
			return o, meeting.Link{MeetingID: o.ID, Number: d.Number, UserID: l.UserID}, nil
		}
	}
	return m, l, nil
}

// linkedDates returns the dates that a decision on the meeting covers or covered; none if it covers
// that meeting alone.
func (s *Service) linkedDates(ctx context.Context, m *meeting.Meeting) ([]clock.Slot, error) {
	if m.SeriesID == 0 {
		return nil, nil
	}
	ms, err := s.store.SeriesMeetings(ctx, m.SeriesID)
	if err != nil {
		return nil, err
	}
	var dates []clock.Slot
	for _, o := range ms {
		if o.DecidedWith(m) {
			dates = append(dates, o.Slot)
		}
	}
	if len(dates) < 2 {
		return nil, nil
	}
	return dates, nil
}

// errLinkUsed is returned for a link whose request is not open.
var errLinkUsed = errors.New("the link is used up")

// DecideByLink approves or rejects the request that the link names, as its reader, and returns what
// the link then leads to. The decision covers all requests of a series that were made together.
// decided is false if the request was not open, and then nothing has changed. It may return a
// [*meeting.ConflictError] or a [*meeting.PolicyError]; the request then stays pending.
func (s *Service) DecideByLink(ctx context.Context, l meeting.Link, approve bool, comment string) (linked *meeting.Linked, decided bool, err error) {
	_, by, err := s.booking.ActorByID(ctx, l.UserID)
	if err != nil {
		return nil, false, err
	}
	seen, l, err := s.follow(ctx, l)
	if err != nil {
		return nil, false, err
	}
	together, err := s.booking.RequestsMadeWith(ctx, []meeting.Ref{{ID: seen.ID, Version: l.Number}})
	if err != nil {
		return nil, false, err
	}
	if len(together) > 0 {
		_, err = s.decideSeries(ctx, by, seen.SeriesID, nil, approve, comment, together[0].Dates[0].RequestedWith)
		return s.decided(ctx, l, err)
	}
	_, err = s.decide(ctx, by, l.MeetingID, nil, &comment, approve, func(m *meeting.Meeting) error {
		if m.Request == nil || m.Request.Number != l.Number {
			return errLinkUsed
		}
		return nil
	})
	return s.decided(ctx, l, err)
}

// decided returns the content of the page after a decision by link, or the attempt of one.
func (s *Service) decided(ctx context.Context, l meeting.Link, err error) (*meeting.Linked, bool, error) {
	_, undecidable := errors.AsType[*meeting.StateError](err)
	if err != nil && !undecidable && !errors.Is(err, errLinkUsed) && !errors.Is(err, meeting.ErrForbidden) {
		return nil, false, err
	}
	linked, followed := s.FollowLink(ctx, l)
	return linked, err == nil, followed
}
