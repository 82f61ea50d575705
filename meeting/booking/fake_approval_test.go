package booking_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

func (s *fakeStore) Waiting(_ context.Context, after meeting.ID, limit int) ([]*meeting.Meeting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []*meeting.Meeting
	for _, m := range s.meetings {
		if m.Request != nil && m.ID > after {
			ms = append(ms, new(*m))
		}
	}
	slices.SortFunc(ms, func(a, b *meeting.Meeting) int { return cmp.Compare(a.ID, b.ID) })
	return ms[:min(limit, len(ms))], nil
}

func (s *fakeStore) HeldForChanges(_ context.Context, roomID int64, span clock.Slot, at time.Time) ([]meeting.HeldSlot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var held []meeting.HeldSlot
	for _, m := range s.meetings {
		if m.Request == nil || m.Request.Change == nil {
			continue
		}
		for _, o := range m.Request.Change.Held {
			if o.RoomID == roomID && at.Before(m.ChangeLapses()) && o.Slot.Overlaps(span) {
				held = append(held, meeting.HeldSlot{MeetingID: m.ID, Slot: o.Slot})
			}
		}
	}
	for _, wait := range s.waits {
		for _, o := range wait.Wants {
			if wait.At(at).State == meeting.Offered && o.RoomID == roomID && o.Slot.Overlaps(span) {
				held = append(held, meeting.HeldSlot{MeetingID: 0, Slot: o.Slot})
			}
		}
	}
	return held, nil
}

func (s *fakeStore) RequestsAskedWith(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) {
	given, _ := s.MeetingsByID(ctx, ids)
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []*meeting.Meeting
	for _, m := range s.meetings {
		if m.SeriesID != 0 && m.Request != nil && slices.ContainsFunc(given, func(g *meeting.Meeting) bool {
			return g.SeriesID == m.SeriesID && g.Request != nil && g.Request.RequestedAt.Equal(m.Request.RequestedAt)
		}) {
			ms = append(ms, new(*m))
		}
	}
	slices.SortFunc(ms, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return ms, nil
}

// takenBy is all that a meeting takes, for a change that waits included, and when that lapses.
func takenBy(m *meeting.Meeting) []meeting.Occupancy {
	if m.Request == nil || m.Request.Change == nil {
		return occupiedBy(m)
	}
	return append(occupiedBy(m), lapsing(m.Request.Change.Held, m.ChangeLapses())...)
}

// occupiedBy is what it takes for itself.
func occupiedBy(m *meeting.Meeting) []meeting.Occupancy { return lapsing(m.Occupied, m.Lapses()) }

func lapsing(os []meeting.Occupancy, at time.Time) []meeting.Occupancy {
	os = slices.Clone(os)
	for i := range os {
		os[i].Lapses = at
	}
	return os
}

func (s *fakeStore) Lapsed(_ context.Context, places []meeting.Occupancy, at time.Time) (meetings []meeting.ID, waits []int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.meetings {
		if slices.ContainsFunc(takenBy(m), func(o meeting.Occupancy) bool {
			return !o.Lapses.IsZero() && !at.Before(o.Lapses) && slices.ContainsFunc(places, func(p meeting.Occupancy) bool { return p.RoomID == o.RoomID && p.Slot.Overlaps(o.Slot) })
		}) {
			meetings = append(meetings, m.ID)
		}
	}
	slices.Sort(meetings)
	return meetings, nil, nil
}

func (d fakeDirectory) Absences(context.Context, time.Time) ([]meeting.Absence, error) {
	return nil, nil
}

// absentDirectory also knows who is away.
type absentDirectory struct {
	fakeDirectory
	away *[]meeting.Absence
}

func (d absentDirectory) Absences(context.Context, time.Time) ([]meeting.Absence, error) {
	return *d.away, nil
}
