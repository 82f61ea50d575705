package tests

import (
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestPageClocks: rooms in several zones are shown by one clock, the rooms' or the user's own, in the grid
// and in lists that are sorted by instant.
func TestPageClocks(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	alan.Want(t, http.StatusOK, "PATCH", "/me", with{"timezone": "America/New_York"}, nil)
	date := quietDay()
	hour := func(clock string) time.Time { return zoned(t, date, clock) }
	book := func(title, zone, clock string) {
		t.Helper()
		room := ada.NewRoom(t, "Room "+title, with{"timezone": zone})
		ada.Book(t, testenv.Booking(hour(clock), hour(clock).Add(time.Hour), []int64{room.ID}, with{"title": title}))
	}
	book("Second", "Europe/Berlin", "10:00")
	book("First", "Asia/Tokyo", "09:00")
	book("Third", "America/New_York", "16:00")
	zoneAhead := func(zone string) string { // what clocks there show at 10:00 in Berlin, in either format
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		return hour("10:00").In(location).Format("3:04")
	}

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.open("/?date=" + date)
	b.await("/10:00.*Berlin/.test(%s?.ariaLabel)", shown("Second"))
	b.await("document.querySelector('.axis').innerText.includes('New York')")
	b.shot("clocks-rooms")
	b.press("My time")
	b.await("(label => label?.includes(%q) && !label.includes('Berlin'))(%s?.ariaLabel)", zoneAhead("America/New_York"), shown("Second"))
	b.accessible("clocks-mine")

	// The choice holds in every view, also after a reload.
	b.open("/list?date=" + date)
	b.await("document.querySelectorAll('.agenda .open').length >= 3")
	b.await(`[...document.querySelectorAll('.agenda .open')].map((a) => a.innerText).filter((title) => /^(First|Second|Third)$/.test(title)).join() === 'First,Second,Third'`)
	b.reads(zoneAhead("America/New_York"))
	b.press("Berlin time")
	b.await("/Berlin · 0?%s( AM)? your time/.test(document.querySelector('.agenda').innerText)", zoneAhead("America/New_York"))
}
