package scheduling

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
)

// Settle tells the organizer's calendar what changed here since the rooms of a meeting answered: a
// decision, a cancellation, a released or withdrawn room. It does nothing for other meetings.
func (s *Service) Settle(ctx context.Context, c Change) error {
	uid, organizer, err := s.Store.EventOf(ctx, c.MeetingID)
	if err != nil {
		return err
	}
	if uid == "" {
		return s.Store.SettleChange(ctx, c)
	}
	return s.Store.Exclusively(ctx, uid, func(ctx context.Context) error {
		m, err := s.Meetings.Meeting(ctx, system, c.MeetingID)
		if errors.Is(err, meeting.ErrNotFound) {
			return s.Store.SettleChange(ctx, c)
		}
		if err != nil {
			return err
		}
		e := &event{Service: s, conf: s.Settings(), at: s.Now().UTC().Truncate(time.Microsecond), out: &Outcome{}, organizer: organizer, by: system, object: &itip.Object{UID: uid}}
		if e.known, err = s.Store.KnownEvent(ctx, uid, organizer); err != nil {
			return err
		}
		if len(e.known.Instances) > 0 {
			if err := e.settle(ctx, m); err != nil {
				return err
			}
		}
		return s.Store.SettleChange(ctx, c)
	})
}

// system acts for the installation.
var system = meeting.Actor{Kind: meeting.ActorSystem, Name: "mailroom", Calendar: true}

func (e *event) settle(ctx context.Context, m *meeting.Meeting) error {
	found, err := e.People.ByEmail(ctx, []string{e.organizer})
	if err != nil {
		return err
	}
	e.person = found[e.organizer]
	e.words = wordsFor(e.person.Locale)
	e.record = Record{UID: e.object.UID, Organizer: e.organizer, Via: cmp.Or(e.known.Origin, m.Foreign), MeetingID: e.known.MeetingID, SeriesID: e.known.SeriesID, ExtendAt: e.known.ExtendAt}
	e.latest = e.known.Instances
	if e.object, err = e.merged(); err != nil {
		return err
	}
	if room, err := e.Meetings.Room(ctx, m.RoomIDs[0]); err == nil {
		e.zoneName = room.Zone
	}
	id := ""
	switch {
	case e.known.MeetingID == m.ID && e.object.Master != nil: // perhaps the date that is left of a series
	case m.SeriesID != 0:
		if there, err := e.represents(ctx, m); err != nil || !there {
			return err
		}
		id = e.dateKey(m.OriginalStart)
	case e.known.MeetingID != m.ID:
		return nil // the event has another meeting now
	case e.object.Master == nil:
		id = e.known.Instances[0].RecurrenceID
	}
	if m, err = e.freeOld(ctx, m, id); err != nil {
		return err
	}
	lines := e.reasons(ctx, m)
	for _, t := range e.newest(id) {
		status := statusOf(m, t.RoomID)
		if !e.invited(id, t.Address) || status == "" || status == t.Status {
			continue
		}
		p := &place{seat: seat{address: t.Address, roomID: t.RoomID}, status: status}
		if status == Declined {
			p.lines = lines
		}
		if p.room, err = e.Meetings.Room(ctx, t.RoomID); err != nil && !errors.Is(err, meeting.ErrNotFound) {
			return err
		}
		e.tell(t, p, id, m)
	}
	if len(e.record.Answers) == 0 {
		return nil
	}
	_, err = e.finish(ctx)
	return err
}

// represents reports whether a date of a series is still one of the event, and its meeting is the one that counts. A
// change by the organizer may have left the meeting behind: nobody here has taken the room away then.
func (e *event) represents(ctx context.Context, m *meeting.Meeting) (bool, error) {
	if m.SeriesID != e.known.SeriesID || m.OriginalStart.IsZero() { // the event has another series, or this date no longer
		return false, nil
	}
	id := e.dateKey(m.OriginalStart)
	dates, err := e.object.Dates(e.floating(), clock.Later(m.OriginalStart, e.at).AddDate(0, 0, 1))
	if err != nil || dates.Set == nil {
		return err == nil && recurrenceID(e.object.Head()) == id, nil
	}
	if !slices.ContainsFunc(dates.Set.Dates(recurrence.AllDates), func(d recurrence.Date) bool { return e.dateKey(d.Slot.Start) == id }) {
		return false, nil
	}
	if !m.Status.Over() {
		return true, nil
	}
	booked, err := e.coming(ctx, m.SeriesID)
	return !slices.ContainsFunc(booked, func(o *meeting.Meeting) bool { return o.OriginalStart.Equal(m.OriginalStart) }), err
}

// dateKey identifies a date of the series in the way of its calendar.
func (e *event) dateKey(at time.Time) string {
	head := e.object.Head().Start
	switch {
	case head.Day || head.Zone == nil:
		t := head
		t.Wall = clock.Wall(at, e.floating())
		return t.Key()
	default:
		return at.UTC().Format("20060102T150405Z")
	}
}

// floating is the zone in which the times of the event count that have none.
func (e *event) floating() *time.Location { return clock.ZoneOrUTC(e.zoneName) }

// newest returns the latest answer of each address about a date: about the date itself, or else about the
// whole event.
func (e *event) newest(id string) []Told {
	var all []Told
	for _, t := range e.known.Answers {
		if t.RecurrenceID == id || t.RecurrenceID == "" && e.known.told(id, t.Address) == nil {
			all = append(all, t)
		}
	}
	return all
}

// statusOf returns what a room answers about a meeting now; empty: it is over.
func statusOf(m *meeting.Meeting, roomID int64) Status {
	switch {
	case m.Status == meeting.Ended:
		return ""
	case m.Status == meeting.Cancelled || m.Status == meeting.Rejected || m.Status == meeting.Released || !slices.Contains(m.RoomIDs, roomID):
		return Declined
	case waits(m):
		return Tentative
	default:
		return Accepted
	}
}

// freeOld cancels a meeting that may not follow its event to another time: the organizer's event is no
// longer where it was.
func (e *event) freeOld(ctx context.Context, m *meeting.Meeting, id string) (*meeting.Meeting, error) {
	if m.Status != meeting.Confirmed || m.Request != nil || m.SeriesID != 0 && e.known.MeetingID != m.ID {
		return m, nil
	}
	dates, err := e.object.Dates(e.floating(), e.at)
	if err != nil || dates.Set != nil || dates.Slot.Equal(m.Slot) {
		return m, nil
	}
	cancelled, err := e.Meetings.Cancel(ctx, system, m.ID, nil, "")
	if _, over := errors.AsType[*meeting.StateError](err); over {
		return e.Meetings.Meeting(ctx, system, m.ID)
	}
	return cancelled, err
}

// reasons says why the rooms of a meeting are not booked.
func (e *event) reasons(ctx context.Context, m *meeting.Meeting) []string {
	text, remark := e.words.withdrawn, ""
	switch m.Status {
	case meeting.Released:
		text = e.words.released
	case meeting.Rejected:
		if text, remark = e.words.rejected, m.Approval.Comment; m.Approval.Reason == "timeout" {
			text = e.words.expired
		}
	case meeting.Cancelled:
		text = e.words.cancelledHere
		entries, _, err := e.Meetings.History(ctx, system, m.ID, meeting.Page{Limit: 500})
		if err != nil {
			break // the text says enough
		}
		for _, entry := range entries {
			if entry.Action == meeting.ActionCancelled {
				remark = strings.TrimPrefix(strings.TrimPrefix(entry.Reason, meeting.ReasonSeries), ": ")
			}
		}
	}
	if fault.Visible(remark) {
		return []string{text, remark}
	}
	return []string{text}
}

// tell notes that an address answers something else now.
func (e *event) tell(before Told, p *place, id string, m *meeting.Meeting) {
	told := before
	told.RecurrenceID, told.Status, told.Reason, told.Text = id, p.status, p.reason, strings.Join(p.lines, "\n")
	told.Number++
	if told.Recipient != "" {
		c, date := e.componentOf(id, m)
		e.record.Replies = append(e.record.Replies, e.notice(e.mail(c, date, p, told), told, c.Event))
	}
	e.record.Answers = append(e.record.Answers, told)
}

// componentOf returns what an answer about a date refers to: the version of that date, or a date of the
// whole series.
func (e *event) componentOf(id string, m *meeting.Meeting) (itip.Component, *itip.Date) {
	instance, date := e.instanceOf(id), (*itip.Date)(nil)
	c := itip.Component{Event: e.object.Head(), Text: instance.ICS}
	if instance.RecurrenceID != id { // a date of the series
		zone := e.floating()
		if z := e.object.Head().Start.Zone; z != nil {
			zone = z.Location
		}
		length := e.object.Head().End.In(zone).Sub(e.object.Head().Start.In(zone))
		start := m.OriginalStart.In(zone)
		date = &itip.Date{Start: start, End: start.Add(length)}
	}
	for _, o := range e.object.Overrides {
		if instance.RecurrenceID != "" && recurrenceID(o) == instance.RecurrenceID {
			c.Event = o
		}
	}
	return c, date
}

func (e *event) instanceOf(id string) Instance {
	for _, want := range []string{id, ""} {
		if i := slices.IndexFunc(e.latest, func(x Instance) bool { return x.RecurrenceID == want }); i >= 0 {
			return e.latest[i]
		}
	}
	return e.latest[0]
}
