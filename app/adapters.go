package app

import (
	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/notify"
	ledger "punctual/notify/gormstore"
)

// outboxAdapter lets the meetings' store record notices in the ledger, in its transaction.
type outboxAdapter struct{ ledger *ledger.Ledger }

// Insert sets the IDs of ns; a notice that was recorded before keeps 0.
func (a outboxAdapter) Insert(tx *gorm.DB, ns []meeting.Notice) error {
	rows := make([]notify.Notification, len(ns))
	for i, n := range ns {
		rows[i] = notification(n)
	}
	if err := a.ledger.Insert(tx, rows); err != nil {
		return err
	}
	for i := range ns {
		ns[i].ID = rows[i].ID
	}
	return nil
}

// Withdraw cancels reminders that have not been sent.
func (a outboxAdapter) Withdraw(tx *gorm.DB, ids []meeting.ID) error {
	return a.ledger.Withdraw(tx, ids)
}

func notification(n meeting.Notice) notify.Notification {
	address, state := n.To.Email, notify.Pending
	if n.Channel == meeting.SMS {
		address = n.To.Phone
	}
	if n.Late {
		state = notify.SkippedLate
	}
	return notify.Notification{
		DedupeKey: n.DedupeKey,
		Kind:      notify.Kind(n.Kind),
		Channel:   notify.Channel(n.Channel),
		MeetingID: n.MeetingID,
		To: notify.Recipient{
			UserID: n.To.UserID, Name: n.To.Name, Address: address, Locale: n.To.Locale, Timezone: n.To.Timezone,
		},
		Facts:   facts(n.Facts),
		Due:     n.Due,
		Expires: n.Expires,
		State:   state,
		Version: 1,
	}
}

func facts(f meeting.Facts) notify.Facts {
	attendees := make([]notify.Contact, len(f.Attendees))
	for i, a := range f.Attendees {
		attendees[i] = notify.Contact(a)
	}
	return notify.Facts{
		MeetingID: f.MeetingID, Title: f.Title, Description: f.Description,
		Start: f.Start, End: f.End, Timezone: f.Timezone, Rooms: f.Rooms,
		Organizer: notify.Contact(f.Organizer), Attendees: attendees, Sequence: f.Sequence,
		Before: string(f.Before), Offset: f.Offset,
		Decision: string(f.Decision), Reason: f.Reason, Comment: f.Comment, Deadline: f.Deadline, By: f.By,
	}
}
