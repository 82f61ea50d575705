package app

import (
	"context"
	"time"

	"punctual/meeting"
	"punctual/meeting/caldav"
	"punctual/notify/render"
)

// Export returns meetings as iCalendar, with all that an administrator sees of them. The dates of a series
// are one recurring event with its exceptions.
func (a *Application) Export(ctx context.Context, name string, ms []*meeting.Meeting, until time.Time) ([]byte, error) {
	entries, err := a.exported(ctx, ms)
	if err != nil {
		return nil, err
	}
	objects := make([]render.Object, len(entries))
	for i, e := range entries {
		objects[i] = calendarObject(*e, func(int64) string { return "" })
	}
	return a.senders.render.Archive(name, objects, until), nil
}

// exported returns meetings and series in the order of their first dates.
func (a *Application) exported(ctx context.Context, ms []*meeting.Meeting) ([]*caldav.Entry, error) {
	var entries []*caldav.Entry
	bySeries := map[int64]*caldav.Entry{}
	var ids, series []int64
	for _, m := range ms {
		e := bySeries[m.SeriesID]
		switch {
		case m.SeriesID == 0 || m.OriginalStart.IsZero():
			ids = append(ids, m.ID)
			entries = append(entries, &caldav.Entry{Single: []*meeting.Meeting{m}})
			continue
		case e == nil:
			e = &caldav.Entry{}
			bySeries[m.SeriesID], series, entries = e, append(series, m.SeriesID), append(entries, e)
		}
		e.All = append(e.All, m)
	}
	ofMeetings, ofSeries, err := a.meetingStore.Origins(ctx, ids, series)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if len(e.Single) > 0 {
			if o := ofMeetings[e.Single[0].ID]; o.Kind.Foreign() {
				e.UID = o.UID
			}
			continue
		}
		s, err := a.meetingStore.Series(ctx, e.All[0].SeriesID)
		if err != nil {
			return nil, err
		}
		e.UID, e.Zone = a.senders.render.UID(0, s.ID), s.Timezone
		if s.FirstMeeting != 0 { // its invitations began with this meeting
			e.UID = a.senders.render.UID(s.FirstMeeting, 0)
		}
		if o := ofSeries[s.ID]; o.Kind.Foreign() {
			e.UID = o.UID
		}
		entry := s.Calendar(e.All, time.Now())
		e.Series = &entry
	}
	return entries, nil
}
