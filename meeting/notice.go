package meeting

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// notify records one notice for each of the people who has an address on the channel, each
// address once. Whoever caused it knows already and is left out.
func (m *Meeting) notify(n Notice, to []Person, by Actor) {
	n.occasion = strconv.FormatInt(m.revision(), 10)
	m.notices = append(m.notices, addressed(n, to, by)...)
}

// addressed makes a copy of the notice for each address.
func addressed(n Notice, to []Person, by Actor) []Notice {
	var ns []Notice
	seen := map[string]bool{}
	if by.Kind == ActorUser {
		seen[strings.ToLower(by.Email)] = true
	}
	for _, p := range to {
		n.To = p
		address := strings.ToLower(n.address())
		if address == "" || seen[address] {
			continue
		}
		seen[address] = true
		ns = append(ns, n)
	}
	return ns
}

// notifyAttendees tells attendees by mail; nobody needs it after the meeting.
func (m *Meeting) notifyAttendees(kind NoticeKind, who []Attendee, by Actor, at time.Time) {
	m.notify(Notice{
		Kind: kind, Channel: Email, Due: at, Expires: m.Slot.End, Facts: m.facts(by),
	}, persons(who), by)
}

// notifyOrganizer tells the organizer by mail what somebody else did.
func (m *Meeting) notifyOrganizer(kind NoticeKind, by Actor, at time.Time) {
	m.notify(Notice{
		Kind: kind, Channel: Email, Due: at, Expires: m.Slot.End, Facts: m.facts(by),
	}, []Person{m.Organizer}, by)
}

// notifyDecision tells the organizer how the request was decided. It never expires: a
// rejection at the start itself must be told as well.
func (m *Meeting) notifyDecision(by Actor, at time.Time) {
	f := m.facts(by)
	f.Decision, f.Comment, f.Reason = m.Status, m.Approval.Comment, m.Approval.Reason
	m.notify(Notice{Kind: NoticeDecision, Channel: Email, Due: at, Facts: f}, []Person{m.Organizer}, by)
}

// notifyDeciders asks those who may decide, until the deadline.
func (m *Meeting) notifyDeciders(deciders []Person, by Actor, at time.Time) {
	f := m.facts(by)
	until := m.Approval.Deadline
	f.Deadline = &until
	m.notify(Notice{Kind: NoticeApprovalRequest, Channel: Email, Due: at, Expires: until, Facts: f}, deciders, by)
}

// facts about the meeting as it is now.
func (m *Meeting) facts(by Actor) Facts {
	f := Facts{
		MeetingID:   m.ID,
		Title:       m.Title,
		Description: m.Description,
		Start:       m.Slot.Start,
		End:         m.Slot.End,
		Timezone:    m.Timezone,
		Rooms:       slices.Clone(m.RoomNames),
		Organizer:   Contact{Name: m.Organizer.Name, Email: m.Organizer.Email},
		Sequence:    m.revision(),
	}
	if by.Kind == ActorUser {
		f.By = by.Name
	}
	for _, a := range m.Attendees {
		f.Attendees = append(f.Attendees, Contact{Name: a.Name, Email: a.Email})
	}
	return f
}

// revision is the Version that the meeting will have once the change at hand is saved.
func (m *Meeting) revision() int64 { return m.Version + 1 }

func persons(as []Attendee) []Person {
	ps := make([]Person, len(as))
	for i, a := range as {
		ps[i] = a.Person
	}
	return ps
}

// complete fills in what needs the meeting's ID.
func (n *Notice) complete(id ID) {
	n.MeetingID, n.Facts.MeetingID = id, id
	n.DedupeKey = strings.Join([]string{
		string(n.Kind), strconv.FormatInt(id, 10), n.occasion, string(n.Channel), strings.ToLower(n.address()),
	}, ":")
}

// address of the recipient on the notice's channel.
func (n *Notice) address() string { return n.To.Address(n.Channel) }
