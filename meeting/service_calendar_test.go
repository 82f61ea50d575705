package meeting

import (
	"fmt"
	"testing"
	"time"
)

// A calendar of too many meetings is complete up to an instant, which it tells: what one organizes
// does not crowd out what one is invited to.
func TestCalendar_isCompleteUpToAnInstant(t *testing.T) {
	most := calendarMost
	t.Cleanup(func() { calendarMost = most })
	w := newWorld(t)
	book := func(day int, by Actor, guest string) {
		f := w.fields(time.Duration(day)*24*time.Hour, w.room(t, RoomFields{Name: new(fmt.Sprint("Room ", w.store.last))}))
		f.Attendees = &[]Person{{Email: guest}}
		w.book(t, by, f)
	}
	for day := 1; day < 200; day += 20 {
		book(day, w.ann, "guest@example.net")
		book(day, w.bob, w.ann.Email)
	}
	whole, until, err := w.Calendar(t.Context(), w.ann, 0, true)
	if end := w.at.Truncate(24 * time.Hour).Add(calendarFuture); err != nil || len(whole) != 20 || !until.Equal(end) {
		t.Fatalf("%d meetings up to %v, %v", len(whole), until, err)
	}
	calendarMost = 9
	some, until, err := w.Calendar(t.Context(), w.ann, 0, true)
	if err != nil || len(some) == 0 || len(some) > calendarMost {
		t.Fatalf("%d meetings, %v", len(some), err)
	}
	want := 0
	for _, m := range whole {
		if m.Slot.Start.Before(until) {
			want++
		}
	}
	if len(some) != want {
		t.Errorf("%d meetings up to %v, want %d", len(some), until, want)
	}
}
