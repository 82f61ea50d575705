package meeting

import (
	"testing"
	"time"

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
		r := &Room{Room: policy.Room{Zone: row.zone, Policy: policy.Policy{Step: row.step}}}
		s := r.doorSlot(row.length, at)
		same(t, "start", s.Start, at)
		same(t, row.zone+row.step.String()+row.length.String(), s.End, instantOf(t, row.want))
	}
}

func TestDoor_judge(t *testing.T) {
	at := instantOf(t, "2027-02-10T10:00:00Z")
	on := func(from, to int, status Status, may ...string) DoorMeeting {
		return DoorMeeting{Meeting: &Meeting{ID: ID(from), Slot: clock.Slot{Start: at.Add(time.Duration(from) * time.Hour), End: at.Add(time.Duration(to) * time.Hour)}, Status: status}, May: may}
	}
	hours := func(from, to string) policy.Policy {
		return policy.Policy{OpeningHours: []policy.OpeningHours{{Days: []string{"WE", "TH"}, From: from, To: to}}}
	}
	closed := policy.Blackout{Slot: clock.Slot{Start: at.Add(-time.Hour), End: at.Add(2 * time.Hour)}}
	for _, row := range []struct {
		name  string
		room  Room
		today []DoorMeeting
		want  DoorState
		until int // hours; 0: not today
	}{
		{"nothing", Room{Room: policy.Room{Active: true}}, nil, DoorFree, 0},
		{"later", Room{Room: policy.Room{Active: true}}, []DoorMeeting{on(-3, -2, Ended), on(2, 3, Confirmed), on(4, 5, Confirmed)}, DoorFree, 2},
		{"soon", Room{Room: policy.Room{Active: true}}, []DoorMeeting{on(1, 3, Confirmed, DoorCheckIn)}, DoorExpected, 1},
		{"now", Room{Room: policy.Room{Active: true}}, []DoorMeeting{on(-1, 1, InProgress, DoorEnd), on(1, 3, Confirmed, DoorCheckIn)}, DoorInUse, 1},
		{"closed", Room{Room: policy.Room{Active: true, Blackouts: []policy.Blackout{closed}}}, []DoorMeeting{on(1, 3, Confirmed)}, DoorClosed, 2},
		{"a blackout later", Room{Room: policy.Room{Active: true, Blackouts: []policy.Blackout{{Slot: clock.Slot{Start: at.Add(time.Hour), End: at.Add(2 * time.Hour)}}}}}, []DoorMeeting{on(2, 3, Confirmed)}, DoorFree, 1},
		{"closes later", Room{Room: policy.Room{Active: true, Policy: hours("08:00", "13:00")}}, nil, DoorFree, 3},
		{"not open yet", Room{Room: policy.Room{Active: true, Policy: hours("12:00", "20:00")}}, nil, DoorClosed, 2},
		{"closed for today", Room{Room: policy.Room{Active: true, Policy: hours("08:00", "09:00")}}, []DoorMeeting{on(-2, -1, Ended)}, DoorClosed, 22},
		{"opens into a blackout", Room{Room: policy.Room{Active: true, Policy: hours("11:00", "20:00"), Blackouts: []policy.Blackout{closed}}}, nil, DoorClosed, 2},
		{"never opens", Room{Room: policy.Room{Active: true, Policy: policy.Policy{OpeningHours: []policy.OpeningHours{{Days: []string{"XX"}, From: "08:00", To: "09:00"}}}}}, nil, DoorClosed, 0},
		{"in use all the same", Room{}, []DoorMeeting{on(-1, 1, InProgress)}, DoorInUse, 1},
		{"out of use", Room{}, nil, DoorClosed, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.room.Zone = "UTC"
			day := clock.Slot{Start: at.Truncate(24 * time.Hour), End: at.Truncate(24 * time.Hour).Add(24 * time.Hour)}
			d := &Door{Room: &row.room, At: at, State: DoorFree, Day: day, Today: row.today, Closed: row.room.closures(day)}
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

func TestPerson_Address(t *testing.T) {
	same(t, "a device", Person{Email: "door-1@door.INVALID"}.Address(Email), "")
	same(t, "a person", Person{Email: "ann@example.org"}.Address(Email), "ann@example.org")
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
			r := &Room{Room: policy.Room{Policy: policy.Policy{BufferAfter: row.buffer}}}
			same(t, "blocked", r.blocks(slot(60, 60+row.more), slot(0, 60), row.taken), row.want)
		})
	}
}
