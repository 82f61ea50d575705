package moving

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"punctual/meeting/clock"
)

var day = time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)

func bookingAt(id int64, room string, from, to int) *Booking {
	return &Booking{
		ID: id, Ref: fmt.Sprint(id), Content: Content{Rooms: strings.Split(room, "+")},
		Slot: clock.Slot{Start: day.Add(time.Duration(from) * time.Hour), End: day.Add(time.Duration(to) * time.Hour)},
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	asked := bookingAt(1, "A", 9, 12)
	asked.Pending = true
	past := bookingAt(9, "A", -5, -4)
	past.Pending = true
	bs := []*Booking{
		asked, bookingAt(2, "A", 11, 13), bookingAt(3, "A", 13, 14), bookingAt(4, "A", 12, 14), bookingAt(5, "B", 9, 10), bookingAt(6, "A+B", 9, 10), bookingAt(7, "A", 9, 10),
		bookingAt(8, "A", -6, -3), past, bookingAt(10, "A", 8, 20),
	}
	conflicts, lost := resolve(bs, day)
	var got []string
	for _, c := range conflicts {
		got = append(got, fmt.Sprintf("%d loses %s to %d", c.Lost.ID, c.Room, c.Won.ID))
	}
	// The request loses though it is older; 6 wants a second room that is taken; who was not decided on in time loses nothing.
	if want := "1 loses A to 7, 4 loses A to 2, 6 loses B to 5, 10 loses A to 7"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if len(lost) != len(conflicts) {
		t.Errorf("%d of %d conflicts", len(lost), len(conflicts))
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	start := day.Add(9 * time.Hour) // a Monday
	series := &Series{Key: "1", Rule: "FREQ=WEEKLY;BYDAY=MO;UNTIL=20270315T000000Z", Zone: "Europe/Berlin", Start: start, End: start.Add(time.Hour)}
	at := func(id int64, days int, hour int) *Booking {
		from := day.AddDate(0, 0, days).Add(time.Duration(hour-1) * time.Hour) // in Berlin
		return &Booking{ID: id, Ref: fmt.Sprint(id), Slot: clock.Slot{Start: from, End: from.Add(time.Hour)}}
	}
	moved := at(3, 15, 14)
	moved.Place = at(0, 14, 9).Slot.Start
	f, err := form(series, []*Booking{at(1, 0, 9), at(2, 7, 9), moved, at(4, 9, 9)})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.exDates, f.rDates, len(f.dates)); got != "[2027-02-22T09:00:00 2027-03-01T09:00:00 2027-03-08T09:00:00] [2027-02-10T09:00:00] 4" {
		t.Errorf("formed %s", got)
	}
	for _, wall := range f.walls() {
		content, other := f.differs(wall, f.dates[wall])
		if content || other != (f.dates[wall].ID == 3) {
			t.Errorf("date %s differs: %v %v", wall, content, other)
		}
	}
	rest := f.without(func(_ time.Time, b *Booking) bool { return b.ID == 4 || b.ID == 1 })
	if got := fmt.Sprint(rest.exDates, rest.rDates, len(rest.dates)); !strings.HasPrefix(got, "[2027-02-01T09:00:00 2027-02-22") || !strings.HasSuffix(got, "[] 2") {
		t.Errorf("without two dates %s", got)
	}
	if f.without(func(time.Time, *Booking) bool { return true }) != nil {
		t.Error("a series without dates is left")
	}
	for rule, rows := range map[string][]*Booking{
		"":                   {at(1, 0, 9)},
		"FREQ=HOURLY":        {at(1, 0, 9)},
		series.Rule:          {at(1, 0, 9), at(2, 1, 9), at(3, 2, 9)},
		series.Rule + ";X=1": {at(1, 0, 9)},
	} {
		other := *series
		other.Rule = rule
		if _, err := form(&other, rows); err == nil {
			t.Errorf("rule %q forms a series of %d dates", rule, len(rows))
		}
	}
	if _, err := form(series, []*Booking{at(1, 0, 9), at(2, 0, 9)}); err == nil || !strings.Contains(err.Error(), "for the same date") {
		t.Errorf("two rows for a date: %v", err)
	}
}
