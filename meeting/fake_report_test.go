package meeting

import (
	"context"
	"time"

	"punctual/meeting/clock"
)

// The fake store knows no reports: what they add up is the database's work.
func (s *fakeStore) ReportedRooms(context.Context) ([]ReportedRoom, error) { return nil, nil }

func (s *fakeStore) RoomUse(context.Context, ReportQuery, []ZoneDay, time.Time) ([]RoomUse, error) {
	return nil, nil
}

func (s *fakeStore) Punctuality(context.Context, clock.Slot, []time.Duration) (started, ended Lateness, err error) {
	return Lateness{}, Lateness{}, nil
}
