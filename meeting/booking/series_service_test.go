package booking_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/series"
)

// weekly is a series on Thursdays at ten in Berlin, from the day after the world's on.
func (w *world) weekly(rule string, rooms ...*meeting.Room) series.Fields {
	return series.Fields{
		Fields: booking.Fields{
			Title: new("Weekly"), RoomIDs: new(meeting.RoomIDs(rooms)), Timezone: new("Europe/Berlin"),
			Start: new(clock.Parse("2027-02-11T10:00:00")), End: new(clock.Parse("2027-02-11T11:00:00")),
			Attendees: &[]meeting.Person{{Email: "bob@example.org"}, {Email: "guest@example.net"}},
		},
		Rule: &rule,
	}
}

func (w *world) bookSeries(t *testing.T, by meeting.Actor, f series.Fields) *booking.SeriesResult {
	t.Helper()
	r, err := w.series.Book(t.Context(), by, f)
	if err != nil {
		t.Fatal(err)
	}
	w.notified()
	return r
}

// look is all meetings of a series as "2027-02-11 10:00 title status", by the clocks of Berlin.
func (w *world) look(t *testing.T, id int64) []string {
	t.Helper()
	ms, err := w.store.SeriesMeetings(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range ms {
		out = append(out, m.Slot.Start.In(clock.ZoneOrUTC("Europe/Berlin")).Format("01-02 15:04 ")+m.Title+" "+string(m.Status))
	}
	return out
}

func (w *world) patchSeries(t *testing.T, id int64, f series.Fields) *booking.SeriesResult {
	t.Helper()
	r, err := w.series.Update(t.Context(), w.ann, id, nil, f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSeries_fieldsThatDifferStay(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	_, err := w.Update(t.Context(), w.ann, r.Meetings[1].ID, nil, booking.Fields{
		Title: new("Special"), Attendees: &[]meeting.Person{{Email: "bob@example.org"}, {Email: "extra@example.net"}}, // without the guest
	})
	if err != nil {
		t.Fatal(err)
	}
	other := w.room(t, places.RoomFields{Name: new("Other")})
	if _, err := w.Update(t.Context(), w.ann, r.Meetings[2].ID, nil, booking.Fields{RoomIDs: &[]int64{other.ID}}); err != nil {
		t.Fatal(err)
	}
	third := w.room(t, places.RoomFields{Name: new("Third")})
	w.notified()
	w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{
		Title: new("Renamed"), Description: new("All"), RoomIDs: &[]int64{third.ID},
		Attendees: &[]meeting.Person{{Email: "guest@example.net"}, {Email: "new@example.net"}}, // bob leaves
	}})
	ms, _ := w.store.SeriesMeetings(t.Context(), r.Series.ID)
	type row struct {
		Title, Room string
		Attendees   []string
	}
	var got []row
	for _, m := range ms {
		var as []string
		for _, a := range m.Attendees {
			as = append(as, a.Email)
		}
		slices.Sort(as)
		got = append(got, row{m.Title, m.RoomNames[0], as})
		if m.Description != "All" {
			t.Errorf("%s has the description %q", m.Title, m.Description)
		}
	}
	all := []string{"guest@example.net", "new@example.net"}
	same(t, "dates", got, []row{
		{"Renamed", "Third", all}, {"Special", "Third", []string{"extra@example.net", "new@example.net"}},
		{"Renamed", "Other", all}, {"Renamed", "Third", all},
	})
	same(t, "told", w.notified(), []string{
		"cancellation bob@example.org", "change extra@example.net", "change guest@example.net", "invitation new@example.net",
	})
}

func TestSeries_conflictsOfAnEdit(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk))
	taken := w.fields(0, w.desk)
	taken.Start, taken.End = new(clock.Parse("2027-02-18T15:00:00+01:00")), new(clock.Parse("2027-02-18T16:00:00+01:00"))
	w.book(t, w.bob, taken)
	move := series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-11T15:00:00")), End: new(clock.Parse("2027-02-11T16:00:00"))}}

	before := w.look(t, r.Series.ID)
	_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, move)
	e, ok := errors.AsType[*meeting.SeriesConflictError](err)
	if !ok || len(e.Dates) != 1 || len(e.Dates[0].Conflicts) != 1 {
		t.Fatalf("got %v", err)
	}
	same(t, "after a refusal", w.look(t, r.Series.ID), before)

	move.OnConflict = meeting.SkipOnConflict
	moved := w.patchSeries(t, r.Series.ID, move)
	same(t, "skipped", len(moved.Skipped), 1)
	same(t, "what cannot move stays", w.look(t, r.Series.ID), []string{
		"02-11 15:00 Weekly confirmed", "02-18 10:00 Weekly confirmed", "02-25 15:00 Weekly confirmed",
	})
}

func TestSeries_newRule(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	id := r.Series.ID
	if _, err := w.Cancel(t.Context(), w.ann, r.Meetings[0].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	f := booking.Fields{Start: new(clock.Parse("2027-02-19T09:00:00+01:00")), End: new(clock.Parse("2027-02-19T10:00:00+01:00"))}
	if _, err := w.Update(t.Context(), w.ann, r.Meetings[1].ID, nil, f); err != nil { // on a Friday
		t.Fatal(err)
	}
	// Fridays from the twelfth on: what was moved stays, though its Thursday is none of the rule's.
	w.patchSeries(t, id, series.Fields{
		Fields: booking.Fields{Start: new(clock.Parse("2027-02-12T10:00:00")), End: new(clock.Parse("2027-02-12T11:00:00"))}, Rule: new("FREQ=WEEKLY;COUNT=3"),
	})
	same(t, "another weekday", w.look(t, id), []string{
		"02-11 10:00 Weekly cancelled", "02-12 10:00 Weekly confirmed", "02-19 09:00 Weekly confirmed", "02-19 10:00 Weekly confirmed",
		"02-25 10:00 Weekly cancelled", "02-26 10:00 Weekly confirmed", "03-04 10:00 Weekly cancelled",
	})
	// Back again: the date that somebody cancelled stays so, those that the rule dropped come again.
	w.patchSeries(t, id, series.Fields{
		Fields: booking.Fields{Start: new(clock.Parse("2027-02-11T10:00:00")), End: new(clock.Parse("2027-02-11T11:00:00"))}, Rule: new("FREQ=WEEKLY;UNTIL=20270304"),
	})
	live := slices.DeleteFunc(w.look(t, id), func(s string) bool { return s[len(s)-9:] == "cancelled" })
	same(t, "back again", slices.Contains(live, "02-25 10:00 Weekly confirmed") && slices.Contains(live, "03-04 10:00 Weekly confirmed"), true)
	same(t, "what was moved", slices.Contains(live, "02-19 09:00 Weekly confirmed"), true)
}

func TestSeries_pastStays(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;UNTIL=20270304T100000", w.desk))
	w.at = time.Date(2027, 2, 18, 9, 30, 0, 0, time.UTC) // in the midst of the second
	all := w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Title: new("Late"), Start: new(clock.Parse("2027-02-11T12:00:00")), End: new(clock.Parse("2027-02-11T13:00:00"))}, Rule: new("FREQ=WEEKLY;UNTIL=20270304")})
	same(t, "touched", len(all.Meetings), 2)
	same(t, "all", w.look(t, r.Series.ID), []string{
		"02-11 10:00 Weekly confirmed", "02-18 10:00 Weekly confirmed", "02-25 12:00 Late confirmed", "03-04 12:00 Late confirmed",
	})
	following := w.patchSeries(t, r.Series.ID, series.Fields{Scope: meeting.ScopeFollowing, From: new(clock.Parse("2027-03-04T12:00:00")), Fields: booking.Fields{Title: new("Last")}})
	same(t, "the first part", following.Previous.Rule.String(), "FREQ=WEEKLY;UNTIL=20270225T120000")
	same(t, "the second", w.look(t, following.Series.ID), []string{"03-04 12:00 Last confirmed"})
	same(t, "the first's", len(w.look(t, r.Series.ID)), 3)
	_, err := w.series.Cancel(t.Context(), w.ann, r.Series.ID, nil, meeting.ScopeAll, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "cancelled", w.look(t, r.Series.ID), []string{"02-11 10:00 Weekly confirmed", "02-18 10:00 Weekly confirmed", "02-25 12:00 Late cancelled"})
	_, err = w.series.Cancel(t.Context(), w.ann, r.Series.ID, nil, meeting.ScopeAll, nil, "")
	state(t, err, meeting.Cancelled)
}

// The end of the rule and the dates left out move with the start.
func TestSeries_movesAsAWhole(t *testing.T) {
	for _, c := range []struct{ until, want string }{
		{"20270304T100000", "20270305T120000"}, {"20270304T090000Z", "20270305T120000"}, {"20270304", "20270305"},
	} {
		w := newWorld(t)
		f := w.weekly("FREQ=WEEKLY;UNTIL="+c.until, w.desk)
		f.ExDates = dates("2027-02-18T10:00:00")
		r := w.bookSeries(t, w.ann, f)
		moved := w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-12T12:00:00")), End: new(clock.Parse("2027-02-12T13:00:00"))}})
		same(t, "rule", moved.Series.Rule.String(), "FREQ=WEEKLY;UNTIL="+c.want)
		same(t, c.until, w.look(t, r.Series.ID), []string{
			"02-12 12:00 Weekly confirmed", "02-26 12:00 Weekly confirmed", "03-05 12:00 Weekly confirmed",
		})
	}
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;UNTIL=20270304T090000Z", w.desk))
	w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Timezone: new("America/New_York")}})
	same(t, "the same clock in another zone", w.look(t, r.Series.ID), []string{
		"02-11 16:00 Weekly confirmed", "02-18 16:00 Weekly confirmed", "02-25 16:00 Weekly confirmed", "03-04 16:00 Weekly confirmed",
	})
}

func TestSeries_approval(t *testing.T) {
	w := newWorld(t)
	r, err := w.series.Book(t.Context(), w.bob, w.weekly("FREQ=WEEKLY;COUNT=3", w.board))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "told of a request", w.notified(), []string{"approval_request mona@example.org"})
	for _, m := range r.Meetings {
		if m.Status != meeting.Pending || !m.Approval.Deadline.Equal(r.Meetings[0].Approval.Deadline) {
			t.Errorf("%s until %v", m.Status, m.Approval.Deadline)
		}
	}
	if _, err := w.approval.Approve(t.Context(), w.mona, r.Meetings[1].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.notified()
	own := w.bookSeries(t, w.mona, series.Fields{Fields: booking.Fields{
		Title: new("Own"), RoomIDs: new(meeting.RoomIDs([]*meeting.Room{w.board})), Start: new(clock.Parse("2027-02-11T14:00:00")), End: new(clock.Parse("2027-02-11T15:00:00")),
	}, Rule: new("FREQ=DAILY;COUNT=2")})
	same(t, "an approver's own", own.Meetings[0].Status, meeting.Confirmed)
}

func TestSeries_refusals(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.MaxOccurrences = 5
	for name, c := range map[string]struct {
		change func(*series.Fields)
		want   []string
	}{
		"too many by RDATE": {func(f *series.Fields) { f.RDates = dates("2027-02-12", "2027-02-13") }, []string{"rdates too_many_dates"}},
		"nothing left":      {func(f *series.Fields) { f.Rule, f.ExDates = new("FREQ=WEEKLY;COUNT=1"), dates("2027-02-11") }, []string{"exdates no_dates"}},
		"an RDATE before":   {func(f *series.Fields) { f.RDates = dates("2027-02-01") }, []string{"rdates[0] before_start"}},
		"overlaps itself": {func(f *series.Fields) {
			f.Rule, f.End = new("FREQ=DAILY;COUNT=3"), new(clock.Parse("2027-02-12T11:00:00"))
		}, []string{"end overlaps_itself"}},
		"not in whole seconds": {func(f *series.Fields) { f.Start = new(clock.Parse("2027-02-11T10:00:00.5")) }, []string{"start not_whole_seconds"}},
		"starts in a gap": {func(f *series.Fields) {
			f.Start, f.End = new(clock.Parse("2027-03-28T02:30:00")), new(clock.Parse("2027-03-28T04:00:00"))
		}, []string{"start nonexistent_time"}},
		"far ahead":              {func(f *series.Fields) { f.Rule = new("FREQ=MONTHLY;INTERVAL=6;COUNT=4") }, []string{"rrule max_advance"}},
		"a start outside":        {func(f *series.Fields) { f.Rule = new("FREQ=WEEKLY;BYDAY=MO;COUNT=3") }, []string{"start not_in_rule"}},
		"no rule":                {func(f *series.Fields) { f.Rule = nil }, []string{"rrule required"}},
		"rule and title at once": {func(f *series.Fields) { f.Rule, f.Title = new("FREQ=DAILY"), new("") }, []string{"title too_short", "rrule endless"}},
	} {
		f := w.weekly("FREQ=WEEKLY;COUNT=4", w.desk)
		c.change(&f)
		_, err := w.series.Book(t.Context(), w.ann, f)
		e, ok := errors.AsType[*meeting.InvalidError](err)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, name, codes(e.Faults), c.want)
	}
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	for name, f := range map[string]series.Fields{
		"an unknown scope":    {Scope: "some"},
		"following what":      {Scope: meeting.ScopeFollowing},
		"all from":            {Scope: meeting.ScopeAll, From: new(clock.Parse("2027-02-18T10:00:00"))},
		"from none of them":   {From: new(clock.Parse("2027-02-19T10:00:00"))},
		"from no time":        {From: new(clock.Parse("soon"))},
		"null for the rule":   {Rule: new("")},
		"unknown on_conflict": {OnConflict: "hope", Fields: booking.Fields{Title: new("x")}},
	} {
		_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, f)
		if _, ok := errors.AsType[*meeting.InvalidError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// requested is a series of bob's on three dates that waits for mona.
func requested(t *testing.T, room places.RoomFields) (*world, *booking.SeriesResult) {
	t.Helper()
	w := newWorld(t)
	w.settings.RemindBefore = time.Hour
	room.Name, room.ApprovalRequired, room.ApproverIDs = new("Hall"), new(true), &[]int64{w.mona.ID}
	return w, w.bookSeries(t, w.bob, w.weekly("FREQ=WEEKLY;COUNT=3", w.room(t, room)))
}

// dates that each notice since the last call speaks of.
func (w *world) dates() []int64 {
	var counts []int64
	for _, n := range w.store.notices {
		var count int64
		if n.Facts.Series != nil {
			count = n.Facts.Series.Count
		}
		counts = append(counts, count)
	}
	return counts
}

func TestSeries_requestsEndTogether(t *testing.T) {
	for _, tt := range []struct {
		to       meeting.Status
		notified []string
	}{
		{meeting.Rejected, []string{"decision bob@example.org"}},
		{meeting.Confirmed, []string{"decision bob@example.org", "invitation bob@example.org", "invitation guest@example.net"}},
	} {
		w, r := requested(t, places.RoomFields{OnTimeout: &tt.to})
		for i, m := range r.Meetings {
			want := meeting.Applied
			if i > 0 {
				want = meeting.Done
			}
			if outcome, err := outcomeOf(w.ExpireApprovals(t.Context(), meeting.Ref{ID: m.ID, Version: m.Request.Number})); err != nil || outcome != want {
				t.Errorf("%s: date %d: %v, %v", tt.to, i, outcome, err)
			}
			now := w.store.meetings[m.ID]
			if now.Status != tt.to || now.Approval.Reason != meeting.ReasonTimeout {
				t.Errorf("%s: date %d: %s, %s", tt.to, i, now.Status, now.Approval.Reason)
			}
		}
		for _, count := range w.dates() {
			same(t, "dates", count, 3)
		}
		same(t, "told", w.notified(), tt.notified)
	}
}

// Where not all dates can be approved on time-out, those that cannot are rejected. People get
// one notification for either outcome.
func TestSeries_requestsEndAsFarAsTheyCan(t *testing.T) {
	w := newWorld(t)
	w.settings.HoldPending = false
	hall := w.room(t, places.RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}, OnTimeout: new(meeting.Confirmed)})
	r := w.bookSeries(t, w.bob, w.weekly("FREQ=WEEKLY;COUNT=3", hall))
	taken := w.fields(0, hall)
	taken.Start, taken.End = new(clock.Parse("2027-02-18T10:00:00+01:00")), new(clock.Parse("2027-02-18T11:00:00+01:00"))
	w.book(t, w.mona, taken)
	w.notified()
	for i, want := range []meeting.Status{meeting.Confirmed, meeting.Rejected, meeting.Confirmed} {
		m := r.Meetings[i]
		if _, err := w.ExpireApprovals(t.Context(), meeting.Ref{ID: m.ID, Version: m.Request.Number}); err != nil {
			t.Fatal(err)
		}
		same(t, "status", w.store.meetings[m.ID].Status, want)
	}
	same(t, "told", w.notified(), []string{"decision bob@example.org", "decision bob@example.org", "invitation bob@example.org", "invitation guest@example.net"})
}

// Whatever becomes of the first date, the others are reminded of, escalated and decided.
func TestSeries_requestsOutliveTheFirstDate(t *testing.T) {
	w, r := requested(t, places.RoomFields{EscalateAfter: new(time.Hour)})
	link := meeting.Link{MeetingID: r.Meetings[0].ID, Number: r.Meetings[0].Request.Number, UserID: w.mona.ID}
	linked, err := w.approval.FollowLink(t.Context(), link)
	if err != nil || linked.State != meeting.LinkOpen || len(linked.Dates) != 3 {
		t.Fatalf("%+v, %v", linked, err)
	}
	if _, err := w.Cancel(t.Context(), w.bob, r.Meetings[0].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.notified()

	for _, m := range r.Meetings {
		if _, err := w.approval.RemindApprovals(t.Context(), meeting.Ref{ID: m.ID, Version: m.Request.Number}); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "dates", w.dates(), []int64{2})
	same(t, "reminded", w.notified(), []string{"approval_reminder mona@example.org"})
	for _, m := range r.Meetings {
		if _, err := w.approval.EscalateApprovals(t.Context(), meeting.Ref{ID: m.ID, Version: m.Request.Number}); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "dates", w.dates(), []int64{2})
	same(t, "escalated", w.notified(), []string{"escalation root@example.org"})
	for _, m := range r.Meetings[1:] {
		if now := w.store.meetings[m.ID]; now.Request.EscalatedAt.IsZero() {
			t.Error("a date was not escalated")
		}
	}

	linked, err = w.approval.FollowLink(t.Context(), link)
	if err != nil || linked.State != meeting.LinkOpen || len(linked.Dates) != 2 {
		t.Fatalf("%+v, %v", linked, err)
	}
	linked, decided, err := w.approval.DecideByLink(t.Context(), link, true, "")
	if err != nil || !decided || linked.State != meeting.LinkDecided {
		t.Fatalf("%+v, %v, %v", linked, decided, err)
	}
	same(t, "dates", w.look(t, r.Series.ID), []string{
		"02-11 10:00 Weekly cancelled", "02-18 10:00 Weekly confirmed", "02-25 10:00 Weekly confirmed",
	})
	same(t, "told", w.notified(), []string{"decision bob@example.org", "invitation bob@example.org", "invitation guest@example.net"})
	linked, decided, err = w.approval.DecideByLink(t.Context(), link, false, "")
	if err != nil || decided || linked.State != meeting.LinkDecided || len(linked.Dates) != 2 {
		t.Errorf("a second time: %+v, %v, %v", linked, decided, err)
	}
}

// A series whose move waits, or was refused, still moves as a whole; what was moved for itself
// meanwhile stays.
func TestSeries_movesAfterARefusal(t *testing.T) {
	for _, refused := range []bool{false, true} {
		w := newWorld(t)
		r := w.bookSeries(t, w.bob, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk))
		other, third := w.room(t, places.RoomFields{Name: new("Other")}), w.room(t, places.RoomFields{Name: new("Third")})
		change := func(f booking.Fields) {
			t.Helper()
			if _, err := w.series.Update(t.Context(), w.bob, r.Series.ID, nil, series.Fields{Fields: f}); err != nil {
				t.Fatal(err)
			}
		}
		change(booking.Fields{RoomIDs: &[]int64{w.board.ID}, Start: new(clock.Parse("2027-02-11T14:00:00")), End: new(clock.Parse("2027-02-11T15:00:00"))})
		w.notified()
		if refused {
			if _, err := w.approval.RejectSeries(t.Context(), w.mona, r.Series.ID, nil, ""); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Update(t.Context(), w.bob, r.Meetings[2].ID, nil, booking.Fields{RoomIDs: &[]int64{third.ID}}); err != nil {
				t.Fatal(err)
			}
		}
		w.notified()
		change(booking.Fields{Title: new("Renamed")})
		for _, n := range w.store.notices {
			if len(n.Facts.Series.Dates) == 3 && !refused && !slices.Equal(n.Facts.Rooms, []string{w.desk.Name}) {
				t.Errorf("told of %q, where they are not", n.Facts.Rooms)
			}
		}
		change(booking.Fields{RoomIDs: &[]int64{other.ID}, Start: new(clock.Parse("2027-02-11T16:00:00")), End: new(clock.Parse("2027-02-11T17:00:00"))})
		want := []string{"02-11 16:00 Renamed confirmed", "02-18 16:00 Renamed confirmed", "02-25 16:00 Renamed confirmed"}
		rooms := []string{"Other", "Other", "Other"}
		if refused {
			want[2], rooms[2] = "02-25 10:00 Renamed confirmed", "Third"
		}
		same(t, "dates", w.look(t, r.Series.ID), want)
		for i, m := range r.Meetings {
			now := w.store.meetings[m.ID]
			if now.RoomNames[0] != rooms[i] || now.Request != nil {
				t.Errorf("refused %v: date %d is in %s and waits: %v", refused, i, now.RoomNames[0], now.Request)
			}
		}
	}
}

func TestSeries_cancelledStaysAsItIs(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=2", w.desk))
	if _, err := w.series.Cancel(t.Context(), w.ann, r.Series.ID, nil, meeting.ScopeAll, nil, ""); err != nil {
		t.Fatal(err)
	}
	for _, f := range []series.Fields{{Fields: booking.Fields{Title: new("Again")}}, {Rule: new("FREQ=WEEKLY;COUNT=5")}} {
		_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, f)
		state(t, err, meeting.Cancelled)
	}
	if _, err := w.series.AddDate(t.Context(), w.ann, r.Series.ID, nil, new(clock.Parse("2027-02-18T10:00:00")), ""); err != nil {
		t.Fatal(err)
	}
	w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Title: new("Again")}})
	same(t, "dates", w.look(t, r.Series.ID), []string{"02-11 10:00 Weekly cancelled", "02-18 10:00 Weekly cancelled", "02-18 10:00 Again confirmed"})
}

// Coming dates that the series has not are told, each with its reason, and may be added again.
func TestSeries_absent(t *testing.T) {
	w := newWorld(t)
	w.take(t, "2027-02-25", w.desk)
	f := w.weekly("FREQ=WEEKLY;COUNT=6", w.desk)
	f.OnConflict, f.ExDates = meeting.SkipOnConflict, dates("2027-02-18", "2027-03-04T10:00:00")
	r := w.bookSeries(t, w.ann, f)
	if _, err := w.Cancel(t.Context(), w.ann, r.Meetings[1].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	absent := func() (all []string) {
		t.Helper()
		state, err := w.series.Series(t.Context(), w.ann, r.Series.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range state.Absent {
			all = append(all, d.OriginalStart.Format("01-02 ")+d.Reason)
		}
		return all
	}
	same(t, "absent", absent(), []string{"02-18 left_out", "02-25 skipped", "03-04 left_out", "03-11 cancelled"})
	for _, day := range []string{"2027-03-04", "2027-03-11"} {
		if _, err := w.series.AddDate(t.Context(), w.ann, r.Series.ID, nil, new(clock.Parse(day+"T10:00:00")), ""); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "two are there again", absent(), []string{"02-18 left_out", "02-25 skipped"})
	_, err := w.series.AddDate(t.Context(), w.ann, r.Series.ID, nil, new(clock.Parse("2027-02-25T10:00:00")), "")
	if _, ok := errors.AsType[*meeting.SeriesConflictError](err); !ok {
		t.Errorf("what is taken: %v", err)
	}
	_, err = w.series.AddDate(t.Context(), w.ann, r.Series.ID, nil, new(clock.Parse("2027-02-26T10:00:00")), "")
	if _, ok := errors.AsType[*meeting.InvalidError](err); !ok {
		t.Errorf("what is no date of the rule: %v", err)
	}
	w.at = time.Date(2027, 2, 20, 12, 0, 0, 0, time.UTC)
	same(t, "what has passed is not told", absent(), []string{"02-25 skipped"})
	_, err = w.series.AddDate(t.Context(), w.ann, r.Series.ID, nil, new(clock.Parse("2027-02-18T10:00:00")), "")
	if _, ok := errors.AsType[*meeting.SeriesConflictError](err); !ok {
		t.Errorf("what has passed: %v", err)
	}
}
