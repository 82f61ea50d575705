package scheduling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/importing"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
)

// mostDates is how many declined dates of a series are answered one by one. More are one text.
const mostDates = 20

// refusedDate is a date of a series that is not booked.
type refusedDate struct {
	key   string
	slot  clock.Slot // by the rule
	lines []string
}

// series books a series, or changes what is booked of it.
func (e *event) series(ctx context.Context, head *itip.Event, dates *itip.Dates, places []*place) error {
	var rooms []int64
	for _, p := range places {
		if p.status == "" && p.room != nil {
			rooms = append(rooms, p.roomID)
		}
	}
	e.record.ExtendAt = time.Time{}
	if len(rooms) == 0 {
		return e.release(ctx)
	}
	if e.record.MeetingID != 0 { // it took place once
		if err := e.release(ctx); err != nil {
			return err
		}
		e.record.MeetingID = 0
	}
	f := meeting.SeriesFields{Fields: e.fields(head), OnConflict: meeting.SkipOnConflict}
	f.RoomIDs = &rooms
	if !e.bound(dates, places) {
		return e.release(ctx)
	}
	importing.SetDates(dates, &f, func(o *itip.Event) meeting.Fields { return e.differing(o, f.Fields) })
	var err error
	if same, state, lookup := e.samePattern(ctx, rooms); lookup != nil {
		return lookup
	} else if same {
		err = e.reconcile(ctx, f, dates, state)
	} else {
		err = e.bookSeries(ctx, f)
	}
	if err != nil {
		if err := e.seriesRefused(err, places); err != nil {
			return err
		}
		return e.release(ctx)
	}
	for _, p := range places {
		if p.status == "" && p.room != nil {
			if p.status = Accepted; e.pending {
				p.status = Tentative
			}
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
		if !d.Slot.Start.After(e.at) || e.uninvited(e.dateKey(d.Slot.Start), places) {
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

func (e *event) declineAll(places []*place, reason, text string) {
	for _, p := range places {
		if p.status == "" {
			p.decline(reason, text)
		}
	}
}

// endless reports whether the rule has no end.
func (e *event) endless() bool {
	return e.object.Master != nil && slices.ContainsFunc(e.object.Master.Rules, func(rule string) bool {
		return !strings.Contains(rule, "UNTIL=") && !strings.Contains(rule, "COUNT=")
	})
}

// uninvited reports whether all places were taken out of a date.
func (e *event) uninvited(id string, places []*place) bool {
	return !slices.ContainsFunc(places, func(p *place) bool {
		t := e.known.told(id, p.address)
		newer := slices.ContainsFunc(e.latest, func(i Instance) bool { return i.RecurrenceID == id && t != nil && i.Compare(t.Version) > 0 })
		return t == nil || t.Status != "" || newer
	})
}

// differing are the fields of one date that is not like the others.
func (e *event) differing(o *itip.Event, series meeting.Fields) meeting.Fields {
	own := e.fields(o)
	own.Import, own.Visibility = nil, nil
	if o.Title == "" {
		own.Title = series.Title
	}
	if o.Description == "" {
		own.Description = series.Description
	}
	if len(o.Attendees) == 0 {
		own.Attendees = series.Attendees
	}
	return own
}

// bookSeries books a series anew, in place of what was booked before.
func (e *event) bookSeries(ctx context.Context, f meeting.SeriesFields) error {
	f.Reminders = &[]meeting.Reminder{}
	if e.record.SeriesID != 0 {
		if err := e.release(ctx); err != nil {
			return err
		}
		if !e.message.DryRun {
			e.record.SeriesID = 0
		}
	}
	would, err := e.Meetings.PreviewSeries(ctx, e.by, f)
	if err != nil {
		return err
	}
	if e.tooMany(len(would.Skipped), len(would.Skipped)+len(would.Meetings)) {
		return &meeting.SeriesConflictError{Dates: would.Skipped}
	}
	if e.message.DryRun {
		e.note(would.Skipped)
		return nil
	}
	made, err := e.Meetings.BookSeries(ctx, e.by, f)
	if err != nil {
		return err
	}
	e.record.SeriesID = made.Series.ID
	e.pending = slices.ContainsFunc(made.Meetings, waits)
	e.note(made.Skipped)
	return nil
}

// tooMany reports whether so many dates are taken that the series is declined.
func (e *event) tooMany(taken, of int) bool {
	return taken > 0 && (taken == of || taken > e.conf.Count || taken*100 > e.conf.Percent*of)
}

// note remembers dates that are not booked.
func (e *event) note(skipped []meeting.Skipped) {
	for _, s := range skipped {
		e.refuse(s.OriginalStart, e.skippedLines(s)...)
	}
}

func (e *event) refuse(original time.Time, lines ...string) {
	key := e.dateKey(original)
	if !slices.ContainsFunc(e.refusedDates, func(r refusedDate) bool { return r.key == key }) {
		e.refusedDates = append(e.refusedDates, refusedDate{key: key, slot: clock.Slot{Start: original}, lines: lines})
	}
}

// skippedLines says why a date is not booked.
func (e *event) skippedLines(s meeting.Skipped) []string {
	zone := clock.ZoneOrUTC(cmp.Or(e.person.Timezone, e.zoneName))
	lines := e.words.violations(s.Violations)
	for _, c := range s.Conflicts {
		lines = append(lines, e.words.conflict(e.roomNames[c.RoomID], c.Slot, zone))
	}
	return lines
}

// samePattern reports whether the series that is booked has the same times and rooms as the event now
// wants, and returns it.
func (e *event) samePattern(ctx context.Context, rooms []int64) (bool, *meeting.SeriesState, error) {
	if e.record.SeriesID == 0 {
		return false, nil, nil
	}
	state, err := e.Meetings.Series(ctx, e.by, e.record.SeriesID)
	if errors.Is(err, meeting.ErrNotFound) || err == nil && !state.CancelledAt.IsZero() {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	before := e.known.instance("")
	same := before != nil && slices.Equal(state.RoomIDs, rooms) && itip.Pattern(before.ICS) == itip.Pattern(e.instanceOf("").ICS)
	return same, state, nil
}

// reconcile brings the booked dates of a series to what the event says now.
func (e *event) reconcile(ctx context.Context, f meeting.SeriesFields, dates *itip.Dates, state *meeting.SeriesState) error {
	if e.message.DryRun {
		return nil
	}
	id := state.ID
	text := meeting.SeriesFields{OnConflict: meeting.SkipOnConflict}
	text.Title, text.Description, text.Attendees, text.Visibility, text.Import = f.Title, f.Description, f.Attendees, f.Visibility, f.Import
	if rule := dates.Set.Rule.String(); rule != state.Rule.String() && !e.record.ExtendAt.IsZero() { // the window moved
		text.Rule = &rule
	}
	after, err := e.Meetings.UpdateSeries(ctx, e.by, id, nil, text)
	if _, over := errors.AsType[*meeting.StateError](err); err != nil && !over {
		return err
	}
	if err == nil {
		e.note(after.Skipped)
	}
	active := map[int64]*meeting.Meeting{} // by local time of the date
	for p := (meeting.Page{Limit: 500}); ; {
		ms, next, err := e.Meetings.Meetings(ctx, e.by, meeting.MeetingQuery{SeriesID: id}, p)
		if err != nil {
			return err
		}
		for _, m := range ms {
			if m.Status.Over() || !m.Slot.Start.After(e.at) {
				continue
			}
			active[m.OriginalWall.Unix()] = m
			e.pending = e.pending || waits(m)
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	wanted := map[int64]bool{}
	for _, d := range dates.Set.Dates(recurrence.AllDates) {
		if !d.Slot.Start.After(e.at) {
			continue
		}
		wanted[d.Wall.Unix()] = true
		if err := e.reconcileDate(ctx, id, d, dates, f, active[d.Wall.Unix()]); err != nil {
			return err
		}
	}
	for wall, m := range active {
		if !wanted[wall] {
			if err := e.drop(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// reconcileDate brings one date to what the event says. m is its meeting; nil: there is none.
func (e *event) reconcileDate(ctx context.Context, id int64, d recurrence.Date, dates *itip.Dates, f meeting.SeriesFields, m *meeting.Meeting) (err error) {
	if m == nil {
		if m, err = e.Meetings.AddDate(ctx, e.by, id, nil, new(clock.At(d.Slot.Start)), meeting.FailOnConflict); err != nil {
			return e.dateRefused(err, d)
		}
	}
	slot, own := d.Slot, meeting.Fields{Title: f.Title, Description: f.Description, Attendees: f.Attendees, Import: f.Import}
	if i := slices.IndexFunc(dates.Differs, func(x itip.Differing) bool { return x.Wall.Equal(d.Wall) }); i >= 0 {
		slot = dates.Differs[i].Slot
		if o := dates.Differs[i].Event; o != nil {
			own = e.differing(o, f.Fields)
			own.Import = f.Import
		}
	}
	if !slot.Equal(m.Slot) {
		own.Start, own.End = new(clock.At(slot.Start)), new(clock.At(slot.End))
	}
	after, err := e.Meetings.Update(ctx, e.by, m.ID, nil, own)
	if err == nil {
		e.pending = e.pending || waits(after)
		return nil
	}
	if err := e.dateRefused(err, d); err != nil {
		return err
	}
	return e.drop(ctx, m)
}

// dateRefused notes that a date cannot be booked. It returns errors that say nothing about the date.
func (e *event) dateRefused(err error, d recurrence.Date) error {
	s := meeting.Skipped{OriginalStart: d.Slot.Start}
	if conflict, ok := errors.AsType[*meeting.ConflictError](err); ok {
		s.Conflicts = conflict.Conflicts
	} else if policy, ok := errors.AsType[*meeting.PolicyError](err); ok {
		s.Violations = policy.Violations
	} else if taken, ok := errors.AsType[*meeting.SeriesConflictError](err); ok && len(taken.Dates) > 0 {
		s.Conflicts, s.Violations = taken.Dates[0].Conflicts, taken.Dates[0].Violations
	} else if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok {
		s.Violations = invalid.Faults
	} else if _, over := errors.AsType[*meeting.StateError](err); !over {
		return err
	}
	e.refuse(d.Slot.Start, e.skippedLines(s)...)
	return nil
}

func (e *event) drop(ctx context.Context, m *meeting.Meeting) error {
	_, err := e.Meetings.Cancel(ctx, e.by, m.ID, nil, "")
	if _, over := errors.AsType[*meeting.StateError](err); over || errors.Is(err, meeting.ErrNotFound) {
		return nil
	}
	return err
}

// seriesRefused declines the places because a series cannot be booked.
func (e *event) seriesRefused(err error, places []*place) error {
	reason, lines := "", []string(nil)
	if taken, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		reason = cmp.Or(taken.Dates[0].Reason, meeting.ReasonTaken)
		lines = append(lines, fmt.Sprintf(e.words.dates, len(taken.Dates)))
		for i, s := range taken.Dates {
			if i == mostDates {
				lines = append(lines, "...")
				break
			}
			lines = append(lines, e.skippedLines(s)...)
		}
	} else if policy, ok := errors.AsType[*meeting.PolicyError](err); ok {
		reason, lines = policy.Violations[0].Code, e.words.violations(policy.Violations)
	} else if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok {
		reason, lines = invalid.Faults[0].Code, e.words.violations(invalid.Faults)
	} else if conflict, ok := errors.AsType[*meeting.ConflictError](err); ok {
		reason, lines = meeting.ReasonTaken, e.skippedLines(meeting.Skipped{Conflicts: conflict.Conflicts})
	} else if _, over := errors.AsType[*meeting.StateError](err); over {
		reason, lines = "over", []string{e.words.over}
	} else {
		return err
	}
	for _, p := range places {
		if p.status == "" {
			p.decline(reason, lines...)
		}
	}
	e.refusedDates = nil
	return nil
}

// answerDates declines the dates of a series that are not booked, each for itself.
func (e *event) answerDates(p *place, v Version) {
	if p.status == Declined {
		return
	}
	for _, r := range e.refusedDates {
		if slices.ContainsFunc(e.record.Answers, func(t Told) bool { return t.RecurrenceID == r.key && t.Address == p.address }) {
			continue
		}
		before := e.known.told(r.key, p.address)
		told := Told{RecurrenceID: r.key, Address: p.address, RoomID: p.roomID, Version: v, Status: Declined, Reason: meeting.ReasonTaken, Text: strings.Join(r.lines, "\n"), Number: 1}
		if before != nil {
			if before.Status == Declined { // it was answered
				continue
			}
			told.Number = before.Number + 1
		}
		one := &place{seat: p.seat, room: p.room, status: Declined, lines: r.lines}
		if e.message.Via == meeting.OriginMail {
			told.MessageID, told.Recipient = e.message.MessageID, e.organizer
		}
		a := Answer{Address: p.address, RoomID: p.roomID, RecurrenceID: r.key, Status: Declined, Reason: told.Reason, Text: told.Text}
		if told.Recipient != "" && len(e.refusedDates) <= mostDates {
			c, date := e.componentOf(r.key, &meeting.Meeting{OriginalStart: r.slot.Start})
			a.Mail = e.mail(c, date, one, told)
			e.record.Replies = append(e.record.Replies, e.notice(a.Mail, told, c.Event))
		}
		e.record.Answers = append(e.record.Answers, told)
		e.out.Answers = append(e.out.Answers, a)
	}
}
