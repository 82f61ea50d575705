package meeting

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// notify records one notice for each address of the people on the channel, without the actor who
// caused it.
func (m *Meeting) notify(n Notice, to []Person, by Actor) {
	if m.Foreign != "" && !n.AsksForDecision() { // the organizer's calendar program notifies people
		return
	}
	if n.occasion == "" {
		n.occasion = strconv.FormatInt(m.Revision(), 10)
	}
	m.Notices = append(m.Notices, addressed(n, to, by)...)
}

// InvitationRecipients are people who are invited, and the organizer if the mails of the meeting go to their calendar.
func InvitationRecipients(organizer Person, as []Attendee) []Person {
	if !organizer.CalendarMails {
		return Persons(as)
	}
	return append(Persons(as), organizer)
}

// addressed makes a copy of the notice for each address. The actor who caused it gets none, unless it is for
// the calendar of an organizer who wants it. A guest without an email address is
// texted what others are mailed.
func addressed(n Notice, to []Person, by Actor) []Notice {
	var ns []Notice
	if by.Quiet {
		return nil
	}
	seen := map[string]bool{}
	own := ""
	if by.Kind == ActorUser {
		own = strings.ToLower(by.Acting().Email)
	}
	channel := n.Channel
	for _, p := range to {
		n.To, n.Channel = p, channel
		if p.Email == "" && n.Kind != NoticeReminder { // reminders use their own channels
			n.Channel = SMS
		}
		address := strings.ToLower(n.address())
		if address == "" || seen[address] || address == own && !(p.CalendarMails && n.forCalendars() && strings.EqualFold(p.Email, n.Facts.Organizer.Email)) {
			continue
		}
		seen[address] = true
		ns = append(ns, n)
	}
	return ns
}

// notifyAttendees notifies attendees by mail. The notice expires with the meeting.
func (m *Meeting) notifyAttendees(kind NoticeKind, who []Attendee, by Actor, at time.Time) {
	m.notify(Notice{
		Kind: kind, Channel: Email, Due: at, Expires: m.Slot.End, Facts: m.Facts(by),
	}, Persons(who), by)
}

// notifyConfirmed invites the attendees, and sends the meeting to the organizer's calendar if they want it.
func (m *Meeting) notifyConfirmed(by Actor, at time.Time) {
	m.notifyAttendees(NoticeInvitation, m.Attendees, by, at)
	if m.Organizer.CalendarMails {
		m.notifyOrganizer(NoticeInvitation, by, at)
	}
}

// notifyOrganizer notifies the organizer by mail of other people's actions.
func (m *Meeting) notifyOrganizer(kind NoticeKind, by Actor, at time.Time) {
	m.notify(Notice{
		Kind: kind, Channel: Email, Due: at, Expires: m.Slot.End, Facts: m.Facts(by),
	}, []Person{m.Organizer}, by)
}

// notifyDecision notifies the organizer of the decision. move is the rejected move, if there was one.
// The notice never expires, because a rejection at the start itself must also be sent.
func (m *Meeting) notifyDecision(decision Status, reason, comment string, move *PendingChange, by Actor, at time.Time) {
	f := m.Facts(by)
	f.Decision, f.Comment, f.Reason, f.Move = decision, comment, reason, move.placement()
	f.ByFor = representedNames(m.Approval.Decision.For)
	m.notify(Notice{Kind: NoticeDecision, Channel: Email, Due: at, Facts: f}, []Person{m.Organizer}, by)
}

// NotifyDeciders notifies the deciders whose rooms are not approved yet, until the deadline, once
// for each request and level.
func (m *Meeting) NotifyDeciders(kind NoticeKind, deciders []Decider, by Actor, at time.Time) {
	r := *m.Request
	m.Request = &r
	f := m.Facts(by)
	f.Deadline, f.Move = new(r.Deadline), r.Change.placement()
	var agreed []string
	for _, a := range r.Agreed {
		agreed = append(agreed, a.Name)
	}
	for _, d := range r.undecided(deciders) {
		r.Notified = Union(r.Notified, []int64{d.UserID})
		f.Request = &Requested{Number: r.Number, OnTimeout: m.Approval.OnTimeout, Agreed: agreed, For: d.For}
		m.notify(Notice{
			Kind: kind, Channel: Email, Due: at, Expires: r.Deadline, Facts: f, occasion: "request-" + strconv.FormatInt(r.Number, 10),
		}, []Person{d.Person}, by)
	}
}

// placement of the change; nil for none.
func (c *PendingChange) placement() *Placement {
	if c == nil {
		return nil
	}
	return &Placement{Start: c.Slot.Start, End: c.Slot.End, Rooms: slices.Clone(c.RoomNames)}
}

// Facts returns the facts about the meeting as it is now.
func (m *Meeting) Facts(by Actor) Facts {
	f := Facts{
		MeetingID:   m.ID,
		Title:       m.Title,
		Description: m.Description,
		Start:       m.Slot.Start,
		End:         m.Slot.End,
		Timezone:    m.Timezone,
		Rooms:       slices.Clone(m.RoomNames),
		Organizer:   Contact{Name: m.Organizer.Name, Email: m.Organizer.Email},
		Sequence:    m.Revision(),
		BookedBy:    m.bookedBy,
		Fields:      mailed(m.Custom),
	}
	if by.Kind == ActorUser {
		f.By = by.Acting().Name
	}
	if by.Delegate != nil {
		f.ByFor = []string{by.Name}
	}
	f.Attendees = contacts(m.Attendees)
	return f
}

func contacts(as []Attendee) []Contact {
	var cs []Contact
	for _, a := range as {
		c := Contact{Name: a.Name, Email: a.Email, Response: a.Response}
		if a.Email == "" {
			c.Name = a.Label()
		}
		cs = append(cs, c)
	}
	return cs
}

// forCalendars reports whether the notice carries a calendar.
func (n Notice) forCalendars() bool {
	return n.Channel != Chat && (n.Kind == NoticeInvitation || n.Kind == NoticeChange || n.Kind == NoticeCancellation)
}

// Revision returns the meeting's Version after the current change is saved.
func (m *Meeting) Revision() int64 { return m.Version + 1 }

func Persons(as []Attendee) []Person {
	ps := make([]Person, len(as))
	for i, a := range as {
		ps[i] = a.Person
	}
	return ps
}

// complete sets what depends on the meeting's ID.
func (n *Notice) complete(id ID) {
	n.MeetingID, n.Facts.MeetingID = id, id
	n.File(id)
}

// File sets the DedupeKey of a notice about something with an ID.
func (n *Notice) File(id int64) {
	n.DedupeKey = strings.Join([]string{
		string(n.Kind), strconv.FormatInt(id, 10), n.occasion, string(n.Channel), strings.ToLower(n.address()),
	}, ":")
}

// address of the recipient on the notice's channel.
func (n *Notice) address() string {
	if n.Channel == Chat {
		return n.Chat
	}
	return n.To.Address(n.Channel)
}

// notifyHandover invites the new organizer, and notifies the former one of the change. If the
// meeting is pending, the decision is sent to the new organizer.
func (m *Meeting) notifyHandover(before *Meeting, by Actor, at time.Time) {
	if m.Status == Pending || by.Leaving {
		return
	}
	n := Notice{Kind: NoticeInvitation, Channel: Email, Due: at, Expires: m.Slot.End, Facts: m.Facts(by)}
	n.Facts.Handover = true
	m.notify(n, []Person{m.Organizer}, by)
	n.Kind, n.Facts.Handover = NoticeChange, false
	m.notify(n, []Person{before.Organizer}, by)
}
