package scheduling

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/importing"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// mostDates is how many declined dates of a series are answered one by one. More are one text.
const mostDates = 20

// series books a series, or changes what is booked of it. Each room answers for itself: a date is booked in
// those of its rooms that can be booked.
func (e *event) series(ctx context.Context, head *itip.Event, dates *itip.Dates, places []*place) error {
	e.record.ExtendAt = time.Time{}
	if len(undecided(places)) == 0 {
		return e.release(ctx)
	}
	f := series.Fields{Fields: e.fields(head), OnConflict: meeting.SkipOnConflict}
	if !e.bound(dates, places) {
		return e.release(ctx)
	}
	if err := e.tookPlaceOnce(ctx, dates); err != nil {
		return err
	}
	importing.SetDates(dates, &f, func(o *itip.Event) booking.Fields { return e.differing(o, f.Fields) })
	state, same, err := e.booked(ctx, dates)
	if err != nil {
		return err
	}
	for _, p := range undecided(places) {
		if same && slices.Contains(state.RoomIDs, p.roomID) || !e.invited("", p.address) {
			continue
		}
		if err := e.tryRooms(ctx, f, p, places, dates, state, same); err != nil {
			return err
		}
	}
	asked := undecided(places)
	switch {
	case len(asked) == 0:
		return e.release(ctx)
	case e.message.DryRun:
	case state != nil:
		err = e.reconcile(ctx, f, dates, state, same, asked)
	case e.first != 0:
		err = e.repeat(ctx, f, dates, asked)
	default:
		err = e.bookSeries(ctx, f, dates, asked)
	}
	if err != nil {
		if err := e.seriesRefused(err, asked); err != nil {
			return err
		}
		return e.release(ctx)
	}
	for _, p := range asked {
		if p.status = Accepted; e.pending {
			p.status = Tentative
		}
	}
	return nil
}

// bound leaves out dates that are over, that nobody is invited to, and that are too far ahead. It
// declines the places and returns false if the series cannot be booked because of that.
func (e *event) bound(dates *itip.Dates, places []*place) bool {
	set := dates.Set
	window := e.conf.MaxAdvance
	for _, p := range places {
		if p.room != nil && p.room.Policy.MaxAdvance > 0 && (window == 0 || p.room.Policy.MaxAdvance < window) {
			window = p.room.Policy.MaxAdvance
		}
	}
	all := set.Dates(recurrence.AllDates)
	coming := 0
	for _, d := range all {
		if window > 0 && d.Slot.Start.After(e.at.Add(window)) {
			before, _, ok := set.Split(d.Wall)
			if e.conf.BeyondWindow == Decline || !ok || coming == 0 {
				e.declineAll(places, "max_advance", e.words.beyond)
				return false
			}
			*set = before
			e.extend()
			break
		}
		if slot, _ := e.own(d.Slot, dates, series.Fields{}); !slot.Start.After(e.at) || e.uninvited(e.dateKey(d.Slot.Start), places) {
			set.ExDates = append(set.ExDates, recurrence.WallTime{Time: d.Wall})
			continue
		}
		coming++
	}
	if e.endless() && e.conf.BeyondWindow == Decline {
		e.declineAll(places, "max_advance", e.words.beyond)
		return false
	}
	if e.endless() {
		e.extend()
	}
	dates.Differs = slices.DeleteFunc(dates.Differs, func(x itip.Differing) bool {
		return !slices.ContainsFunc(set.Dates(recurrence.AllDates), func(d recurrence.Date) bool { return d.Wall.Equal(x.Wall) })
	})
	if coming == 0 {
		e.declineAll(places, "over", e.words.over)
		return false
	}
	return true
}

// extend has the next dates booked a day later.
func (e *event) extend() {
	if e.conf.BeyondWindow == Extend {
		e.record.ExtendAt = e.at.Add(24 * time.Hour)
	}
}

// endless reports whether the rule has no end.
func (e *event) endless() bool {
	return e.object.Master != nil && slices.ContainsFunc(e.object.Master.Rules, func(rule string) bool {
		return !strings.Contains(rule, "UNTIL=") && !strings.Contains(rule, "COUNT=")
	})
}

// uninvited reports whether no place is invited to a date.
func (e *event) uninvited(id string, places []*place) bool {
	return !slices.ContainsFunc(places, func(p *place) bool { return e.invited(id, p.address) })
}

// tookPlaceOnce finds out whether the meeting of an event that begins to repeat can become the first date of the
// series, so that it keeps its ID. If it cannot, it makes way.
func (e *event) tookPlaceOnce(ctx context.Context, dates *itip.Dates) error {
	id := e.record.MeetingID
	if id == 0 {
		return nil
	}
	if e.record.SeriesID != 0 { // it is the date that was left of the series, which goes on
		e.record.MeetingID = 0
		return nil
	}
	m, err := e.Meetings.Meeting(ctx, e.by, id)
	if err != nil && !errors.Is(err, meeting.ErrNotFound) {
		return err
	}
	all := dates.Set.Dates(2)
	if err == nil && !m.Status.Over() && m.Slot.Start.After(e.at) && e.known.instance("") != nil && len(all) == 2 && all[0].Wall.Equal(dates.Set.Start) {
		e.first = id
		return nil
	}
	if err := e.release(ctx); err != nil {
		return err
	}
	e.record.MeetingID = 0
	return nil
}

// repeat makes the meeting of an event that begins to repeat the first date of a series.
func (e *event) repeat(ctx context.Context, f series.Fields, dates *itip.Dates, places []*place) error {
	e.choose(&f, dates, places)
	made, err := e.Series.Repeat(ctx, e.by, e.first, nil, f)
	if err != nil {
		return err
	}
	e.record.MeetingID, e.record.SeriesID, e.first = 0, made.Series.ID, 0
	state, err := e.Series.Series(ctx, e.by, made.Series.ID)
	if err != nil {
		return err
	}
	f.Choices = nil
	return e.reconcile(ctx, f, dates, state, true, places)
}

// keepOne leaves the date of a series that its event still has, now that it takes place once, and cancels the others. It
// keeps its ID. A series without a coming date is released.
func (e *event) keepOne(ctx context.Context, slot clock.Slot) error {
	if e.record.MeetingID != 0 {
		return nil
	}
	e.record.ExtendAt = time.Time{}
	booked, err := e.coming(ctx, e.record.SeriesID)
	if err != nil {
		return err
	}
	if len(booked) == 0 {
		err := e.release(ctx)
		e.record.SeriesID = 0
		return err
	}
	slices.SortFunc(booked, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	kept := booked[0]
	for _, m := range booked {
		if m.Slot.Start.Equal(slot.Start) {
			kept = m
		}
	}
	e.record.MeetingID = kept.ID
	for _, m := range booked {
		if m == kept || e.message.DryRun {
			continue
		}
		if err := e.drop(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// bookSeries books a series anew.
func (e *event) bookSeries(ctx context.Context, f series.Fields, dates *itip.Dates, places []*place) error {
	f.Reminders = &[]meeting.Reminder{}
	e.choose(&f, dates, places)
	made, err := e.Series.Book(ctx, e.by, f)
	if err != nil {
		return err
	}
	e.record.SeriesID = made.Series.ID
	e.pending = slices.ContainsFunc(made.Meetings, waits)
	for _, s := range made.Skipped { // also what was taken just now
		ruled := dates.Set.Date(clock.Wall(s.OriginalStart, dates.Set.Zone)).Slot
		slot, own := e.own(ruled, dates, f)
		if _, err := e.bookDate(ctx, made.Series.ID, ruled, slot, own, e.wanted(s.OriginalStart, places)); err != nil {
			return err
		}
	}
	return nil
}
