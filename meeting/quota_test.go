package meeting

import (
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

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
			loc := clock.ZoneOrUTC(tt.zone)
			var got []string
			for _, p := range (&Quota{Per: tt.per}).periods(clock.Slot{Start: utc(t, tt.from), End: utc(t, tt.to)}, loc) {
				got = append(got, p.Start.In(loc).Format("01-02"))
			}
			same(t, "periods", strings.Join(got, " "), tt.want)
		})
	}
}

func TestClaim_Check(t *testing.T) {
	slot := func(from, to string) clock.Slot { return clock.Slot{Start: utc(t, from), End: utc(t, to)} }
	tests := []struct {
		name   string
		quota  Quota
		wanted clock.Slot
		had    clock.Slot
		others []clock.Slot
		want   []Figures // without room and period
	}{
		{"the last one", Quota{PerDay, 2, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-10T11:00", "2027-02-10T12:00")}, nil},
		{"one too many", Quota{PerDay, 1, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-10T11:00", "2027-02-10T12:00")},
			[]Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerDay}}},
		{"another day", Quota{PerDay, 1, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-11T11:00", "2027-02-11T12:00")}, nil},
		{"a night counts on both days", Quota{PerDay, 1, 0}, slot("2027-02-11T09:00", "2027-02-11T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-10T22:00", "2027-02-11T02:00")},
			[]Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerDay}}},
		{"with its hours of that day", Quota{PerDay, 0, 3 * time.Hour}, slot("2027-02-11T09:00", "2027-02-11T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-10T20:00", "2027-02-11T02:00")}, nil},
		{"and no more", Quota{PerDay, 0, 3 * time.Hour}, slot("2027-02-11T09:00", "2027-02-11T10:01"), clock.Slot{}, []clock.Slot{slot("2027-02-10T20:00", "2027-02-11T02:00")},
			[]Figures{{Limit: "3h", Used: "2h", Actual: "3h1m", Per: PerDay}}},
		{"in each period", Quota{PerDay, 0, time.Hour}, slot("2027-02-10T22:00", "2027-02-11T02:00"), clock.Slot{}, nil,
			[]Figures{{Limit: "1h", Used: "0s", Actual: "2h", Per: PerDay}, {Limit: "1h", Used: "0s", Actual: "2h", Per: PerDay}}},
		{"count and length", Quota{PerWeek, 1, time.Hour}, slot("2027-02-10T09:00", "2027-02-10T10:00"), clock.Slot{}, []clock.Slot{slot("2027-02-11T09:00", "2027-02-11T09:30")},
			[]Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerWeek}, {Limit: "1h", Used: "30m", Actual: "1h30m", Per: PerWeek}}},
		{"a move within the week, over a quota that was lowered", Quota{PerWeek, 1, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), slot("2027-02-11T09:00", "2027-02-11T10:00"),
			[]clock.Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, nil},
		{"a move within the week, over a length that was lowered", Quota{PerWeek, 0, time.Hour}, slot("2027-02-10T09:00", "2027-02-10T10:00"), slot("2027-02-11T09:00", "2027-02-11T10:00"),
			[]clock.Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, nil},
		{"and longer", Quota{PerWeek, 0, time.Hour}, slot("2027-02-10T09:00", "2027-02-10T10:01"), slot("2027-02-11T09:00", "2027-02-11T10:00"),
			[]clock.Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, []Figures{{Limit: "1h", Used: "1h", Actual: "2h1m", Per: PerWeek}}},
		{"a move into the week", Quota{PerWeek, 1, 0}, slot("2027-02-10T09:00", "2027-02-10T10:00"), slot("2027-02-18T09:00", "2027-02-18T10:00"),
			[]clock.Slot{slot("2027-02-12T09:00", "2027-02-12T10:00")}, []Figures{{Limit: 1, Used: 1, Actual: 2, Per: PerWeek}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Claim{RoomID: 7, room: &Room{ID: 7, Name: "Turing", Zone: "UTC", Policy: Policy{Quota: &tt.quota}}, wanted: tt.wanted, had: tt.had}
			var got []Figures
			for _, f := range c.Check(tt.others) {
				if f.Code != "quota" || f.Figures.RoomID != 7 || f.Figures.Span.Start.IsZero() {
					t.Errorf("fault %+v", f)
				}
				f.Figures.RoomID, f.Figures.Span = 0, fault.Span{}
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
	c := Claim{RoomID: 7, room: room, wanted: clock.Slot{Start: utc(t, "2027-01-01T00:00"), End: utc(t, "2027-12-31T00:00")}}
	same(t, "told", len(c.Check(nil)), toldPeriods)
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

// Who is over a quota since it was lowered moves within the period all the same.
func TestService_quotaThatWasLowered(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, RoomFields{Name: new("Lab"), Quota: &Quota{Per: PerWeek, Count: 2}})
	m := w.book(t, w.ann, w.fields(time.Hour, lab))
	w.book(t, w.ann, w.fields(2*time.Hour, lab))
	if _, err := w.UpdateRoom(t.Context(), w.root, lab.ID, nil, RoomFields{Quota: &Quota{Per: PerWeek, Count: 1}}); err != nil {
		t.Fatal(err)
	}
	w.move(t, m.ID, 24*time.Hour, 25*time.Hour)
	_, err := w.Update(t.Context(), w.ann, m.ID, nil, Fields{Start: new("2027-02-16T09:00:00Z"), End: new("2027-02-16T10:00:00Z")})
	if err != nil {
		t.Errorf("into a week without another: %v", err)
	}
	_, err = w.Update(t.Context(), w.ann, m.ID, nil, Fields{Start: new("2027-02-12T09:00:00Z"), End: new("2027-02-12T10:00:00Z")})
	same(t, "and back", broken(t, err), []string{"quota"})
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
	outcome, err := outcomeOf(w.ExpireApprovals(t.Context(), Ref{first.ID, first.ScheduleVersion}))
	if m := w.store.meetings[first.ID]; err != nil || outcome != Applied || m.Status != Rejected {
		t.Errorf("on its time-out: %v, %v, %v", outcome, err, m.Status)
	}
}
