package door

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

func instantOf(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRoom_doorSlot(t *testing.T) {
	at := instantOf(t, "2027-02-10T10:07:20.5Z")
	for _, row := range []struct {
		step, length time.Duration
		zone, want   string
	}{
		{0, 15 * time.Minute, "UTC", "2027-02-10T10:22:20.5Z"},
		{15 * time.Minute, 15 * time.Minute, "UTC", "2027-02-10T10:15:00Z"},
		{15 * time.Minute, 30 * time.Minute, "UTC", "2027-02-10T10:30:00Z"},
		{time.Hour, 15 * time.Minute, "UTC", "2027-02-10T11:00:00Z"},
		{time.Hour, time.Hour, "Asia/Kolkata", "2027-02-10T11:30:00Z"}, // 5:30 ahead
	} {
		r := &meeting.Room{Room: policy.Room{Zone: row.zone, Policy: policy.Policy{Step: row.step}}}
		s := doorSlot(r, row.length, at)
		same(t, "start", s.Start, at)
		same(t, row.zone+row.step.String()+row.length.String(), s.End, instantOf(t, row.want))
	}
}

func TestDoor_judge(t *testing.T) {
	at := instantOf(t, "2027-02-10T10:00:00Z")
	on := func(from, to int, status meeting.Status, may ...string) Meeting {
		return Meeting{Meeting: &meeting.Meeting{ID: meeting.ID(from), Slot: clock.Slot{Start: at.Add(time.Duration(from) * time.Hour), End: at.Add(time.Duration(to) * time.Hour)}, Status: status}, May: may}
	}
	hours := func(from, to string) policy.Policy {
		return policy.Policy{OpeningHours: []policy.OpeningHours{{Days: []string{"WE", "TH"}, From: from, To: to}}}
	}
	closed := policy.Blackout{Slot: clock.Slot{Start: at.Add(-time.Hour), End: at.Add(2 * time.Hour)}}
	for _, row := range []struct {
		name  string
		room  meeting.Room
		today []Meeting
		want  State
		until int // hours; 0: not today
	}{
		{"nothing", meeting.Room{Room: policy.Room{Active: true}}, nil, Free, 0},
		{"later", meeting.Room{Room: policy.Room{Active: true}}, []Meeting{on(-3, -2, meeting.Ended), on(2, 3, meeting.Confirmed), on(4, 5, meeting.Confirmed)}, Free, 2},
		{"soon", meeting.Room{Room: policy.Room{Active: true}}, []Meeting{on(1, 3, meeting.Confirmed, CheckIn)}, Expected, 1},
		{"now", meeting.Room{Room: policy.Room{Active: true}}, []Meeting{on(-1, 1, meeting.InProgress, End), on(1, 3, meeting.Confirmed, CheckIn)}, InUse, 1},
		{"closed", meeting.Room{Room: policy.Room{Active: true, Blackouts: []policy.Blackout{closed}}}, []Meeting{on(1, 3, meeting.Confirmed)}, Closed, 2},
		{"a blackout later", meeting.Room{Room: policy.Room{Active: true, Blackouts: []policy.Blackout{{Slot: clock.Slot{Start: at.Add(time.Hour), End: at.Add(2 * time.Hour)}}}}}, []Meeting{on(2, 3, meeting.Confirmed)}, Free, 1},
		{"closes later", meeting.Room{Room: policy.Room{Active: true, Policy: hours("08:00", "13:00")}}, nil, Free, 3},
		{"not open yet", meeting.Room{Room: policy.Room{Active: true, Policy: hours("12:00", "20:00")}}, nil, Closed, 2},
		{"closed for today", meeting.Room{Room: policy.Room{Active: true, Policy: hours("08:00", "09:00")}}, []Meeting{on(-2, -1, meeting.Ended)}, Closed, 22},
		{"opens into a blackout", meeting.Room{Room: policy.Room{Active: true, Policy: hours("11:00", "20:00"), Blackouts: []policy.Blackout{closed}}}, nil, Closed, 2},
		{"never opens", meeting.Room{Room: policy.Room{Active: true, Policy: policy.Policy{OpeningHours: []policy.OpeningHours{{Days: []string{"XX"}, From: "08:00", To: "09:00"}}}}}, nil, Closed, 0},
		{"in use all the same", meeting.Room{}, []Meeting{on(-1, 1, meeting.InProgress)}, InUse, 1},
		{"out of use", meeting.Room{}, nil, Closed, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.room.Zone = "UTC"
			day := clock.Slot{Start: at.Truncate(24 * time.Hour), End: at.Truncate(24 * time.Hour).Add(24 * time.Hour)}
			d := &Door{Room: &row.room, At: at, State: Free, Day: day, Today: row.today, Closed: closuresOf(&row.room, day)}
			d.validate()
			same(t, "state", d.State, row.want)
			var until time.Time
			if row.until != 0 {
				until = at.Add(time.Duration(row.until) * time.Hour)
			}
			same(t, "until", d.Until, until)
		})
	}
}

func TestRoom_blocks(t *testing.T) {
	at := instantOf(t, "2027-02-10T10:00:00Z")
	slot := func(from, to time.Duration) clock.Slot {
		return clock.Slot{Start: at.Add(from * time.Minute), End: at.Add(to * time.Minute)}
	}
	own := slot(-5, 65) // with its buffers
	for _, row := range []struct {
		name   string
		buffer time.Duration
		taken  []clock.Slot
		more   time.Duration
		want   bool
	}{
		{"nothing behind it", 0, []clock.Slot{own}, 30, false},
		{"another", 0, []clock.Slot{own, slot(75, 90)}, 30, true},
		{"another behind what is wanted", 0, []clock.Slot{own, slot(75, 90)}, 15, false},
		{"another within the buffer", 5 * time.Minute, []clock.Slot{own, slot(75, 90)}, 15, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &meeting.Room{Room: policy.Room{Policy: policy.Policy{BufferAfter: row.buffer}}}
			same(t, "blocked", blocks(r, slot(60, 60+row.more), slot(0, 60), row.taken), row.want)
		})
	}
}
