package scheduling

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
)

// mail is the mail that tells the organizer an answer. date is that of a series; nil: all that the
// component is about.
func (e *event) mail(c itip.Component, date *itip.Date, p *place, t Told) *meeting.Reply {
	zone := time.UTC
	if p.room != nil {
		zone = clock.ZoneOrUTC(cmp.Or(e.person.Timezone, p.room.Zone))
	}
	text := e.words.status(t.Status, p.name())
	if t.Text != "" {
		text += "\n\n" + t.Text
	}
	if others := e.words.suggestions(p.others, zone); others != "" {
		text += "\n\n" + others
	}
	email := t.Address + "@" + e.conf.Domain
	return &meeting.Reply{
		From: email, Name: p.name(), Lang: e.words.lang, Subject: e.words.subject(t.Status, strings.Join(strings.Fields(c.Event.Title), " ")), Text: text,
		Calendar:  itip.Reply(c.Text, itip.Answer{Email: email, Name: p.name(), Status: string(t.Status), Comment: text, Stamp: e.at, Date: date}),
		InReplyTo: t.MessageID,
	}
}

// notice is the reply in the outbox. Its key makes a repetition of the same answer a duplicate.
func (e *event) notice(r *meeting.Reply, t Told, about *itip.Event) meeting.Notice {
	name := cmp.Or(e.person.Name, about.Organizer.Name)
	key := fmt.Sprintf("%s:%s:%s:%s:%d:%d:%d", meeting.NoticeReply, e.object.UID, t.Address, t.RecurrenceID, t.Sequence, t.Stamp.Unix(), t.Number)
	return meeting.Notice{
		DedupeKey: key, Kind: meeting.NoticeReply, Channel: meeting.Email, MeetingID: e.record.MeetingID, Due: e.at,
		To:    meeting.Person{UserID: e.person.UserID, Email: t.Recipient, Name: name, Locale: e.person.Locale, Timezone: e.person.Timezone},
		Facts: meeting.Facts{MeetingID: e.record.MeetingID, SeriesID: e.record.SeriesID, Title: about.Title, Organizer: meeting.Contact{Name: name, Email: t.Recipient}, Reply: r},
	}
}
