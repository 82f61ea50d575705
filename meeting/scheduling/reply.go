package scheduling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
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
	others := e.words.suggestions(p.others, zone)
	if others != "" {
		text += "\n\n" + others
	}
	if others != "" || t.Reason == "room_conflict" {
		text += e.zoneOfTimes(c.Event.Start, zone)
	}
	email := t.Address + "@" + e.conf.Domain
	return &meeting.Reply{
		CC: e.deputy(c.Event), From: email, Name: p.name(), Lang: e.words.lang, Subject: e.words.subject(t.Status, fault.AsLine(c.Event.Title, fault.MaxName)), Text: text,
		Calendar:  itip.Reply(c.Text, itip.Answer{Email: email, Name: p.name(), Status: string(t.Status), Comment: text, Stamp: e.at, Date: date}),
		InReplyTo: t.MessageID, Event: e.object.UID, Date: t.RecurrenceID,
	}
}

// zoneOfTimes names the time zone of an answer, if its clock differs from that of the event.
func (e *event) zoneOfTimes(start itip.Time, zone *time.Location) string {
	at, theirs := start.In(e.floating()), e.floating()
	if start.Zone != nil {
		theirs = start.Zone.Location
	}
	_, a := at.In(theirs).Zone()
	_, b := at.In(zone).Zone()
	if start.Day || a == b {
		return ""
	}
	return "\n\n" + fmt.Sprintf(e.words.zone, zone)
}

// deputy is who acts for the organizer and also reads the answers; empty: nobody. Anybody could be named, so it is
// the sender of the message, or somebody with the organizer's domain.
func (e *event) deputy(about *itip.Event) string {
	email := fault.FoldEmail(about.Organizer.SentBy)
	_, domain, _ := strings.Cut(email, "@")
	_, ours := e.local(email)
	if email == e.organizer || ours || !fault.IsEmail(email) || !strings.EqualFold(email, e.message.From) && !strings.HasSuffix(e.organizer, "@"+domain) {
		return ""
	}
	return email
}

const counter = "COUNTER"

// propose mails the first alternative to a room that declines a single meeting as a proposal of another time, if the
// settings say so. A newer answer replaces proposals that are not sent yet.
func (e *event) propose(c itip.Component, p *place, t Told) {
	if !e.conf.Counter {
		return
	}
	email := t.Address + "@" + e.conf.Domain
	e.record.Outdated = append(e.record.Outdated, e.proposal(email, t.RecurrenceID))
	at := slices.IndexFunc(p.others, func(s finding.Suggestion) bool { return s.Room.ID == p.roomID })
	if p.status != Declined || len(p.others) == 0 || c.Event.Start.Day {
		return
	}
	first := p.others[max(at, 0)]
	eventZone := e.floating()
	if z := c.Event.Start.Zone; z != nil {
		eventZone = z.Location
	}
	zone := clock.ZoneOrUTC(cmp.Or(e.person.Timezone, first.Room.Zone))
	text := fmt.Sprintf(e.words.counterText, first.Room.Name, e.words.time(first.Slot.Start, zone), first.Slot.End.In(zone).Format("15:04"))
	r := *e.mail(c, nil, p, t)
	r.Method, r.Subject, r.Text = counter, fmt.Sprintf(e.words.counter, fault.AsLine(c.Event.Title, fault.MaxName)), text
	r.Calendar = itip.Counter(c.Text, itip.Answer{
		Email: email, Name: p.name(), Status: string(t.Status), Comment: text, Stamp: e.at, Location: first.Room.Name,
		Proposed: &itip.Date{Start: first.Slot.Start.In(eventZone), End: first.Slot.End.In(eventZone)},
	})
	n := e.notice(&r, t, c.Event)
	n.DedupeKey += ":counter"
	e.record.Replies = append(e.record.Replies, n)
}

// proposal stands for proposals of a room about an event or date.
func (e *event) proposal(from, date string) meeting.Notice {
	reply := &meeting.Reply{From: from, Event: e.object.UID, Date: date, Method: counter}
	return meeting.Notice{Kind: meeting.NoticeReply, Channel: meeting.Email, To: meeting.Person{Email: e.organizer}, Facts: meeting.Facts{Reply: reply}}
}

// notice is the reply in the outbox. Its key makes a repetition of the same answer a duplicate, and has answers
// for the whole event sent before those for its dates.
func (e *event) notice(r *meeting.Reply, t Told, about *itip.Event) meeting.Notice {
	name := cmp.Or(e.person.Name, about.Organizer.Name)
	key := fmt.Sprintf("%s:%s:%s:%s:%d:%d:%d", meeting.NoticeReply, e.object.UID, t.Address, cmp.Or(t.RecurrenceID, "-"), t.Sequence, t.Stamp.Unix(), t.Number)
	return meeting.Notice{
		DedupeKey: key, Kind: meeting.NoticeReply, Channel: meeting.Email, MeetingID: e.record.MeetingID, Due: e.at,
		To:    meeting.Person{UserID: e.person.UserID, Email: t.Recipient, Name: name, Locale: e.person.Locale, Timezone: e.person.Timezone},
		Facts: meeting.Facts{MeetingID: e.record.MeetingID, SeriesID: e.record.SeriesID, Title: about.Title, Organizer: meeting.Contact{Name: name, Email: t.Recipient}, Reply: r},
	}
}
