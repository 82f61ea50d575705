package meeting

import (
	"cmp"
	"context"
	"slices"
	"time"

	"punctual/meeting/clock"
)

func (s *fakeStore) Waiting(_ context.Context, after ID, limit int) ([]*Meeting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []*Meeting
	for _, m := range s.meetings {
		if m.Request != nil && m.ID > after {
			ms = append(ms, new(*m))
		}
	}
	slices.SortFunc(ms, func(a, b *Meeting) int { return cmp.Compare(a.ID, b.ID) })
	return ms[:min(limit, len(ms))], nil
}

func (s *fakeStore) HeldForChanges(_ context.Context, roomID int64, span clock.Slot, at time.Time) ([]HeldSlot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var held []HeldSlot
	for _, m := range s.meetings {
		if m.Request == nil || m.Request.Change == nil {
			continue
		}
		for _, o := range m.Request.Change.Held {
			if o.RoomID == roomID && at.Before(m.ChangeLapses()) && o.Slot.Overlaps(span) {
				held = append(held, HeldSlot{m.ID, o.Slot})
			}
		}
	}
	for _, wait := range s.waits {
		for _, o := range wait.Wants {
			if wait.At(at).State == Offered && o.RoomID == roomID && o.Slot.Overlaps(span) {
				held = append(held, HeldSlot{0, o.Slot})
			}
		}
	}
	return held, nil
}

func (s *fakeStore) RequestsAskedWith(ctx context.Context, ids []ID) ([]*Meeting, error) {
	given, _ := s.MeetingsByID(ctx, ids)
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []*Meeting
	for _, m := range s.meetings {
		if m.SeriesID != 0 && m.Request != nil && slices.ContainsFunc(given, func(g *Meeting) bool {
			return g.SeriesID == m.SeriesID && g.Request != nil && g.Request.RequestedAt.Equal(m.Request.RequestedAt)
		}) {
			ms = append(ms, new(*m))
		}
	}
	slices.SortFunc(ms, func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return ms, nil
}

// takenBy is all that a meeting takes, for a change that waits included, and when that lapses.
func takenBy(m *Meeting) []Occupancy {
	if m.Request == nil || m.Request.Change == nil {
		return occupiedBy(m)
	}
	return append(occupiedBy(m), lapsing(m.Request.Change.Held, m.ChangeLapses())...)
}

// occupiedBy is what it takes for itself.
func occupiedBy(m *Meeting) []Occupancy { return lapsing(m.Occupied, m.Lapses()) }

func lapsing(os []Occupancy, at time.Time) []Occupancy {
	os = slices.Clone(os)
	for i := range os {
		os[i].Lapses = at
	}
	return os
}

func (s *fakeStore) Lapsed(_ context.Context, places []Occupancy, at time.Time) (meetings []ID, waits []int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.meetings {
		if slices.ContainsFunc(takenBy(m), func(o Occupancy) bool {
			return o.lapsed(at) && slices.ContainsFunc(places, func(p Occupancy) bool { return p.RoomID == o.RoomID && p.Slot.Overlaps(o.Slot) })
		}) {
			meetings = append(meetings, m.ID)
		}
	}
	slices.Sort(meetings)
	return meetings, nil, nil
}

func (d fakeDirectory) Absences(context.Context, time.Time) ([]Absence, error) { return nil, nil }

// absentDirectory also knows who is away.
type absentDirectory struct {
	fakeDirectory
	away *[]Absence
}

func (d absentDirectory) Absences(context.Context, time.Time) ([]Absence, error) { return *d.away, nil }
