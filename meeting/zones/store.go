package zones

import (
	"context"
	"time"

	"punctual/meeting"
)

// Store is the persistence of changed rules of zones, on the terms of [booking.Store].
type Store interface {
	ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error)
	Series(ctx context.Context, id int64) (*meeting.Series, error)
	// Taken returns for each wanted occupancy what conflicts with it, and when that lapses. It
	// ignores the meetings of except.
	Taken(ctx context.Context, wanted []meeting.Occupancy, except []meeting.ID) ([][]meeting.Occupancy, error)
	// BookedZones returns the zones of current and future meetings and series.
	BookedZones(ctx context.Context, at time.Time) ([]string, error)
	// ShownStarts calls the function for each coming meeting with its zone, its start and its local
	// start when it was booked.
	ShownStarts(ctx context.Context, at time.Time, fn func(zone string, start, shown time.Time)) error
	ZoneRules(ctx context.Context) ([]meeting.ZoneRules, error)
	SaveZoneRules(ctx context.Context, rs []meeting.ZoneRules) error
	// Unnoted returns current and future meetings with IDs after the given one whose local times
	// are not stored yet. It reads only IDs, times and series. NoteClocks stores the local times
	// without raising a version.
	Unnoted(ctx context.Context, at time.Time, after meeting.ID, limit int) ([]*meeting.Meeting, error)
	NoteClocks(ctx context.Context, ms []*meeting.Meeting) error
	// SaveTogether saves all of the changes or nothing, on the terms of SaveSeries. One change may
	// take what another leaves. A change without a series updates single meetings.
	SaveTogether(ctx context.Context, cs []*meeting.SeriesChange) ([]meeting.Notice, error)
}
