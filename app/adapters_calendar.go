package app

import (
	"time"

	"punctual/meeting"
	"punctual/notify"
	"punctual/notify/render"
)

type calendarAdapter struct{ render *render.Renderer }

func (a calendarAdapter) Calendar(name string, ms []*meeting.Meeting, until time.Time) []byte {
	events := make([]render.Event, len(ms))
	for i, m := range ms {
		events[i] = render.Event{
			MeetingID: m.ID, Title: m.Title, Description: m.Description, Start: m.Slot.Start, End: m.Slot.End, Timezone: m.Timezone,
			Rooms: m.RoomNames, Organizer: notify.Contact{Name: m.Organizer.Name, Email: m.Organizer.Email},
			Tentative: m.Status == meeting.Pending, Sequence: m.Version, ChangedAt: m.UpdatedAt,
		}
	}
	return a.render.Calendar(name, events, until)
}
