package meeting

import (
	"slices"
	"strings"

	"punctual/meeting/clock"
)

// Everyone whom the change affects is notified, once for each series.
func (e *revision) notifyChange(was, first, target *Series) {
	now := append(slices.Clone(e.kept), e.change.Create...)
	confirmed, _ := byState(now)
	stay, added, removed := split(was.Attendees, target.Attendees)
	for _, m := range e.change.Create {
		if m.Request != nil {
			e.asked = append(e.asked, m)
		}
	}
	together(e.asked)
	target.askTogether(e.asked, e.by)
	visible := e.visible || was.Title != target.Title || was.Description != target.Description || len(e.gone)+len(e.change.Create) > 0
	stayed := e.stayed()
	more := func(*Facts) {}
	calendar := append(slices.Clone(stayed), confirmed...)
	everybody := append([]Person{e.before.Organizer}, persons(stay)...)
	handedOver := was.Organizer.UserID != target.Organizer.UserID
	visible = visible || handedOver
	if handedOver && e.by.Leaving {
		everybody = persons(slices.DeleteFunc(slices.Clone(stay), func(a Attendee) bool { return a.UserID == target.Organizer.UserID }))
	}
	if first != target || e.moved {
		everybody = append(everybody, e.single()...)
	}
	if first != target {
		// Calendars do not know the second part yet, whatever has changed.
		visible, calendar = true, confirmed
		more = e.splitting(PartGoesOn)
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
		change := seriesNotice{kind: NoticeChange, dates: confirmed, calendar: calendar, more: more}
		target.notify(change, everybody, e.by, e.at)
		if handedOver && !e.by.Leaving {
			target.record(change, []Person{was.Organizer}, e.by, e.at)
			take := seriesNotice{kind: NoticeInvitation, dates: confirmed, calendar: calendar, more: func(f *Facts) { f.Handover = true }}
			target.record(take, []Person{target.Organizer}, e.by, e.at)
		}
		if first == target && len(e.gone) > 0 {
			comes := func(p Person) bool { return len(change.of(target, p).dates) > 0 }
			e.cancelled(first, e.gone, "", slices.DeleteFunc(persons(stay), comes))
		}
	}
	if len(confirmed) > 0 {
		target.notify(seriesNotice{kind: NoticeInvitation, dates: confirmed, calendar: calendar}, persons(added), e.by, e.at)
	}
	if was := e.wereOn(); len(was) > 0 && len(removed) > 0 {
		e.cancelled(e.before, was, "", persons(removed))
		first.notices = append(first.notices, e.before.notices...)
		e.before.notices = nil
	}
}

// notifyEnd notifies people that the series ends before the dates that continue as a new series. It
// lists their upcoming dates that stay, or else their past dates. Anyone without such dates is
// notified that the series is canceled.
func (e *revision) notifyEnd(first *Series, left, goOn []*Meeting, to []Person) {
	coming := slices.DeleteFunc(slices.Clone(left), func(m *Meeting) bool { return !m.Slot.Start.After(e.at) })
	t := seriesNotice{kind: NoticeChange, calendar: left, more: e.splitting(PartEnds)}
	for _, m := range goOn { // as long as the other mail is useful
		t.expires = clock.Later(t.expires, m.Slot.End)
	}
	for _, dates := range [][]*Meeting{coming, left, e.wereOn()} {
		t.dates = dates
		first.notify(t, to, e.by, e.at)
		to = slices.DeleteFunc(slices.Clone(to), func(p Person) bool { return len(t.of(first, p).dates) > 0 })
	}
}

// replaceSingle removes single dates from the calendars of people who were invited only to those
// and are now part of the second part of a split, where the dates are another entry.
func (e *revision) replaceSingle(first *Series, to []Attendee) {
	for _, a := range to {
		dates := slices.DeleteFunc(e.wereOn(), func(m *Meeting) bool {
			return !slices.ContainsFunc(m.Attendees, a.sameAddress) || m.OriginalStart.IsZero()
		})
		first.notify(seriesNotice{kind: NoticeCancellation, dates: dates, more: func(f *Facts) {
			e.splitting(PartEnds)(f)
			for _, m := range dates {
				f.Series.Cancelled = append(f.Series.Cancelled, m.occurrence())
			}
		}}, []Person{a.Person}, e.by, e.at)
	}
}

func (e *revision) splitting(part SeriesPart) func(*Facts) {
	return func(f *Facts) { f.Series.Part, f.Series.Split = part, &e.fromAt }
}

func (e *revision) everybody(as []Attendee) []Person {
	return append([]Person{e.before.Organizer}, persons(as)...)
}

// single returns the people who are not part of the series but attend single dates that stay. If
// calendars would not recognize those dates, these people are notified as for a series.
func (e *revision) single() []Person {
	var found []Person
	own := func(p Person) bool { return !e.before.concerns(p) && !e.change.Target().concerns(p) }
	for _, m := range e.kept {
		for _, a := range m.Attendees {
			same := func(p Person) bool { return p.key() == a.key() }
			if own(a.Person) && !slices.ContainsFunc(found, same) {
				found = append(found, a.Person)
			}
		}
		m.notices = slices.DeleteFunc(m.notices, func(n Notice) bool { return !n.asks() && own(n.To) })
	}
	return found
}

// stayed returns the dates that calendars show and the change does not concern: they have begun, or
// are before the dates that change.
func (e *revision) stayed() []*Meeting {
	concerned := e.concerned()
	return slices.DeleteFunc(e.shown(), func(m *Meeting) bool { return slices.Contains(concerned, m) })
}

// shown returns the dates that calendars know.
func (e *revision) shown() []*Meeting {
	return slices.DeleteFunc(slices.Clone(e.all), func(m *Meeting) bool { return m.gone() || m.Status == Pending })
}

// wereOn returns the dates that people had been invited to.
func (e *revision) wereOn() []*Meeting {
	return slices.DeleteFunc(e.concerned(), func(m *Meeting) bool { return m.Status != Confirmed })
}

// cancelled notifies people that dates of the series are canceled.
func (e *revision) cancelled(s *Series, dates []*Meeting, reason string, to []Person) {
	whole := !slices.ContainsFunc(e.all, func(m *Meeting) bool {
		return !m.gone() && !slices.ContainsFunc(dates, func(d *Meeting) bool { return d.ID == m.ID })
	})
	s.notify(seriesNotice{kind: NoticeCancellation, dates: dates, more: func(f *Facts) {
		f.Reason = reason
		if whole {
			return
		}
		for _, m := range dates {
			if o := m.occurrence(); !o.OriginalStart.IsZero() {
				f.Series.Cancelled = append(f.Series.Cancelled, o)
			}
		}
	}}, to, e.by, e.at)
}

// personal returns the notices to people who are notified of this date alone, because they are not
// part of the series.
func (e *revision) personal(ns []Notice) []Notice {
	return slices.DeleteFunc(ns, func(n Notice) bool {
		return n.Kind != NoticeApprovalRequest && (e.before.concerns(n.To) || e.change.Target().concerns(n.To))
	})
}

// concerns reports whether a person is notified of the series as a whole.
func (s *Series) concerns(p Person) bool {
	return p.Email != "" && strings.EqualFold(p.Email, s.Organizer.Email) || slices.ContainsFunc(s.Attendees, Attendee{Person: p}.sameAddress)
}
