package app

import (
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/notify"
	"punctual/notify/render"
)

type calendarAdapter struct{ render *render.Renderer }

// Calendar is what people subscribe to: without attendees, whom a forgotten address would reveal.
func (a calendarAdapter) Calendar(name string, ms []*meeting.Meeting, until time.Time) []byte {
	return a.render.Calendar(name, calendarEvents(ms), until)
}

// Entry is one meeting or series, for people who see its attendees.
func (a calendarAdapter) Entry(e *booking.CalendarItem) []byte {
	return a.render.Entry(e.Facts, e.UID, e.Tentative, e.ChangedAt)
}

func calendarEvents(ms []*meeting.Meeting) []render.Event {
	events := make([]render.Event, len(ms))
	for i, m := range ms {
		events[i] = render.Event{
			MeetingID: m.ID, Title: m.Title, Description: m.Description, Start: m.Slot.Start, End: m.Slot.End, Timezone: m.Timezone,
			Rooms: m.RoomNames, Organizer: notify.Contact{Name: m.Organizer.Name, Email: m.Organizer.Email},
			Tentative: m.Status == meeting.Pending, Cancelled: m.Status == meeting.Cancelled || m.Status == meeting.Rejected, Sequence: m.Version, ChangedAt: m.UpdatedAt,
		}
	}
	return events
}
