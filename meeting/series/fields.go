package series

import (
	"fmt"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
	"punctual/meeting/recurrence"
)

// Fields are the requested fields of a series, for a booking or a change; see [Fields]. Start
// and End are those of the first date.
type Fields struct {
	booking.Fields
	Rule            *string
	ExDates, RDates *[]clock.Time // dates or times; local times are in Timezone
	OnConflict      meeting.OnConflict
	Choices         []Choice
	Differing       map[time.Time]booking.Fields // imported dates that are not like the others, by local time

	Scope meeting.Scope // of a change
	From  *clock.Time   // with [meeting.ScopeFollowing]: the original start of the first date to change
}

// maxExDates limits lists of dates. It is more than any series has.
const maxExDates = 2_000

// apply sets the fields on s, which is new if it has no ID and does not begin with a meeting, and reports all their faults. t holds
// the checked fields of a meeting; nil: they have faults.
func (f *Fields) apply(s *meeting.Series, k booking.Known, limits policy.Limits, at time.Time) (meeting.Terms, error) {
	var base *meeting.Meeting
	if s.ID != 0 || s.PreviousID != 0 || s.FirstMeeting != 0 {
		base = s.Sample()
	}
	var found fault.List
	t, err := f.Fields.Terms(base, k)
	if e, ok := err.(*meeting.InvalidError); ok {
		found = append(found, e.Faults...)
	} else if err != nil {
		return t, err
	}
	zone, zoneErr := fault.StoredZone(t.Timezone)
	if zoneErr != nil {
		zone = time.UTC // reported by terms
	}
	timed := !found.Has("start") && !found.Has("end") && zoneErr == nil
	if timed {
		f.times(s, t, zone, base == nil, &found)
	}
	s.ApplyTerms(t, at)
	f.dates(s, zone, &found)
	f.conflicts(&found)
	if f.rule(s, base == nil, &found) && timed && !found.Has("start") {
		f.checkRule(s, k.Starts, limits, at, base == nil, &found)
	}
	if len(found) == 0 {
		f.checkSize(s, t, limits, base == nil, &found)
	}
	return t, found.Err()
}

// times are local: a series that gets another zone keeps them.
func (f *Fields) times(s *meeting.Series, t meeting.Terms, zone *time.Location, isNew bool, found *fault.List) {
	start, end := s.Start, s.End
	if f.Start != nil {
		start = t.Given.Start
	}
	if f.End != nil {
		end = t.Given.End
	}
	if start.Nanosecond() != 0 {
		found.Add("start", "not_whole_seconds", "must be a whole number of seconds")
	}
	if end.Nanosecond() != 0 {
		found.Add("end", "not_whole_seconds", "must be a whole number of seconds")
	}
	f.readBack(start, end, t, zone, found)
	switch {
	case found.Has("start"), found.Has("end"):
	case !start.Before(end):
		found.Add("end", "not_after_start", "must be after start")
	case end.Sub(start) > booking.MaxLength:
		found.Add("end", "too_long", "must be at most 366 days after start")
	}
	if f.Rule == nil && !isNew && (!start.Equal(s.Start) || t.Timezone != s.Timezone) {
		s.Rule = s.Rule.Shift(s.Start, start, clock.ZoneOrUTC(s.Timezone))
	}
	if f.ExDates == nil {
		s.ExDates = recurrence.ShiftAll(s.ExDates, s.Start, start)
	}
	s.Start, s.End = start, end
}

// readBack rejects an instant whose local time belongs to another instant. A series keeps local
// times, which mean the first of two equal ones.
func (f *Fields) readBack(start, end time.Time, t meeting.Terms, zone *time.Location, found *fault.List) {
	check := func(location string, given *clock.Time, wall, at time.Time) {
		if given != nil && !clock.InstantOrShift(wall, zone).Equal(at) {
			found.Add(location, "ambiguous_time", "%s", secondPass(wall, zone))
		}
	}
	check("start", f.Start, start, t.Slot.Start)
	check("end", f.End, end, t.Slot.End)
}

// secondPass returns the fault of a time in the second of two equal hours.
func secondPass(wall time.Time, zone *time.Location) string {
	return fmt.Sprintf("must not be the second pass of %s, which clocks in %s show twice: a series takes the first pass",
		wall.Format("2006-01-02 15:04:05"), zone)
}

func (f *Fields) dates(s *meeting.Series, zone *time.Location, found *fault.List) {
	read := func(name string, times *[]clock.Time, into *[]recurrence.WallTime) {
		if times == nil || found.Has(""+name) {
			return
		}
		if len(*times) > maxExDates {
			found.Add(""+name, "too_many", "must have at most %d dates", maxExDates)
			return
		}
		*into = nil
		for i, t := range *times {
			w, ok := recurrence.WallTimeOf(t, zone)
			if !ok {
				found.Add(fault.Index(""+name, i), "invalid_time", "must be a date like 2027-02-15, or a time like 2027-02-15T09:00:00")
				continue
			}
			*into = append(*into, w)
		}
	}
	read("exdates", f.ExDates, &s.ExDates)
	read("rdates", f.RDates, &s.RDates)
	if f.RDates == nil {
		return
	}
	if len(s.RDates) < len(*f.RDates) {
		return
	}
	for i, w := range s.RDates {
		location := fault.Index("rdates", i)
		_, err := clock.Instant(w.Time, zone)
		switch gap, skipped := err.(*clock.GapError); {
		case w.On(s.Start).Before(s.Start):
			found.Add(location, "before_start", "must not be before the start of the series")
		case skipped && !w.Day:
			found.Add(location, "nonexistent_time", "%v", gap)
		case !w.At.IsZero() && !clock.InstantOrShift(w.Time, zone).Equal(w.At):
			found.Add(location, "ambiguous_time", "%s", secondPass(w.Time, zone))
		}
		s.RDates[i].At = time.Time{}
	}
}

func (f *Fields) conflicts(found *fault.List) {
	switch f.OnConflict {
	case "":
		f.OnConflict = meeting.FailOnConflict
	case meeting.FailOnConflict, meeting.SkipOnConflict, meeting.OtherRoom:
	default:
		if !found.Has("on_conflict") { // by its schema
			found.Add("on_conflict", "unknown_value", "must be fail, skip or other_room")
		}
	}
}

// rule parses the rule and reports whether the series has one.
func (f *Fields) rule(s *meeting.Series, required bool, found *fault.List) bool {
	switch {
	case found.Has("rrule"): // it is not text
		return false
	case f.Rule != nil:
		rule, faults := recurrence.ParseRule(*f.Rule)
		found.AddAt("rrule", faults)
		if rule == nil {
			return false
		}
		s.Rule = rule
	case required:
		found.Add("rrule", "required", "is required")
		return false
	}
	return true
}

// checkRule checks the rule and its dates, if any of them is new.
func (f *Fields) checkRule(s *meeting.Series, starts map[int64]time.Time, limits policy.Limits, at time.Time, isNew bool, found *fault.List) {
	if !isNew && f.Rule == nil && f.Start == nil && f.End == nil && f.Timezone == nil && f.RDates == nil {
		s.NameExDates(starts)
		return
	}
	limit := limits.MaxOccurrences
	if limit == 0 || !isNew && f.Rule == nil && f.RDates == nil {
		limit = recurrence.AllDates
	}
	if faults := s.Recurrence().Check(limit); len(faults) > 0 {
		found.AddAt("rrule", faults)
		return
	}
	s.NameExDates(starts)
	dates := s.Recurrence().Dates(limit)
	switch last := len(dates) - 1; {
	case last < 0:
		found.Add("exdates", "no_dates", "must leave at least one date")
	case len(dates) > limit:
		found.Violate("rdates", "too_many_dates", meeting.Figures{Limit: limit, Actual: len(dates)}, "must make at most %[2]d dates; this makes %[1]d", len(dates), limit)
	case limits.MaxAdvance > 0 && (isNew || f.Rule != nil) && f.Override == nil && // otherwise each date reports the override
		dates[last].Slot.Start.Sub(at) > limits.MaxAdvance:
		location, part := "rrule", "COUNT"
		switch {
		case dates[last].Extra:
			location, part = "rdates", "it"
		case !s.Rule.HasCount():
			part = "UNTIL"
		}
		figures := meeting.Figures{Limit: at.Add(limits.MaxAdvance).In(clock.ZoneOrUTC(s.Timezone)).Format(time.DateOnly), Actual: dates[last].Wall.Format(time.DateOnly)}
		found.Violate(location, "max_advance", figures, "%s extends to %s, but rooms can be booked at most %s ahead",
			part, dates[last].Wall.Format(time.DateOnly), fault.FormatDuration(limits.MaxAdvance))
	}
	for i := range len(dates) - 1 {
		if a, b := dates[i], dates[i+1]; a.Slot.Overlaps(b.Slot) {
			found.Add("end", "overlaps_itself", "the date of %s must end before that of %s starts",
				a.Wall.Format(clock.WallLayout), b.Wall.Format(clock.WallLayout))
			return
		}
	}
}

// checkSize limits the cost of a series: its attendees and its rooms count once for each date.
func (f *Fields) checkSize(s *meeting.Series, t meeting.Terms, limits policy.Limits, isNew bool, found *fault.List) {
	dates := len(s.Dates())
	longer := isNew || f.Rule != nil || f.RDates != nil
	if n := dates * len(t.Attendees); limits.MaxInvitations > 0 && n > limits.MaxInvitations && (longer || f.Attendees != nil) {
		found.Violate("attendees", "too_many_invitations", meeting.Figures{Limit: limits.MaxInvitations, Actual: n},
			"must make at most %[3]d invitations; this makes %[1]d on %[2]d dates", n, dates, limits.MaxInvitations)
	}
	if n := dates * len(t.Rooms); limits.MaxRoomDates > 0 && n > limits.MaxRoomDates && (longer || f.RoomIDs != nil) {
		found.Violate("room_ids", "too_many_bookings", meeting.Figures{Limit: limits.MaxRoomDates, Actual: n},
			"must make at most %[3]d room bookings; this makes %[1]d on %[2]d dates", n, dates, limits.MaxRoomDates)
	}
}

// scope returns which dates a change covers: with [meeting.ScopeFollowing], from which instant on.
func (f *Fields) scope(zone *time.Location) (from time.Time, err error) {
	return readScope(&f.Scope, f.From, zone)
}

func readScope(scope *meeting.Scope, given *clock.Time, zone *time.Location) (from time.Time, err error) {
	var found fault.List
	switch *scope {
	case "":
		*scope = meeting.ScopeAll
		if given != nil {
			*scope = meeting.ScopeFollowing
		}
	case meeting.ScopeAll, meeting.ScopeFollowing:
	default:
		found.Add("scope", "unknown_value", "must be all or following")
	}
	switch {
	case *scope == meeting.ScopeFollowing && given == nil:
		found.Add("from", "required", "is required: the original_start of the first date to change")
	case *scope == meeting.ScopeAll && given != nil:
		found.Add("from", "contradiction", "must not be set unless scope is following")
	case given != nil:
		m, err := given.In(zone)
		if err != nil {
			found.Add("from", "invalid_time", "%v", err)
		}
		from = m.At
	}
	return from, found.Err()
}

// namesOnlyOrganizer is [Fields.namesOnlyOrganizer] for a series.
func (f *Fields) namesOnlyOrganizer() bool {
	return f.Fields.NamesOnlyOrganizer() && f.Rule == nil && f.ExDates == nil && f.RDates == nil && len(f.Choices) == 0
}
