package booking_test

import (
	"context"
	"slices"
	"time"

	"punctual/meeting"
)

// What the store in memory knows of zones.

func (s *fakeStore) BookedZones(context.Context, time.Time) (zones []string, _ error) {
	for _, m := range s.meetings {
		if !slices.Contains(zones, m.Timezone) {
			zones = append(zones, m.Timezone)
		}
	}
	return zones, nil
}

func (s *fakeStore) ShownStarts(_ context.Context, _ time.Time, fn func(zone string, start, shown time.Time)) error {
	for _, m := range s.meetings {
		fn(m.Timezone, m.Slot.Start, m.Shown.Start)
	}
	return nil
}

func (s *fakeStore) ZoneRules(context.Context) ([]meeting.ZoneRules, error) {
	return slices.Clone(s.zones), nil
}

func (s *fakeStore) SaveZoneRules(_ context.Context, rs []meeting.ZoneRules) error {
	for _, r := range rs {
		s.zones = append(slices.DeleteFunc(s.zones, func(o meeting.ZoneRules) bool { return o.Zone == r.Zone }), r)
	}
	return nil
}

func (s *fakeStore) Unnoted(context.Context, time.Time, meeting.ID, int) ([]*meeting.Meeting, error) {
	return nil, nil
}
func (s *fakeStore) NoteClocks(context.Context, []*meeting.Meeting) error { return nil }

func (s *fakeStore) SaveTogether(_ context.Context, cs []*meeting.SeriesChange) (all []meeting.Notice, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var moving []meeting.ID
	for _, c := range cs {
		for _, m := range c.Update {
			moving = append(moving, m.ID)
		}
	}
	for _, c := range cs {
		notices, err := s.saveSeries(c, moving)
		if err != nil {
			return nil, err
		}
		all = append(all, notices...)
	}
	return all, nil
}
