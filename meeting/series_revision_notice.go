package meeting

import "slices"

// tell those whom the change concerns, each once for each series. Nobody is told that a
// description has changed, as with meetings.
func (e *revision) tell(was, first, target *Series) {
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
	visible := e.visible || was.Title != target.Title || len(e.gone)+len(e.change.Create) > 0
	if first != target && visible {
		if left := e.left(); len(left) > 0 && len(e.kept) > 0 {
			first.notify(NoticeChange, left, e.everybody(was.Attendees), e.by, e.at, nil)
			for i := range first.notices {
				first.notices[i].Expires = e.kept[len(e.kept)-1].Slot.End
			}
		}
	}
	switch {
	case len(confirmed) == 0 && len(e.gone) > 0:
		e.cancelled(target, e.gone, "", was.Attendees)
	case len(confirmed) == 0:
	case visible:
		kind := NoticeChange
		if first != target {
			kind = NoticeInvitation // its calendars do not know the new series
		}
		target.notify(kind, confirmed, e.everybody(stay), e.by, e.at, nil)
	}
	if len(confirmed) > 0 {
		target.notify(NoticeInvitation, confirmed, persons(added), e.by, e.at, nil)
	}
	if was := e.wereOn(); len(was) > 0 && len(removed) > 0 {
		e.cancelled(e.before, was, "", removed)
		target.notices = append(target.notices, e.before.notices...)
		e.before.notices = nil
	}
}

func (e *revision) everybody(as []Attendee) []Person {
	return append([]Person{e.before.Organizer}, persons(as)...)
}

// left are the dates in front of those that the change concerns: calendars must learn that
// their series ends there.
func (e *revision) left() []*Meeting {
	var ms []*Meeting
	for _, m := range e.all {
		if m.place().Before(e.from) && !m.gone() && m.Status != Pending {
			ms = append(ms, m)
		}
	}
	return ms
}

// wereOn are the dates that people had been invited to.
func (e *revision) wereOn() []*Meeting {
	return slices.DeleteFunc(e.concerned(), func(m *Meeting) bool { return m.Status != Confirmed })
}

// cancelled tells that dates of the series will not be.
func (e *revision) cancelled(s *Series, dates []*Meeting, reason string, to []Attendee) {
	whole := !slices.ContainsFunc(e.all, func(m *Meeting) bool {
		return !m.gone() && !slices.ContainsFunc(dates, func(d *Meeting) bool { return d.ID == m.ID })
	})
	s.notify(NoticeCancellation, dates, e.everybody(to), e.by, e.at, func(f *Facts) {
		f.Reason = reason
		f.Series.Overrides, f.Series.ExDates, f.Series.RDates = nil, nil, nil
		if whole {
			return
		}
		for _, m := range dates {
			if o := m.occurrence(); !o.OriginalStart.IsZero() {
				o.Title, o.Rooms = "", nil
				f.Series.Cancelled = append(f.Series.Cancelled, o)
			}
		}
	})
}

// personal are the notices to those who are told of this date alone, since they have no part
// in the series.
func (e *revision) personal(ns []Notice) []Notice {
	series := e.before.Attendees
	target := e.change.Target().Attendees
	return slices.DeleteFunc(ns, func(n Notice) bool {
		switch {
		case n.Kind == NoticeApprovalRequest:
			return false
		case n.To.Email == e.before.Organizer.Email:
			return true
		}
		is := func(a Attendee) bool { return a.sameAddress(Attendee{Person: n.To}) }
		return slices.ContainsFunc(series, is) || slices.ContainsFunc(target, is)
	})
}
