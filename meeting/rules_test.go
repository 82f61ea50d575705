package meeting

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// utc reads "2027-02-10T09:00".
func utc(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := ParseTime(s, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestRoom_checkStep(t *testing.T) {
	tests := []struct {
		name       string
		zone       string
		step       time.Duration
		start, end string // UTC
		endOnly    bool
		want       []string
	}{
		{"none", "UTC", 0, "2027-02-10T09:07", "2027-02-10T09:08", false, nil},
		{"on the grid", "UTC", 15 * time.Minute, "2027-02-10T09:15", "2027-02-10T10:00", false, nil},
		{"the start", "UTC", 15 * time.Minute, "2027-02-10T09:05", "2027-02-10T10:00", false, []string{"body.start step"}},
		{"both ends", "UTC", 15 * time.Minute, "2027-02-10T09:05", "2027-02-10T10:05", false, []string{"body.start step", "body.end step"}},
		{"a second", "UTC", 15 * time.Minute, "2027-02-10T09:00:01", "2027-02-10T10:00", false, []string{"body.start step"}},
		{"an agreed start", "UTC", 15 * time.Minute, "2027-02-10T09:05", "2027-02-10T10:00", true, nil},
		{"the new end of it", "UTC", 15 * time.Minute, "2027-02-10T09:05", "2027-02-10T10:05", true, []string{"body.end step"}},
		{"by the room's clock", "Asia/Kolkata", time.Hour, "2027-02-10T09:30", "2027-02-10T10:30", false, nil},
		{"and not by UTC", "Asia/Kolkata", time.Hour, "2027-02-10T09:00", "2027-02-10T10:00", false, []string{"body.start step", "body.end step"}},
		{"a day of 23 hours", "Europe/Berlin", 24 * time.Hour, "2027-03-27T23:00", "2027-03-28T22:00", false, nil},
		{"midnight is skipped", "Africa/Cairo", 24 * time.Hour, "2027-04-28T22:00", "2027-04-29T22:00", false, nil},
		{"an hour behind that", "Africa/Cairo", 24 * time.Hour, "2027-04-28T22:00", "2027-04-29T23:00", false, []string{"body.end step"}},
		{"a day of 25 hours", "Europe/Berlin", 12 * time.Hour, "2027-10-30T22:00", "2027-10-31T23:00", false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Room{ID: 7, Name: "Turing", Zone: tt.zone, Policy: Policy{Step: tt.step}}
			var v faults
			w := Wish{Slot: Slot{utc(t, tt.start), utc(t, tt.end)}}
			if tt.endOnly {
				w.Agreed = &Agreed{End: w.Slot.End.Add(time.Hour)}
			}
			r.checkStep(w, &v)
			var got []string
			for _, f := range v {
				got = append(got, f.Location+" "+f.Code)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A program reads from each broken rule what is allowed and what it asked for.
func TestRoom_Check_figures(t *testing.T) {
	now := utc(t, "2027-02-10T12:00")
	closed := Slot{utc(t, "2027-02-11T00:00"), utc(t, "2027-02-12T00:00")}
	r := Room{
		ID: 7, Name: "Turing", Zone: "Europe/Berlin", Active: true, Capacity: 2,
		Policy: Policy{
			OpeningHours: []OpeningHours{{[]string{"MO", "TU"}, "08:00", "20:00"}},
			MaxDuration:  time.Hour, MaxAdvance: 2 * time.Hour, Step: 15 * time.Minute,
		},
		Blackouts: []Blackout{{ID: 5, RoomID: 7, Slot: closed, Reason: "paint"}},
	}
	got := map[string]Figures{}
	for _, f := range r.Check(Wish{Slot: Slot{utc(t, "2027-02-11T09:05"), utc(t, "2027-02-11T11:15")}, Persons: 3, Now: now}, Limits{}) {
		got[f.Code] = f.Figures
	}
	same(t, "figures", got, map[string]Figures{
		"capacity":      {RoomID: 7, Limit: 2, Actual: 3},
		"max_duration":  {RoomID: 7, Limit: "1h", Actual: "2h10m"},
		"max_advance":   {RoomID: 7, Limit: "2h", Actual: "21h5m"},
		"step":          {RoomID: 7, Limit: "15m", Actual: "10:05"},
		"opening_hours": {RoomID: 7, Limit: "MO TU 08:00-20:00", Actual: "2027-02-11 10:05 to 2027-02-11 12:15"},
		"blackout":      {RoomID: 7, Span: closed, BlackoutID: 5, Reason: "paint"},
	})
	free := Room{ID: 7, Zone: "UTC", Active: true, Policy: Policy{MaxDuration: 3 * time.Hour, MaxAdvance: 3 * time.Hour}}
	for _, f := range free.Check(Wish{Slot: Slot{utc(t, "2027-02-10T14:00"), utc(t, "2027-02-10T16:00")}, Now: now}, Limits{MaxDuration: time.Hour, MaxAdvance: time.Hour}) {
		same(t, "of the installation, "+f.Code, f.Figures, Figures{Limit: "1h", Actual: "2h"})
	}
	past := r.Check(Wish{Slot: Slot{utc(t, "2027-02-09T09:00"), utc(t, "2027-02-09T09:30")}, Now: now}, Limits{})
	same(t, "past", past[0].Figures, Figures{Limit: "2027-02-10T12:00:00Z", Actual: "2027-02-09T09:00:00Z"})
}

func TestQuota_periods(t *testing.T) {
	tests := []struct {
		name, zone, per string
		from, to        string
		want            string // days in the zone
	}{
		{"a day", "UTC", PerDay, "2027-02-10T09:00", "2027-02-10T10:00", "02-10"},
		{"until midnight", "UTC", PerDay, "2027-02-10T09:00", "2027-02-11T00:00", "02-10"},
		{"across midnight", "UTC", PerDay, "2027-02-10T22:00", "2027-02-11T02:00", "02-10 02-11"},
		{"across the room's midnight", "Europe/Berlin", PerDay, "2027-02-10T22:00", "2027-02-10T23:30", "02-10 02-11"},
		{"weeks begin on Monday", "UTC", PerWeek, "2027-02-14T23:00", "2027-02-15T01:00", "02-08 02-15"},
		{"a Sunday belongs to the week before", "UTC", PerWeek, "2027-02-14T09:00", "2027-02-14T10:00", "02-08"},
		{"months", "UTC", PerMonth, "2027-01-31T22:00", "2027-02-01T01:00", "01-01 02-01"},
		{"midnight that is skipped", "America/Santiago", PerDay, "2027-09-05T03:30", "2027-09-05T04:30", "09-04 09-05"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loc := mustZone(tt.zone)
			var got []string
			for _, p := range (&Quota{Per: tt.per}).periods(Slot{utc(t, tt.from), utc(t, tt.to)}, loc) {
				got = append(got, p.Start.In(loc).Format("01-02"))
			}
			same(t, "periods", strings.Join(got, " "), tt.want)
		})
	}
}

func TestClaim_Check(t *testing.T) {
	slot := func(from, to string) Slot { return Slot{utc(t, from), utc(t, to)} }
	tests := []struct {
		name   string
		quota  Quota
		wanted Slot
		had    Slot
		others []Slot
		want   []Figures // without room and period
	}{
		{"the last one", Quota{PerDay, 2, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), Slot{}, []Slot{slot("2027-02-10T11:00", "2027-02-10T12:00")}, nil},
		{"one too many", Quota{PerDay, 1, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), Slot{}, []Slot{slot("2027-02-10T11:00", "2027-02-10T12:00")},
			[]Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerDay}}},
		{"another day", Quota{PerDay, 1, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), Slot{}, []Slot{slot("2027-02-11T11:00", "2027-02-11T12:00")}, nil},
		{"a night counts on both days", Quota{PerDay, 1, 0}, slot("2027-02-11T09:00", "2027-02-11T10:00"), Slot{}, []Slot{slot("2027-02-10T22:00", "2027-02-11T02:00")},
			[]Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerDay}}},
		{"with its hours of that day", Quota{PerDay, 0, 3 * time.Hour}, slot("2027-02-11T09:00", "2027-02-11T10:00"), Slot{}, []Slot{slot("2027-02-10T20:00", "2027-02-11T02:00")}, nil},
		{"and no more", Quota{PerDay, 0, 3 * time.Hour}, slot("2027-02-11T09:00", "2027-02-11T10:01"), Slot{}, []Slot{slot("2027-02-10T20:00", "2027-02-11T02:00")},
			[]Figures{{Limit: "3h", Used: "2h", Actual: "3h1m", Per: PerDay}}},
		{"in each period", Quota{PerDay, 0, time.Hour}, slot("2027-02-10T22:00", "2027-02-11T02:00"), Slot{}, nil,
			[]Figures{{Limit: "1h", Used: "0s", Actual: "2h", Per: PerDay}, {Limit: "1h", Used: "0s", Actual: "2h", Per: PerDay}}},
		{"count and length", Quota{PerWeek, 1, time.Hour}, slot("2027-02-10T09:00", "2027-02-10T10:00"), Slot{}, []Slot{slot("2027-02-11T09:00", "2027-02-11T09:30")},
			[]Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerWeek}, {Limit: "1h", Used: "30m", Actual: "1h30m", Per: PerWeek}}},
		{"a move within the week, over a quota that was lowered", Quota{PerWeek, 1, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), slot("2027-02-11T09:00", "2027-02-11T10:00"),
			[]Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, nil},
		{"a move into the week", Quota{PerWeek, 1, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), slot("2027-02-18T09:00", "2027-02-18T10:00"),
			[]Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, []Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerWeek}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Claim{RoomID: 7, room: &Room{ID: 7, Name: "Turing", Zone: "UTC", Policy: Policy{Quota: &tt.quota}}, wanted: tt.wanted, had: tt.had}
			var got []Figures
			for _, f := range c.Check(tt.others) {
				if f.Code != "quota" || f.Figures.RoomID != 7 || f.Figures.Span.Start.IsZero() {
					t.Errorf("fault %+v", f)
				}
				f.Figures.RoomID, f.Figures.Span = 0, Slot{}
				got = append(got, f.Figures)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Who asks for a year of days is told of some of them.
func TestClaim_Check_tellsSome(t *testing.T) {
	room := &Room{ID: 7, Zone: "UTC", Policy: Policy{Quota: &Quota{Per: PerDay, Duration: time.Hour}}}
	c := Claim{RoomID: 7, room: room, wanted: Slot{utc(t, "2027-01-01T00:00"), utc(t, "2027-12-31T00:00")}}
	same(t, "told", len(c.Check(nil)), toldPeriods)
}

// broken are the codes of a refusal's violations.
func broken(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*PolicyError](err)
	if !ok {
		t.Fatalf("got %v, want a policy error", err)
	}
	var out []string
	for _, f := range e.Violations {
		out = append(out, f.Code)
	}
	return out
}

func TestService_quota(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, RoomFields{Name: new("Lab"), Quota: &Quota{Per: PerDay, Count: 2}})
	day := func(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }
	first := w.book(t, w.ann, w.fields(day(1), lab))
	w.book(t, w.ann, w.fields(day(1)+time.Hour, lab))
	_, err := w.Book(t.Context(), w.ann, w.fields(day(1)+2*time.Hour, lab))
	same(t, "a third", broken(t, err), []string{"quota"})
	w.book(t, w.bob, w.fields(day(1)+2*time.Hour, lab)) // has a quota of his own
	other := w.book(t, w.ann, w.fields(day(2), lab))

	at := func(in time.Duration) Fields {
		return Fields{Start: new(w.at.Add(in).Format(time.RFC3339)), End: new(w.at.Add(in + time.Hour).Format(time.RFC3339))}
	}
	_, err = w.Update(t.Context(), w.ann, other.ID, nil, at(day(1)+4*time.Hour))
	same(t, "a move into a full day", broken(t, err), []string{"quota"})
	if _, err := w.Update(t.Context(), w.ann, first.ID, nil, at(day(1)+4*time.Hour)); err != nil {
		t.Errorf("a move within the day: %v", err)
	}
	if _, err := w.Cancel(t.Context(), w.ann, first.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.ann, other.ID, nil, at(day(1)+4*time.Hour)); err != nil {
		t.Errorf("a place was free again: %v", err)
	}

	elsewhere := w.book(t, w.ann, w.fields(day(1)+7*time.Hour, w.desk))
	_, err = w.Update(t.Context(), w.ann, elsewhere.ID, nil, Fields{RoomIDs: &[]int64{lab.ID}})
	same(t, "into the room, at its time", broken(t, err), []string{"quota"})

	// With another rule broken, both are told; also of a move.
	third := w.book(t, w.ann, w.fields(day(5), lab))
	long := at(day(1) + 8*time.Hour)
	long.End = new(w.at.Add(day(3)).Format(time.RFC3339))
	_, err = w.Update(t.Context(), w.ann, third.ID, nil, long)
	same(t, "a long move", broken(t, err), []string{"max_duration", "quota"})
	f := w.fields(day(1)+6*time.Hour, lab)
	f.End = new(w.at.Add(day(3)).Format(time.RFC3339))
	_, err = w.Book(t.Context(), w.ann, f)
	same(t, "all at once", broken(t, err), []string{"max_duration", "quota"})
}

// Whatever the rules allow and an admin passes over, nothing is longer than a year.
func TestService_longest(t *testing.T) {
	w := newWorld(t)
	open := w.room(t, RoomFields{Name: new("Lab"), OpeningHours: &[]OpeningHours{{weekdays, "00:00", "24:00"}}, Quota: &Quota{Per: PerDay, Count: 1}})
	f := w.fields(time.Hour, open)
	f.Override = &Override{Reason: "for ever"}
	f.End = new(w.at.Add(time.Hour + maxLength).Format(time.RFC3339))
	m := w.book(t, w.root, f)
	longer := Fields{End: new("9999-12-31T00:00:00Z"), Override: f.Override}
	for name, err := range map[string]error{
		"a booking":    func() error { f.End = longer.End; _, err := w.Book(t.Context(), w.root, f); return err }(),
		"a change":     func() error { _, err := w.Update(t.Context(), w.root, m.ID, nil, longer); return err }(),
		"an extension": func() error { _, err := w.Extend(t.Context(), w.root, m.ID, nil, longer); return err }(),
		"a series": func() error {
			_, err := w.PreviewSeries(t.Context(), w.root, SeriesFields{Fields: f, Rule: new("FREQ=DAILY;COUNT=1")})
			return err
		}(),
	} {
		e, ok := errors.AsType[*InvalidError](err)
		if !ok || !slices.Contains(codes(e.Faults), "body.end too_long") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := w.Availability(t.Context(), w.ann, AvailabilityQuery{Slot: Slot{w.at, w.at.Add(maxLength + time.Second)}}, Page{})
	if e, ok := errors.AsType[*InvalidError](err); !ok || e.Faults[0].Code != "invalid_span" {
		t.Errorf("availability: %v", err)
	}
}

// A room that stays with a meeting is not judged again; one that comes is.
func TestService_roomsThatStay(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, RoomFields{Name: new("Lab")})
	m := w.book(t, w.ann, w.fields(time.Hour, lab, w.desk))
	hours := func(notice time.Duration) RoomFields { return RoomFields{MinNotice: &notice} }
	for _, r := range []*Room{lab, w.desk} {
		if _, err := w.UpdateRoom(t.Context(), w.root, r.ID, nil, hours(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, Fields{RoomIDs: &[]int64{lab.ID}}); err != nil {
		t.Errorf("a room is given back: %v", err)
	}
	_, err := w.Update(t.Context(), w.ann, m.ID, nil, Fields{RoomIDs: &[]int64{lab.ID, w.desk.ID}})
	e, ok := errors.AsType[*PolicyError](err)
	if !ok || len(e.Violations) != 1 || e.Violations[0].Figures.RoomID != w.desk.ID {
		t.Errorf("and taken again: %v", err)
	}
	_, err = w.Update(t.Context(), w.ann, m.ID, nil, Fields{Start: new(m.Slot.Start.Add(time.Minute).Format(time.RFC3339))})
	same(t, "a move", broken(t, err), []string{"min_notice"})
}

// A request counts from when it takes its slot.
func TestService_quotaOfRequests(t *testing.T) {
	w := newWorld(t)
	w.settings.HoldPending = false
	lab := w.room(t, RoomFields{Name: new("Lab"), Quota: &Quota{Per: PerDay, Count: 1}, ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
	first := w.book(t, w.ann, w.fields(24*time.Hour, lab))
	second := w.book(t, w.ann, w.fields(26*time.Hour, lab))
	if _, err := w.Approve(t.Context(), w.mona, second.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	_, err := w.Approve(t.Context(), w.mona, first.ID, nil, "")
	same(t, "the other", broken(t, err), []string{"quota"})
	w.settings.OnTimeout = Confirmed
	outcome, err := w.ExpireApproval(t.Context(), Ref{first.ID, first.ScheduleVersion})
	if m := w.store.meetings[first.ID]; err != nil || outcome != Applied || m.Status != Rejected {
		t.Errorf("on its time-out: %v, %v, %v", outcome, err, m.Status)
	}
}

func TestService_blackout(t *testing.T) {
	w := newWorld(t)
	site, err := w.CreateSite(t.Context(), w.root, SiteFields{Name: new("Berlin")})
	if err != nil {
		t.Fatal(err)
	}
	lab := w.room(t, RoomFields{Name: new("Lab"), SiteID: &site.ID})
	held := w.book(t, w.ann, w.fields(2*time.Hour, lab))
	if _, _, err := w.CreateBlackout(t.Context(), w.mona, BlackoutFields{}); !errors.Is(err, ErrForbidden) {
		t.Errorf("a manager: %v", err)
	}
	fields := BlackoutFields{
		SiteID: &site.ID, Reason: new("no power"),
		Start: new(w.at.Add(2 * time.Hour).Format(time.RFC3339)), End: new(w.at.Add(4 * time.Hour).Format(time.RFC3339)),
	}
	b, affected, err := w.CreateBlackout(t.Context(), w.root, fields)
	if err != nil || len(affected) != 1 || affected[0].ID != held.ID {
		t.Fatalf("%v, affected %v", err, affected)
	}
	if m := w.store.meetings[held.ID]; m.Status != Confirmed {
		t.Errorf("what is booked is now %s", m.Status)
	}
	_, err = w.Book(t.Context(), w.bob, w.fields(3*time.Hour, lab, w.desk))
	same(t, "a booking", broken(t, err), []string{"blackout"})
	// One of a room without a site is not one of all such rooms.
	_, _, err = w.CreateBlackout(t.Context(), w.root, BlackoutFields{RoomID: &w.desk.ID, Start: fields.Start, End: fields.End})
	if err != nil {
		t.Fatal(err)
	}
	other := w.room(t, RoomFields{Name: new("Other")})
	_, _, err = w.CreateBlackout(t.Context(), w.root, BlackoutFields{RoomID: &other.ID, Start: new(w.at.Add(90 * time.Hour).Format(time.RFC3339)), End: new(w.at.Add(91 * time.Hour).Format(time.RFC3339))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Book(t.Context(), w.bob, w.fields(3*time.Hour, w.desk, other))
	same(t, "two rooms, of which one is closed", broken(t, err), []string{"blackout"})
	before := w.book(t, w.bob, w.fields(time.Hour, lab)) // ends as it begins
	_, err = w.Update(t.Context(), w.bob, before.ID, nil, Fields{End: new(w.at.Add(5 * time.Hour).Format(time.RFC3339))})
	same(t, "a longer one", broken(t, err), []string{"blackout"})
	// The meeting in the way may end sooner, get another title and leave.
	if _, err := w.Update(t.Context(), w.ann, held.ID, nil, Fields{Title: new("Short"), End: new(w.at.Add(150 * time.Minute).Format(time.RFC3339))}); err != nil {
		t.Error(err)
	}
	busy, err := w.FreeBusy(t.Context(), w.bob, lab.ID, Slot{w.at, w.at.Add(24 * time.Hour)})
	if err != nil || len(busy) != 3 || !slices.ContainsFunc(busy, func(b Busytime) bool { return b.Blackout != nil && b.Blackout.Reason == "no power" }) {
		t.Errorf("free-busy %+v, %v", busy, err)
	}
	if r, err := w.Room(t.Context(), lab.ID); err != nil || len(r.Blackouts) != 1 {
		t.Errorf("the room shows %+v, %v", r, err)
	}
	if _, _, err := w.UpdateBlackout(t.Context(), w.mona, b.ID, nil, BlackoutFields{Reason: new("hers")}); !errors.Is(err, ErrForbidden) {
		t.Errorf("a manager changes it: %v", err)
	}
	if err := w.DeleteBlackout(t.Context(), w.mona, b.ID, nil); !errors.Is(err, ErrForbidden) {
		t.Errorf("a manager deletes it: %v", err)
	}
	if same, _, err := w.UpdateBlackout(t.Context(), w.root, b.ID, &b.Version, BlackoutFields{Reason: &b.Reason}); err != nil || same.Version != b.Version {
		t.Errorf("nothing new, and another version: %+v, %v", same, err)
	}
	if _, _, err := w.UpdateBlackout(t.Context(), w.root, b.ID, new(int64(7)), fields); err == nil {
		t.Error("another version was changed")
	}
	if err := w.DeleteBlackout(t.Context(), w.root, b.ID, &b.Version); err != nil {
		t.Fatal(err)
	}
	w.book(t, w.bob, w.fields(3*time.Hour, lab))
}

// A meeting that waits to move into a blackout is in its way, where it waits for that.
func TestService_blackoutOfMoves(t *testing.T) {
	w := newWorld(t)
	site, err := w.CreateSite(t.Context(), w.root, SiteFields{Name: new("Berlin")})
	if err != nil {
		t.Fatal(err)
	}
	hall := w.room(t, RoomFields{Name: new("Hall"), SiteID: &site.ID, ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
	at := func(in time.Duration) *string { return new(w.at.Add(in).Format(time.RFC3339)) }
	m := w.book(t, w.ann, w.fields(2*time.Hour, w.desk))
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, Fields{RoomIDs: &[]int64{hall.ID}, Start: at(20 * time.Hour), End: at(22 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		of       BlackoutFields
		from, to time.Duration
		want     int
	}{
		{"of the room", BlackoutFields{RoomID: &hall.ID}, 21 * time.Hour, 23 * time.Hour, 1},
		{"of its site", BlackoutFields{SiteID: &site.ID}, 21 * time.Hour, 23 * time.Hour, 1},
		{"later", BlackoutFields{RoomID: &hall.ID}, 22 * time.Hour, 23 * time.Hour, 0},
		{"where it is, then", BlackoutFields{RoomID: &w.desk.ID}, 21 * time.Hour, 23 * time.Hour, 0},
		{"both", BlackoutFields{RoomID: &w.desk.ID}, time.Hour, 23 * time.Hour, 1},
	} {
		tt.of.Start, tt.of.End = at(tt.from), at(tt.to)
		_, affected, err := w.CreateBlackout(t.Context(), w.root, tt.of)
		if err != nil || len(affected) != tt.want {
			t.Errorf("%s: %d in the way, %v", tt.name, len(affected), err)
		}
	}
	again := BlackoutFields{RoomID: &hall.ID, Start: at(20 * time.Hour), End: at(22 * time.Hour)}
	w.at = w.at.Add(2 * time.Hour) // it begins where it is, whether or not the timer has said so
	if _, affected, err := w.CreateBlackout(t.Context(), w.root, again); err != nil || len(affected) != 0 {
		t.Errorf("what does not wait any more: %v, %v", affected, err)
	}
	w.at = w.at.Add(-2 * time.Hour)
	if _, err := w.Reject(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	_, affected, err := w.CreateBlackout(t.Context(), w.root, again)
	if err != nil || len(affected) != 0 {
		t.Errorf("it does not move: %v, %v", affected, err)
	}
}

// Rules of a room that leave nothing to book are refused, with the place.
func TestService_rulesThatContradict(t *testing.T) {
	w := newWorld(t)
	r := w.room(t, RoomFields{Name: new("Lab"), Step: new(time.Hour), MinDuration: new(30 * time.Minute)})
	day := OpeningHours{[]string{"MO"}, "08:00", "20:00"}
	for _, tt := range []struct {
		name string
		f    RoomFields
		want []string
	}{
		{"no step fits", RoomFields{MaxDuration: new(45 * time.Minute)}, []string{"body.policy.step contradiction"}},
		{"none in between", RoomFields{MinDuration: new(70 * time.Minute), MaxDuration: new(110 * time.Minute)}, []string{"body.policy.step contradiction"}},
		{"just one", RoomFields{MinDuration: new(60 * time.Minute), MaxDuration: new(60 * time.Minute)}, nil},
		{"one is not a multiple of the other", RoomFields{MinDuration: new(70 * time.Minute), MaxDuration: new(125 * time.Minute)}, nil},
		{"the same day twice", RoomFields{OpeningHours: &[]OpeningHours{{[]string{"MO", "TU", "MO"}, "08:00", "20:00"}}}, []string{"body.policy.opening_hours[0].days[2] duplicate"}},
		{"two spans a day", RoomFields{OpeningHours: &[]OpeningHours{day, day}}, nil},
		{"ends that are no times", RoomFields{OpeningHours: &[]OpeningHours{{day.Days, "24:00", "06:00"}}}, []string{"body.policy.opening_hours[0].from invalid_time"}},
		{"a quota of nothing", RoomFields{Quota: &Quota{Count: 2}}, []string{"body.policy.quota.per required"}},
		{"a quota of less", RoomFields{Quota: &Quota{Per: PerDay, Count: -1}}, []string{"body.policy.quota.count out_of_range"}},
		{"a step that does not divide a day", RoomFields{Step: new(7 * time.Hour), MaxDuration: new(time.Duration(0))}, []string{"body.policy.step contradiction"}},
		{"longest before shortest", RoomFields{MinDuration: new(3 * time.Hour), MaxDuration: new(2 * time.Hour)}, []string{"body.policy.min_duration contradiction"}},
		{"notice beyond the window", RoomFields{MinNotice: new(2 * time.Hour), MaxAdvance: new(time.Hour)}, []string{"body.policy.min_notice contradiction"}},
	} {
		_, err := w.UpdateRoom(t.Context(), w.root, r.ID, nil, tt.f)
		var got []string
		if e, ok := errors.AsType[*InvalidError](err); ok {
			got = codes(e.Faults)
		} else if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A blackout that is made while a booking is under way makes it be judged again.
func TestService_blackoutMeanwhile(t *testing.T) {
	w := newWorld(t)
	inner := w.Service.directory
	w.Service.directory = between{inner, func() {
		w.Service.directory = inner
		_, _, err := w.CreateBlackout(t.Context(), w.root, BlackoutFields{
			RoomID: &w.board.ID, Start: new(w.at.Format(time.RFC3339)), End: new(w.at.Add(24 * time.Hour).Format(time.RFC3339)),
		})
		if err != nil {
			t.Error(err)
		}
	}}
	_, err := w.Book(t.Context(), w.ann, w.fields(time.Hour, w.board)) // asks for mona between judging and saving
	same(t, "refused", broken(t, err), []string{"blackout"})
}

// between does something when people are looked up.
type between struct {
	Directory
	do func()
}

func (d between) People(ctx context.Context, ids []int64) ([]Person, error) {
	d.do()
	return d.Directory.People(ctx, ids)
}

func TestService_override(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, RoomFields{Name: new("Lab"), MaxDuration: new(30 * time.Minute), Quota: &Quota{Per: PerDay, Count: 1}})
	f := w.fields(24*time.Hour, lab)
	_, err := w.Book(t.Context(), w.root, f)
	same(t, "an admin without", broken(t, err), []string{"max_duration"})
	f.Override = &Override{Reason: " the board comes "}
	for _, by := range []Actor{w.ann, w.mona} {
		if _, err := w.Book(t.Context(), by, f); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", by.Name, err)
		}
	}
	m := w.book(t, w.root, f)
	e := w.store.history[m.ID][0]
	if rules, ok := e.Changes["override"].To.([]BrokenRule); !ok || e.Reason != "the board comes" || len(rules) != 1 || rules[0].Code != "max_duration" || rules[0].Limit != "30m" {
		t.Errorf("history %+v", e)
	}
	var conflict *ConflictError
	if _, err := w.Book(t.Context(), w.root, f); !errors.As(err, &conflict) {
		t.Errorf("what is taken stays taken: %v", err)
	}
	late := w.fields(26*time.Hour, lab)
	late.Override = &Override{Reason: "again"}
	second := w.book(t, w.root, late)
	if rules := w.store.history[second.ID][0].Changes["override"].To.([]BrokenRule); len(rules) != 2 || rules[1].Code != "quota" {
		t.Errorf("rules %+v", rules)
	}
	short := w.fields(28*time.Hour, lab)
	short.End, short.Override = new(w.at.Add(28*time.Hour+20*time.Minute).Format(time.RFC3339)), late.Override
	third := w.book(t, w.root, short)
	if rules := w.store.history[third.ID][0].Changes["override"].To.([]BrokenRule); len(rules) != 1 || rules[0].Code != "quota" {
		t.Errorf("the quota alone: %+v", rules)
	}
	elsewhere := w.fields(100*time.Hour, lab)
	elsewhere.End = new(w.at.Add(100*time.Hour + 20*time.Minute).Format(time.RFC3339))
	moved := w.book(t, w.root, elsewhere)
	_, err = w.Update(t.Context(), w.root, moved.ID, nil, Fields{
		Start: new(w.at.Add(30 * time.Hour).Format(time.RFC3339)), End: new(w.at.Add(30*time.Hour + 20*time.Minute).Format(time.RFC3339)), Override: late.Override,
	})
	es := w.store.history[moved.ID]
	if rules, ok := es[len(es)-1].Changes["override"].To.([]BrokenRule); err != nil || !ok || len(rules) != 1 || rules[0].Code != "quota" {
		t.Errorf("the quota alone, of a move: %v, %+v", err, es[len(es)-1])
	}
	_, err = w.Book(t.Context(), w.root, Fields{Override: &Override{}})
	if e, ok := errors.AsType[*InvalidError](err); !ok || !slices.ContainsFunc(e.Faults, func(f Fault) bool { return f.Location == "body.override.reason" }) {
		t.Errorf("without a reason: %v", err)
	}
	longer, err := w.Update(t.Context(), w.root, m.ID, nil, Fields{End: new(m.Slot.End.Add(time.Minute).Format(time.RFC3339)), Override: &Override{Reason: "longer"}})
	if err != nil || longer.Slot.Duration() != 61*time.Minute {
		t.Fatalf("%+v, %v", longer, err)
	}
	entries := w.store.history[m.ID]
	if last := entries[len(entries)-1]; last.Action != ActionChanged || last.Reason != "longer" || last.Changes["override"].To == nil || last.Changes["end"].To == nil {
		t.Errorf("history %+v", last)
	}
}

// An override neither books nor changes what is over, and what is taken stays taken. What has
// begun it may book; nobody has to have checked in to that before.
func TestService_overrideOfThePast(t *testing.T) {
	w := newWorld(t)
	watched := w.room(t, RoomFields{Name: new("Lab"), CheckInRequired: new(true), CheckInGrace: new(10 * time.Minute)})
	o := &Override{Reason: "they are there"}
	begun := w.fields(-time.Hour, watched)
	begun.End = new(w.at.Add(time.Hour).Format(time.RFC3339))
	_, err := w.Book(t.Context(), w.root, begun)
	same(t, "without", broken(t, err), []string{"in_past"})
	begun.Override = o
	m := w.book(t, w.root, begun)
	same(t, "status", m.Status, InProgress)
	over := w.fields(-2*time.Hour, w.desk)
	over.Override = o
	_, err = w.Book(t.Context(), w.root, over)
	same(t, "what is over", broken(t, err), []string{"in_past"})
	_, err = w.Update(t.Context(), w.root, m.ID, nil, Fields{End: new(w.at.Add(-time.Minute).Format(time.RFC3339)), Override: o})
	same(t, "an end that has passed", broken(t, err), []string{"in_past"})
	_, err = w.BookSeries(t.Context(), w.root, SeriesFields{Fields: over, Rule: new("FREQ=DAILY;COUNT=2")})
	if e, ok := errors.AsType[*SeriesConflictError](err); !ok || len(e.Dates) != 1 || e.Dates[0].Reason != "in_past" {
		t.Errorf("a series that began: %v", err)
	}
}

// Buffers that have grown do not reach from what is booked over its neighbours.
func TestService_buffersThatGrow(t *testing.T) {
	w := newWorld(t)
	hour := func(n int) string { return w.at.Add(time.Duration(n) * time.Hour).Format(time.RFC3339) }
	lab := w.room(t, RoomFields{Name: new("Lab"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
	book := func(from, to int) *Meeting {
		t.Helper()
		f := w.fields(time.Hour, lab)
		f.Start, f.End = new(hour(from)), new(hour(to))
		return w.book(t, w.mona, f)
	}
	book(9, 10)
	m := book(10, 12)
	book(12, 13)
	book(15, 16)
	if _, err := w.UpdateRoom(t.Context(), w.root, lab.ID, nil, RoomFields{BufferBefore: new(20 * time.Minute), BufferAfter: new(20 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, Fields{End: new(w.at.Add(12*time.Hour - 10*time.Minute).Format(time.RFC3339))}); err != nil {
		t.Errorf("a little shorter: %v", err)
	}
	same(t, "it holds", w.store.meetings[m.ID].Occupied[0].Slot, Slot{w.at.Add(10 * time.Hour), w.at.Add(12 * time.Hour)})
	var conflict *ConflictError
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, Fields{End: new(hour(12))}); !errors.As(err, &conflict) {
		t.Errorf("longer again, over the buffer: %v", err)
	}
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, Fields{End: new(hour(11))}); err != nil {
		t.Errorf("an hour shorter: %v", err)
	}
	same(t, "and the new buffer", w.store.meetings[m.ID].Occupied[0].Slot, Slot{w.at.Add(10 * time.Hour), w.at.Add(11*time.Hour + 20*time.Minute)})
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, Fields{Start: new(w.at.Add(10*time.Hour + 10*time.Minute).Format(time.RFC3339))}); !errors.As(err, &conflict) {
		t.Errorf("another start has the new buffer: %v", err)
	}

	// The same of a change that waits for a decision.
	f := w.fields(time.Hour, lab)
	f.Start, f.End = new(hour(16)), new(hour(18))
	if _, err := w.Book(t.Context(), w.ann, f); !errors.As(err, &conflict) {
		t.Errorf("a new one next to another: %v", err)
	}
	if _, err := w.UpdateRoom(t.Context(), w.root, lab.ID, nil, RoomFields{BufferBefore: new(time.Duration(0)), BufferAfter: new(time.Duration(0))}); err != nil {
		t.Fatal(err)
	}
	theirs := w.book(t, w.ann, f)
	if _, err := w.Approve(t.Context(), w.mona, theirs.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.UpdateRoom(t.Context(), w.root, lab.ID, nil, RoomFields{BufferBefore: new(20 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.ann, theirs.ID, nil, Fields{End: new(hour(17))}); err != nil {
		t.Fatalf("asked to end sooner: %v", err)
	}
	if _, err := w.Approve(t.Context(), w.mona, theirs.ID, nil, ""); err != nil {
		t.Errorf("agreed to that: %v", err)
	}
	same(t, "in the end", w.store.meetings[theirs.ID].Occupied[0].Slot, Slot{w.at.Add(16 * time.Hour), w.at.Add(17 * time.Hour)})
}

// A request for what somebody has is refused at once, even where requests take nothing.
func TestService_requestForWhatIsTaken(t *testing.T) {
	w := newWorld(t)
	w.settings.HoldPending = false
	w.book(t, w.ann, w.fields(24*time.Hour, w.board))
	free := w.book(t, w.bob, w.fields(24*time.Hour, w.board)) // two may ask
	w.book(t, w.mona, w.fields(24*time.Hour, w.board))
	var conflict *ConflictError
	if _, err := w.Book(t.Context(), w.ann, w.fields(24*time.Hour, w.board)); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 {
		t.Errorf("a new request: %v", err)
	}
	other := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
	_, err := w.Update(t.Context(), w.ann, other.ID, nil, Fields{Start: new(w.at.Add(24 * time.Hour).Format(time.RFC3339)), End: new(w.at.Add(25 * time.Hour).Format(time.RFC3339))})
	if !errors.As(err, &conflict) {
		t.Errorf("a request that moves there: %v", err)
	}
	if _, err := w.Update(t.Context(), w.bob, free.ID, nil, Fields{Title: new("Still waiting")}); err != nil {
		t.Errorf("a new title takes nothing: %v", err)
	}
}

// Nobody learns from a filter or the list whose private meeting it is.
func TestMeeting_View_tellsNoPeople(t *testing.T) {
	w := newWorld(t)
	f := w.fields(time.Hour, w.desk)
	f.Visibility = new(Private)
	m := w.book(t, w.ann, f)
	m.SeriesID, m.OriginalStart, m.Approval.DecidedBy = 3, w.at, w.ann.ID
	got := m.View(w.max, nil)
	if got.Organizer != (Person{}) || got.SeriesID != 0 || !got.OriginalStart.IsZero() || got.Approval.DecidedBy != 0 || got.Title != Busy {
		t.Errorf("a stranger sees %+v", got)
	}
}

// What a meeting becomes is not for those who are taken off it.
func TestService_theRemovedLearnNothingNew(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.store.notices = nil
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, Fields{Title: new("Layoffs"), Attendees: &[]Person{{Email: "guest@example.net"}}}); err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, n := range w.store.notices {
		if strings.EqualFold(n.To.Email, "bob@example.org") {
			told++
			same(t, "kind", n.Kind, NoticeCancellation)
			same(t, "title", n.Facts.Title, "Review")
		}
	}
	same(t, "told", told, 1)
}

func TestFaults_line(t *testing.T) {
	for s, want := range map[string]string{
		"Review": "", "الاجتماع": "", "👩\u200d👩\u200d👧": "", "نمی\u200cخواهم": "",
		"\u200b\u200d":              "too_short",
		"\u2060\ufeff \u3164\u2800": "too_short",
		"abc\u202etxt":              "control_character",
		"\u2067abc":                 "control_character",
		"a\nb":                      "control_character",
	} {
		var found faults
		found.line("body.title", s, 1, 200)
		got := ""
		if len(found) > 0 {
			got = found[0].Code
		}
		if got != want {
			t.Errorf("%+q: got %q, want %q", s, got, want)
		}
	}
}

// What an admin passed over is in the history of each date that needed it, quotas included,
// with the reason that was given and not only that it came through the series.
func TestService_overrideOfSeries(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, RoomFields{Name: new("Lab"), MaxDuration: new(time.Hour), Quota: &Quota{Per: PerMonth, Count: 2}})
	f := w.weekly("FREQ=DAILY;COUNT=3", lab)
	f.Override = &Override{Reason: "the board comes"}
	if _, err := w.BookSeries(t.Context(), w.ann, f); !errors.Is(err, ErrForbidden) {
		t.Errorf("a member: %v", err)
	}
	r := w.bookSeries(t, w.root, f)
	for i, want := range [][]string{nil, nil, {"quota"}} {
		e := w.store.history[r.Meetings[i].ID][0]
		var codes []string
		if rules, ok := e.Changes["override"].To.([]BrokenRule); ok {
			for _, b := range rules {
				codes = append(codes, b.Code)
			}
		}
		same(t, "passed over", codes, want)
		reason := ReasonSeries
		if want != nil {
			reason = "series: the board comes"
		}
		same(t, "reason", e.Reason, reason)
	}
	far := w.weekly("FREQ=YEARLY;COUNT=3", w.desk)
	if _, err := w.BookSeries(t.Context(), w.root, far); err == nil {
		t.Error("a series reaches further than anybody may book")
	}
	far.Override = f.Override
	last := w.bookSeries(t, w.root, far).Meetings[2]
	if rules, ok := w.store.history[last.ID][0].Changes["override"].To.([]BrokenRule); !ok || rules[0].Code != "max_advance" {
		t.Errorf("history of the last date: %+v", w.store.history[last.ID][0])
	}
	longer := SeriesFields{Fields: Fields{Start: new("2027-02-11T10:00:00"), End: new("2027-02-11T12:00:00")}}
	if _, err := w.UpdateSeries(t.Context(), w.root, r.Series.ID, nil, longer); err == nil {
		t.Error("an admin without an override broke a rule")
	}
	longer.Override = &Override{Reason: "longer"}
	if _, err := w.UpdateSeries(t.Context(), w.root, r.Series.ID, nil, longer); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Meetings {
		es := w.store.history[m.ID]
		if last := es[len(es)-1]; last.Changes["override"].To == nil || last.Reason != "series: longer" {
			t.Errorf("history %+v", last)
		}
	}
}
