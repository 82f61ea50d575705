package tests

import (
	"fmt"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestPagePhone: on a phone a day of rooms lists free times to tap and meetings to open.
func TestPagePhone(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	date := quietDay()
	hour := func(clock string) time.Time { return zoned(t, date, clock) }
	room := ada.NewRoom(t, "Franklin", with{"timezone": "Europe/Berlin", "capacity": 6})
	ada.Book(t, testenv.Booking(hour("10:00"), hour("11:00"), []int64{room.ID}, with{"title": "Crystals"}))

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.size(phone)
	b.open("/?q=franklin&date=" + date)
	const slots = "[...document.querySelectorAll('.rooms .free button')]"
	b.await("%s.length === 2", slots)
	b.reads("Next: 10:00")
	b.click("%s.find((e) => e.innerText.includes('11:00'))", slots)
	b.await("document.querySelector('dialog[open]')")
	b.fill("Title", "By thumb")
	b.press("Book")
	held(t, alan, find(t, alan, "By thumb").ID, room.ID, hour("11:00"), hour("12:00"))
	b.await("!document.querySelector('dialog[open]')")
	b.await("%s.some((e) => e.innerText.includes('12:00')) && !%s.some((e) => e.innerText.includes('11:00'))", slots, slots)
	b.click("document.querySelector('.rooms summary')")
	b.await("[...document.querySelectorAll('.rooms details a')].some((a) => a.innerText.includes('By thumb'))")
	b.accessible("phone-day")

	// What a finger presses is large enough.
	b.touch(390, 844)
	b.await("matchMedia('(pointer: coarse)').matches")
	for _, width := range []int64{320, 360, 390} {
		b.touch(width, 844)
		b.await("matchMedia('(width: %dpx)').matches", width)
		b.without(fmt.Sprintf("the header of a phone of %d px", width), fmt.Sprintf("(({ right }) => right > %d ? `it is ${right} px wide` : '')(document.querySelector('.avatar').getBoundingClientRect())", width))
	}
	if small := eval[[]string](b, `[...document.querySelectorAll('.shell :is(button, summary, select, input:not([type=date]), .views a, header a)')]
		.filter((e) => e.checkVisibility() && !e.matches('.skip') && Math.min(e.offsetWidth, e.offsetHeight) < 44).map((e) => e.outerHTML.slice(0, 80))`); len(small) > 0 {
		t.Errorf("too small for a finger: %q", small)
	}
}
