package meeting

import (
	"strconv"
	"time"

	"punctual/delayjob"
)

// Names of the delay jobs of meetings. They must not change: queues hold them.
const (
	JobStart  = "meeting.start"
	JobEnd    = "meeting.end"
	JobRemind = "meeting.remind"
	JobExpire = "approval.expire"
	JobAnswer = "itip.answer"   // answers the organizer's calendar after a change; key: the meeting
	JobExtend = "series.extend" // books dates as they come within reach; key: the event
	JobNoShow = "meeting.no_show"

	JobApprovalRemind = "approval.remind"
	JobEscalate       = "approval.escalate"

	JobWaitlistLook   = "waitlist.look"
	JobWaitlistExpire = "waitlist.expire"
)

// How late a reminder may still be sent. One before the start is useful until the meeting begins,
// one before the end only while there is time to finish.
const (
	lateBeforeStart = 5 * time.Minute
	lateBeforeEnd   = 2 * time.Minute
)

// Due is when the reminder of a meeting goes out.
func (r Reminder) Due(m *Meeting) time.Time { return m.edge(r.Before).Add(-r.Offset) }

// Expires returns when the reminder is no longer useful. A reminder without an offset announces the
// edge itself, so it expires two minutes after the edge.
func (r Reminder) Expires(m *Meeting) time.Time {
	late := lateBeforeStart
	if r.Before == BeforeEnd || r.Offset == 0 {
		late = lateBeforeEnd
	}
	expires := r.Due(m).Add(late)
	if edge := m.edge(r.Before); r.Offset > 0 && edge.Before(expires) {
		return edge
	}
	return expires
}

// edge returns the start or end that an anchor names.
func (m *Meeting) edge(a Anchor) time.Time {
	if a == BeforeEnd {
		return m.Slot.End
	}
	return m.Slot.Start
}

// RemindNotices returns the notices of one due reminder: one for each address on the channel, of
// attendees who have not declined and of the organizer. Notices that come too late are marked so,
// to be recorded and not sent.
//
// Their keys contain the announced instant and not a version: a changed title must not remind
// again, a moved meeting must.
func (m *Meeting) RemindNotices(r Reminder, at time.Time) []Notice {
	n := m.remindNotice(r, at)
	to := []Person{m.Organizer}
	for _, a := range m.Attendees {
		if a.Response != Declined {
			to = append(to, a.Person)
		}
	}
	var ns []Notice
	for _, n.Channel = range r.Channels {
		ns = append(ns, addressed(n, to, Actor{})...)
	}
	for i := range ns {
		ns[i].complete(m.ID)
	}
	return ns
}

// remindNotice returns the notice of a due reminder, to nobody yet.
func (m *Meeting) remindNotice(r Reminder, at time.Time) Notice {
	f := m.Facts(Actor{})
	f.Before, f.Offset = r.Before, int64(r.Offset/time.Second)
	if r.Before == BeforeStart && m.AwaitsCheckIn() {
		f.CheckInBy = &m.CheckIn.Until
	}
	n := Notice{
		Kind:     NoticeReminder,
		Due:      r.Due(m),
		Expires:  r.Expires(m),
		Facts:    f,
		occasion: reminderKey(r) + ":" + strconv.FormatInt(m.edge(r.Before).Unix(), 10),
	}
	n.Late = !at.Before(n.Expires)
	return n
}

// Reminder finds the reminder of an anchor and offset.
func (m *Meeting) Reminder(before Anchor, offset time.Duration) (Reminder, bool) {
	for _, r := range m.Reminders {
		if r.Before == before && r.Offset == offset {
			return r, true
		}
	}
	return Reminder{}, false
}

// Messages returns the future timed events of the meeting in its present state, near or far.
// Reminders that had passed when it was last saved are not included.
func (m *Meeting) Messages() []delayjob.Message {
	return append(m.Request.messages(m.ID), m.timers()...)
}

// messages returns the timers of the request.
func (r *Request) messages(id ID) []delayjob.Message {
	if r == nil {
		return nil
	}
	var ms []delayjob.Message
	add := func(job string, due time.Time) {
		if !due.IsZero() {
			ms = append(ms, delayjob.Message{Job: job, Key: strconv.FormatInt(id, 10), Version: r.Number, Due: due})
		}
	}
	add(JobExpire, r.Deadline)
	add(JobApprovalRemind, r.RemindAt)
	add(JobEscalate, r.EscalateAt)
	return ms
}

// timers returns the start, the end and the no-show check of the meeting.
func (m *Meeting) timers() []delayjob.Message {
	switch m.Status {
	case Confirmed:
		return append(m.presence(), m.message(JobStart, "", m.Slot.Start), m.message(JobEnd, "", m.Slot.End))
	case InProgress:
		return append(m.presence(), m.message(JobEnd, "", m.Slot.End))
	default:
		return nil
	}
}

// presence returns the messages for participants: reminders and check-in.
func (m *Meeting) presence() []delayjob.Message {
	ms := m.reminders()
	if m.AwaitsCheckIn() {
		ms = append(ms, m.message(JobNoShow, "", m.CheckIn.Until))
	}
	return ms
}

func (m *Meeting) reminders() []delayjob.Message {
	var ms []delayjob.Message
	for _, r := range m.Reminders {
		if due := r.Due(m); due.After(m.UpdatedAt) {
			ms = append(ms, m.message(JobRemind, reminderKey(r), due))
		}
	}
	return ms
}

func (m *Meeting) message(job, sub string, due time.Time) delayjob.Message {
	key := strconv.FormatInt(m.ID, 10)
	if sub != "" {
		key += ":" + sub
	}
	return delayjob.Message{Job: job, Key: key, Version: m.ScheduleVersion, Due: due}
}

// reminderKey is "start:900": its part of message keys and dedupe keys.
func reminderKey(r Reminder) string {
	return string(r.Before) + ":" + strconv.FormatInt(int64(r.Offset/time.Second), 10)
}
