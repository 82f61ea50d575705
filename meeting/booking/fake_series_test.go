package booking_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// Series of the store in memory.

func (s *fakeStore) Series(_ context.Context, id int64) (*meeting.Series, error) {
	if series, ok := s.series[id]; ok {
		return series.Clone(), nil
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) Presence(ctx context.Context, series []int64, before time.Time) (map[int64][]*meeting.Meeting, error) {
	found := map[int64][]*meeting.Meeting{}
	for _, id := range series {
		ms, _ := s.SeriesMeetings(ctx, id)
		found[id] = slices.DeleteFunc(ms, func(m *meeting.Meeting) bool { return !m.Slot.Start.Before(before) })
	}
	return found, nil
}

func (s *fakeStore) SeriesMeetings(_ context.Context, id int64) ([]*meeting.Meeting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []*meeting.Meeting
	for _, m := range s.meetings {
		if m.SeriesID == id {
			c := *m
			ms = append(ms, &c)
		}
	}
	slices.SortFunc(ms, func(a, b *meeting.Meeting) int {
		return cmp.Or(a.Slot.Start.Compare(b.Slot.Start), cmp.Compare(a.ID, b.ID))
	})
	return ms, nil
}

func (s *fakeStore) Taken(_ context.Context, needed []meeting.Occupancy, except []meeting.ID) ([][]meeting.Occupancy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookUps++
	taken := make([][]meeting.Occupancy, len(needed))
	for i, o := range needed {
		taken[i] = s.inTheWay(o, except)
	}
	return taken, nil
}

func (s *fakeStore) inTheWay(o meeting.Occupancy, except []meeting.ID) (with []meeting.Occupancy) {
	for _, m := range s.meetings {
		for _, h := range takenBy(m) {
			if h.RoomID == o.RoomID && h.Slot.Overlaps(o.Slot) && !slices.Contains(except, m.ID) {
				with = append(with, h)
			}
		}
	}
	return with
}

func (s *fakeStore) SaveSeries(_ context.Context, c *meeting.SeriesChange) ([]meeting.Notice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saveSeries(c, nil)
}

// saveSeries saves a change after which some other meetings will be gone from where they are.
func (s *fakeStore) saveSeries(c *meeting.SeriesChange, moving []meeting.ID) ([]meeting.Notice, error) {
	for _, m := range c.Update {
		moving = append(moving, m.ID)
		if s.meetings[m.ID].Version != m.Version {
			return nil, meeting.ErrOutdated
		}
	}
	if c.Series == nil {
		c.Series = &meeting.Series{ID: -1}
		s.series[-1] = c.Series
		defer func() { delete(s.series, -1); c.Series = nil }()
	}
	if known := s.series[c.Series.ID]; c.Series.ID != 0 && known.Version != c.Series.Version {
		return nil, meeting.ErrOutdated
	}
	all := append(slices.Clone(c.Update), c.Create...)
	for i, m := range all {
		for _, o := range m.Occupied {
			with := s.inTheWay(o, moving)
			for _, other := range all[:i] {
				for _, h := range other.Occupied {
					if h.RoomID == o.RoomID && h.Slot.Overlaps(o.Slot) {
						with = append(with, h)
					}
				}
			}
			if len(with) > 0 {
				return nil, &meeting.ConflictError{Conflicts: with}
			}
		}
	}
	for _, series := range []*meeting.Series{c.Series, c.Split} {
		if series == nil {
			continue
		}
		if series.ID == 0 {
			series.ID = s.next()
			for _, m := range c.Update {
				if series == c.Series {
					m.SeriesID, m.SeriesFirst = series.ID, series.FirstMeeting
				}
			}
		}
		if series == c.Split {
			series.PreviousID = c.Series.ID
		}
		series.Version++
		if series.Sequence == 0 || c.RaisesSequence() {
			series.Sequence++
		}
		s.series[series.ID] = series.Clone()
	}
	var notices []meeting.Notice
	for _, m := range all {
		if m.ID == 0 {
			m.ID, m.SeriesID, m.SeriesFirst = s.next(), c.Target().ID, c.Target().FirstMeeting
		}
		if m.SeriesID == 0 && c.Split != nil {
			m.SeriesID, m.SeriesFirst = c.Split.ID, 0
		}
		m.Version++
		if series := s.series[m.SeriesID]; series != nil {
			m.SeriesSequence = series.Sequence
		}
		s.record(m)
		notices = append(notices, m.TakeNotices()...)
		s.meetings[m.ID] = m.Clone()
	}
	notices = append(notices, c.Series.TakeNotices()...)
	if c.Split != nil {
		notices = append(notices, c.Split.TakeNotices()...)
	}
	for i := range notices {
		notices[i].ID = s.next()
	}
	s.notices = append(s.notices, notices...)
	return notices, nil
}

func (s *fakeStore) ListSeries(context.Context, meeting.SeriesQuery, meeting.Page) ([]*meeting.Series, string, error) {
	return nil, "", nil
}

// dates parses dates and times.
func dates(texts ...string) *[]clock.Time {
	ts := make([]clock.Time, len(texts))
	for i, s := range texts {
		ts[i] = clock.ParseDate(s)
	}
	return &ts
}

// Origin is unknown to the fake: nothing in these tests is imported.
func (s *fakeStore) Origin(context.Context, meeting.ID, int64) (*meeting.Origin, error) {
	return nil, nil
}

// SaveTransfers is unknown to the fake, like imports: the stores' tests show it.
func (s *fakeStore) SaveTransfers(context.Context, []*meeting.SeriesChange) error { return nil }
