package series

import (
	"slices"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// Everyone whom the change affects is notified, once for each series.
func (e *revision) notifyChange(was, first, target *meeting.Series) {
	now := append(slices.Clone(e.kept), e.change.Create...)
	confirmed, _ := meeting.ConfirmedAndPending(now)
	stay, added, removed := meeting.SplitAttendees(was.Attendees, target.Attendees)
	for _, m := range e.change.Create {
		if m.Request != nil {
			e.asked = append(e.asked, m)
		}
	}
	meeting.JoinRequests(e.asked)
	target.AskTogether(e.asked, e.by)
	visible := e.visible || was.Title != target.Title || was.Description != target.Description || len(e.gone)+len(e.change.Create) > 0
	stayed := e.stayed()
	more := func(*meeting.Facts) {}
	calendar := append(slices.Clone(stayed), confirmed...)
	everybody := append([]meeting.Person{e.before.Organizer}, meeting.Persons(stay)...)
	handedOver := was.Organizer.UserID != target.Organizer.UserID
	visible = visible || handedOver
	if handedOver && e.by.Leaving {
		everybody = meeting.Persons(slices.DeleteFunc(slices.Clone(stay), func(a meeting.Attendee) bool { return a.UserID == target.Organizer.UserID }))
	}
	if first != target || e.moved {
		everybody = append(everybody, e.single()...)
	}
	if first != target {
		// Calendars do not know the second part yet, whatever has changed.
		visible, calendar = true, confirmed
		more = e.splitting(meeting.PartGoesOn)
		if len(confirmed) > 0 {
			e.notifyEnd(first, stayed, confirmed, everybody)
		}
		e.replaceSingle(first, added)
	}
	switch {
	case len(confirmed) == 0 && len(e.gone) > 0:
		e.cancelled(first, e.gone, "", everybody) // people who leave are notified of all dates that they attended
	case len(confirmed) == 0:
	case visible:
		change := meeting.SeriesNotice{Kind: meeting.NoticeChange, Dates: confirmed, Calendar: calendar, More: more}
		target.Notify(change, everybody, e.by, e.at)
		if handedOver && !e.by.Leaving {
			target.Record(change, []meeting.Person{was.Organizer}, e.by, e.at)
			take := meeting.SeriesNotice{Kind: meeting.NoticeInvitation, Dates: confirmed, Calendar: calendar, More: func(f *meeting.Facts) { f.Handover = true }}
			target.Record(take, []meeting.Person{target.Organizer}, e.by, e.at)
		}
		if first == target && len(e.gone) > 0 {
			comes := func(p meeting.Person) bool { return len(change.For(target, p).Dates) > 0 }
			e.cancelled(first, e.gone, "", slices.DeleteFunc(meeting.Persons(stay), comes))
		}
	}
	if len(confirmed) > 0 {
		target.Notify(meeting.SeriesNotice{Kind: meeting.NoticeInvitation, Dates: confirmed, Calendar: calendar}, meeting.Persons(added), e.by, e.at)
	}
	if was := e.wereOn(); len(was) > 0 && len(removed) > 0 {
		e.cancelled(e.before, was, "", meeting.Persons(removed))
		first.Notices = append(first.Notices, e.before.Notices...)
		e.before.Notices = nil
	}
}

// notifyEnd notifies people that the series ends before the dates that continue as a new series. It
// lists their upcoming dates that stay, or else their past dates. Anyone without such dates is
// notified that the series is canceled.
func (e *revision) notifyEnd(first *meeting.Series, left, goOn []*meeting.Meeting, to []meeting.Person) {
	coming := slices.DeleteFunc(slices.Clone(left), func(m *meeting.Meeting) bool { return !m.Slot.Start.After(e.at) })
	t := meeting.SeriesNotice{Kind: meeting.NoticeChange, Calendar: left, More: e.splitting(meeting.PartEnds)}
	for _, m := range goOn { // as long as the other mail is useful
		t.Expires = clock.Later(t.Expires, m.Slot.End)
	}
	for _, dates := range [][]*meeting.Meeting{coming, left, e.wereOn()} {
		t.Dates = dates
		first.Notify(t, to, e.by, e.at)
		to = slices.DeleteFunc(slices.Clone(to), func(p meeting.Person) bool { return len(t.For(first, p).Dates) > 0 })
	}
}

// replaceSingle removes single dates from the calendars of people who were invited only to those
// and are now part of the second part of a split, where the dates are another entry.
func (e *revision) replaceSingle(first *meeting.Series, to []meeting.Attendee) {
	for _, a := range to {
		dates := slices.DeleteFunc(e.wereOn(), func(m *meeting.Meeting) bool {
			return !slices.ContainsFunc(m.Attendees, a.SameAddress) || m.OriginalStart.IsZero()
		})
		first.Notify(meeting.SeriesNotice{Kind: meeting.NoticeCancellation, Dates: dates, More: func(f *meeting.Facts) {
			e.splitting(meeting.PartEnds)(f)
			for _, m := range dates {
				f.Series.Cancelled = append(f.Series.Cancelled, m.Occurrence())
			}
		}}, []meeting.Person{a.Person}, e.by, e.at)
	}
}

func (e *revision) splitting(part meeting.SeriesPart) func(*meeting.Facts) {
	return func(f *meeting.Facts) { f.Series.Part, f.Series.Split = part, &e.fromAt }
}

func (e *revision) everybody(as []meeting.Attendee) []meeting.Person {
	return append([]meeting.Person{e.before.Organizer}, meeting.Persons(as)...)
}

// single returns the people who are not part of the series but attend single dates that stay. If
// calendars would not recognize those dates, these people are notified as for a series.
func (e *revision) single() []meeting.Person {
	var found []meeting.Person
	own := func(p meeting.Person) bool { return !e.before.Concerns(p) && !e.change.Target().Concerns(p) }
	for _, m := range e.kept {
		for _, a := range m.Attendees {
			same := func(p meeting.Person) bool { return p.Key() == a.Key() }
			if own(a.Person) && !slices.ContainsFunc(found, same) {
				found = append(found, a.Person)
			}
		}
		m.Notices = slices.DeleteFunc(m.Notices, func(n meeting.Notice) bool { return !n.AsksForDecision() && own(n.To) })
	}
	return found
}

// stayed returns the dates that calendars show and the change does not concern: they have begun, or
// are before the dates that change.
func (e *revision) stayed() []*meeting.Meeting {
	concerned := e.concerned()
	return slices.DeleteFunc(e.shown(), func(m *meeting.Meeting) bool { return slices.Contains(concerned, m) })
}

// shown returns the dates that calendars know.
func (e *revision) shown() []*meeting.Meeting {
	return slices.DeleteFunc(slices.Clone(e.all), func(m *meeting.Meeting) bool { return m.Gone() || m.Status == meeting.Pending })
}

// wereOn returns the dates that people had been invited to.
func (e *revision) wereOn() []*meeting.Meeting {
	return slices.DeleteFunc(e.concerned(), func(m *meeting.Meeting) bool { return m.Status != meeting.Confirmed })
}

// cancelled notifies people that dates of the series are canceled.
func (e *revision) cancelled(s *meeting.Series, dates []*meeting.Meeting, reason string, to []meeting.Person) {
	whole := !slices.ContainsFunc(e.all, func(m *meeting.Meeting) bool {
		return !m.Gone() && !slices.ContainsFunc(dates, func(d *meeting.Meeting) bool { return d.ID == m.ID })
	})
	s.Notify(meeting.SeriesNotice{Kind: meeting.NoticeCancellation, Dates: dates, More: func(f *meeting.Facts) {
		f.Reason = reason
		if whole {
			return
		}
		for _, m := range dates {
			if o := m.Occurrence(); !o.OriginalStart.IsZero() {
				f.Series.Cancelled = append(f.Series.Cancelled, o)
			}
		}
	}}, to, e.by, e.at)
}

// personal returns the notices to people who are notified of this date alone, because they are not
// part of the series.
func (e *revision) personal(ns []meeting.Notice) []meeting.Notice {
	return slices.DeleteFunc(ns, func(n meeting.Notice) bool {
		return n.Kind != meeting.NoticeApprovalRequest && (e.before.Concerns(n.To) || e.change.Target().Concerns(n.To))
	})
}
