package tests

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"punctual/tests/testenv"
)

// The form's own words for the tests below.
const (
	formOpen = "document.querySelector('dialog[open] form#booking')"
	formShut = "!document.querySelector('dialog[open]')"
)

// newBooking opens the form on a day.
func (b *tab) newBooking(date string) {
	b.t.Helper()
	b.open("/?date=" + date)
	b.press("New booking")
	b.await(formOpen)
}

// pick chooses a room of those that the form offers.
func (b *tab) pick(room string) {
	b.t.Helper()
	b.await("document.querySelector('dialog .list input[name=room]')")
	b.await("((d) => d.open || (d.querySelector('summary').click(), d.open))(document.querySelector('dialog fieldset > details'))")
	b.fillIn("dialog input[type=search]", room)
	b.await("[...document.querySelectorAll('dialog .list label')].some((l) => l.querySelector('strong').textContent === %q && (l.querySelector('input').click(), true))", room)
	b.await("[...document.querySelectorAll('dialog .chosen strong')].some((e) => e.textContent === %q)", room)
}

// says waits until the form's dialog has a text.
func (b *tab) says(text string) {
	b.t.Helper()
	b.await("[...document.querySelectorAll('dialog[open]')].at(-1)?.innerText.includes(%[1]q) || hand.noticed(%[1]q)", text)
}

// meetingsOf a series or a title, those that take place alone, by start.
func booked(t *testing.T, c *testenv.Client, title string) (all []testenv.Meeting) {
	t.Helper()
	for _, m := range testenv.All[testenv.Meeting](t, c, "/meetings?limit=500") {
		if m.Title == title && m.Status != "cancelled" {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b testenv.Meeting) int { return a.Start.Compare(b.Start) })
	return all
}

// TestPageForm_people: names are completed, by keyboard, from colleagues and guests of before;
// what is pasted is read; what is no address is said to be none; and what was typed outlives a
// reload and a slip.
func TestPageForm_people(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	room := ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin", "capacity": 4})
	start := inSeconds(48 * 3600)
	alan.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"attendees": []any{with{"email": "grete@guests.example", "name": "Grete Hermann"}}}))
	date := quietDay()

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.newBooking(date)
	b.fill("Title", "With people")
	box := "document.querySelector('dialog [role=combobox]')"
	b.strikes(box, "gr")
	b.await("document.querySelectorAll('dialog [role=option]').length === 2")
	b.await("%s.getAttribute('aria-expanded') === 'true'", box)
	b.key("e")
	b.await("document.querySelectorAll('dialog [role=option]').length === 1")
	b.key(kb.ArrowDown)
	b.await("document.querySelector('dialog [role=option][aria-selected=true]')?.innerText.includes('Grete Hermann')")
	b.await("document.getElementById(%s.getAttribute('aria-activedescendant'))?.innerText.includes('grete@guests.example')", box)
	b.shot("form-people")
	b.accessible("people are completed")
	b.key("\r")
	b.await("[...document.querySelectorAll('dialog .people .box > ul:first-child li')].map((e) => e.innerText.trim()).join() === 'Grete Hermann'")

	b.key("gra")
	b.await("document.querySelectorAll('dialog [role=option]').length === 1")
	b.key(kb.Escape) // the list goes, the form stays
	b.await("document.querySelectorAll('dialog [role=option]').length === 0")
	b.await(formOpen)
	b.fillIn("dialog [role=combobox]", "zoe@x.example;")
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 2")
	eval[bool](b, `(() => { const data = new DataTransfer(); data.setData('text', 'Bob <bob@x.example>; "Byron, George" <g@x.example>, nobody')
		%s.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })); return true })()`, box)
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 5")
	b.says("Not an email address or phone number: nobody")
	b.await("document.querySelector('dialog .box li.bad') && %s.getAttribute('aria-invalid') === 'true'", box)
	b.accessible("an address that is none")
	b.strikes(box, kb.Backspace) // the last one goes
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 4 && !document.querySelector('dialog .box li.bad')")

	// Five come, four places are there.
	b.strikes(box, "five@x.example\r")
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 5")
	b.pick("Curie")
	b.says("seats 4; this meeting has 5 people")
	b.shot("form-too-many")

	// A reload loses nothing, and closing asks.
	b.open("/?date=" + date)
	b.await(formOpen)
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 5")
	b.await("document.querySelector('dialog input.title').value === 'With people'")
	b.key(kb.Escape)
	b.says("Discard changes?")
	b.shot("form-leave")
	b.press("Keep editing")
	b.strikes(box, kb.Backspace)
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 4")
	b.press("Book")
	b.await(formShut)
	m := find(t, alan, "With people")
	var emails []string
	for _, a := range m.Attendees {
		emails = append(emails, a.Email+" "+a.Name)
	}
	if d := cmp.Diff([]string{"grete@guests.example Grete Hermann", "zoe@x.example ", "bob@x.example Bob", "g@x.example Byron, George"}, emails); d != "" {
		t.Error(d)
	}
	b.open("/?date=" + date)
	b.await("document.querySelector('[role=rowheader]')")
	b.idle()
	b.await(formShut)
}

// TestPageForm_rooms: rooms are offered with why the others cannot be had; faults stand at
// their fields with the focus on the first; of two who race for a slot the second takes what is
// suggested instead, and nothing that was typed is lost.
func TestPageForm_rooms(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	berlin := func(name string, more ...with) testenv.Room {
		fields := with{"timezone": "Europe/Berlin", "capacity": 6}
		for _, m := range more {
			for k, v := range m {
				fields[k] = v
			}
		}
		return ada.NewRoom(t, name, fields)
	}
	race := berlin("Race")
	berlin("Race spare", with{"capacity": 8})
	berlin("Race strict", with{"policy": with{"max_duration": "30m", "opening_hours": []with{{"days": []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, "from": "12:00", "to": "20:00"}}}})
	date := quietDay()

	one, two := browse(t, server), browse(t, server)
	one.signIn("alan@example.org", demoPassword)
	two.signIn("grace@example.org", demoPassword)
	one.newBooking(date)
	one.press("Book")
	one.await("document.querySelectorAll('dialog [aria-invalid=true]').length >= 2")
	one.await("document.activeElement === document.querySelector('dialog input.title')")
	one.await("document.getElementById(document.activeElement.getAttribute('aria-describedby'))?.innerText.includes('fill in this field')")
	one.says("Please fix 2 things")
	one.accessible("faults at their fields")
	one.shot("form-faults")
	one.fill("Title", "Fast")
	one.fillIn("dialog input[type=search]", "Race")
	one.await("document.querySelectorAll('dialog .list li').length === 3")
	one.says("isn’t open for the whole meeting. Opening hours: Mon – Sun, 12 PM – 8 PM")
	one.says("can be booked for at most 30 minutes; this is 1 hour")
	one.await("[...document.querySelectorAll('dialog .list strong')].at(-1).textContent === 'Race strict'") // free ones stand first
	one.shot("form-rooms")
	one.pick("Race")
	two.newBooking(date)
	two.fill("Title", "Slow")
	two.pick("Race")
	two.says("Available")
	two.click("document.querySelector('dialog form > details > summary')")
	two.fill("Description", "All that I typed")

	one.press("Book")
	one.await(formShut)
	two.await("document.querySelector('dialog button[form=booking]').innerText.trim() === 'Join the waiting list'") // it has seen it
	two.says("Race at another time")
	two.await("[...document.querySelectorAll('dialog .instead li')].some((e) => e.innerText.includes('Race spare'))")
	two.accessible("suggestions")
	two.shot("form-suggestions")
	two.size(phone)
	two.shot("form-suggestions-phone")
	two.dark(true)
	two.shot("form-suggestions-phone-dark")
	two.dark(false)
	two.size(desk)
	two.await("[...document.querySelectorAll('dialog .instead button')].some((e) => e.innerText.includes('Race spare') && (e.click(), true))")
	two.await("[...document.querySelectorAll('dialog .chosen strong')].map((e) => e.textContent).join() === 'Race spare'")
	two.await("!document.querySelector('dialog .instead')")
	two.press("Book")
	two.await(formShut)
	m := find(t, ada, "Slow")
	if !m.Start.Equal(zoned(t, date, "09:00")) || m.Description != "All that I typed" || slices.Contains(m.RoomIDs, race.ID) {
		t.Errorf("booked %+v", m)
	}

	// A third is offered another time of the room, and takes it with one click; a fourth waits.
	two.newBooking(date)
	two.fill("Title", "Later")
	two.pick("Race")
	two.says("Race at another time")
	two.await("[...document.querySelectorAll('dialog .instead button')].some((e) => e.innerText.includes('10:00') && (e.click(), true))")
	two.says("Available")
	two.press("Book")
	two.await(formShut)
	if m := find(t, ada, "Later"); !m.Start.Equal(zoned(t, date, "10:00")) || m.RoomIDs[0] != race.ID {
		t.Errorf("booked %+v", m)
	}
	two.newBooking(date)
	two.fill("Title", "Patient")
	two.pick("Race")
	two.press("Join the waiting list")
	two.told("You’re first on the waiting list")
	alan.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", find(t, alan, "Fast").ID), with{}, nil)
	if m := find(t, ada, "Patient"); m.RoomIDs[0] != race.ID {
		t.Errorf("waited for %+v", m)
	}

	// Who rules may pass over a rule, with a reason.
	chief := browse(t, server)
	chief.signIn("ada@example.org", demoPassword)
	chief.newBooking(date)
	chief.fill("Title", "By decree")
	chief.pick("Race strict")
	chief.press("Book")
	chief.says("Please fix")
	chief.click("document.querySelector('dialog .override input')")
	chief.fill("Reason", "Board meeting")
	chief.shot("form-override")
	chief.press("Book")
	chief.await(formShut)
	if es := ada.History(t, find(t, ada, "By decree").ID); es[0].Reason != "Board meeting" {
		t.Errorf("history: %+v", es[0])
	}
}

// TestPageForm_twice: a double click books once, and so does a second try after an answer that
// never came.
func TestPageForm_twice(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin"})
	date := quietDay()
	b := browse(t, server)
	b.signIn("ada@example.org", demoPassword)
	// The first answer gets lost on its way.
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			const real = window.fetch; let lost = false
			window.fetch = async (r, ...more) => { const answer = await real(r, ...more)
				if (!lost && r.method === 'POST' && r.url.endsWith('/meetings')) { lost = true; throw new TypeError('lost') }
				return answer }`})
		return err
	}))
	b.newBooking(date)
	b.fill("Title", "Once")
	b.pick("Curie")
	b.says("Available")
	b.press("Book")
	b.says("Can’t reach the server")
	b.await("((go) => !go.disabled && (go.click(), go.click(), true))(document.querySelector('dialog footer .primary'))")
	b.await(formShut)
	if n := len(booked(t, ada, "Once")); n != 1 {
		t.Errorf("booked %d times", n)
	}
}

// TestPageForm_keyboard: a series is built and a meeting booked without a mouse; in Chinese and
// German too everything is in the reader's language.
func TestPageForm_keyboard(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	room := ada.NewRoom(t, "0 Curie", with{"timezone": "Europe/Berlin"}) // the first by name
	date := monday(4)

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.open("/?date=" + date.Format(time.DateOnly))
	b.strike(".button.book", "\r")
	b.await(formOpen)
	b.await("document.activeElement.matches('dialog input.title')")
	b.key("By hand")
	tab := func(to string) {
		t.Helper()
		for range 60 {
			if eval[bool](b, "document.activeElement.matches(%q)", to) {
				return
			}
			b.key("\t")
		}
		b.shot("failed")
		t.Fatalf("the keyboard does not reach %s; it is at %s", to, eval[string](b, "document.activeElement.outerHTML.slice(0, 200)"))
	}
	tab("dialog [data-part=rrule] select")
	b.key("C") // Custom; more letters would have to come within a second of each other
	b.await("document.querySelector('dialog [data-part=rrule] .days')")
	tab("dialog .days button[aria-label=Wednesday]")
	b.key(" ")
	b.await("document.querySelector('dialog .words').innerText === 'Every Monday and Wednesday, 10 times'")
	tab("dialog .ends input[type=number]")
	b.fillIn("dialog .ends input[type=number]", "3")
	tab("dialog input[type=search]")
	b.key("0 Curie")
	b.await("document.querySelectorAll('dialog .list li').length === 1")
	tab("dialog input[name=room]")
	b.key(" ")
	b.await("document.querySelectorAll('dialog .dates li').length === 3")
	tab("dialog [role=combobox]")
	b.key("grace")
	b.await("document.querySelectorAll('dialog [role=option]').length === 1")
	b.key(kb.ArrowDown)
	b.await("document.querySelector('dialog [role=option][aria-selected=true]')")
	b.key("\r")
	b.await("document.querySelector('dialog .box > ul:first-child li')?.innerText.includes('Grace')")
	tab("dialog footer .primary")
	b.key("\r")
	b.await(formShut)
	if ms := booked(t, ada, "By hand"); len(ms) != 3 || ms[1].Start.Sub(ms[0].Start) != 48*time.Hour || ms[0].RoomIDs[0] != room.ID || len(ms[0].Attendees) != 1 {
		t.Errorf("booked %+v", ms)
	}

	for _, says := range [][]string{
		{"zh", "新建预订", "每周的星期一，共 10 次", "会议室", "10 次会议"},
		{"de", "Neue Buchung", "Jeden Montag, 10-mal", "Räume", "10 Termine"},
	} {
		language, says := says[0], says[1:]
		b.choose("#menu-language", language)
		b.open("/?date=" + date.AddDate(0, 0, 7).Format(time.DateOnly))
		b.reads(says[0])
		b.press(says[0])
		b.await(formOpen)
		b.choose("dialog [data-part=rrule] select", "week")
		b.pick("0 Curie")
		for _, text := range says[1:] {
			b.says(text)
		}
		for _, english := range []string{"Taken", "Free", "seats", "Choose", "date"} {
			if eval[bool](b, "document.querySelector('dialog').innerText.includes(%q)", english) {
				t.Errorf("%s: the form says %q", language, english)
			}
		}
		b.accessible("form in " + language)
		b.shot("form-" + language)
		b.size(phone)
		b.shot("form-phone-" + language)
		b.size(desk)
		b.click("document.querySelector('dialog header button')")
		b.await("document.querySelector('dialog .leaving')")
		b.click("document.querySelector('dialog footer .danger')")
		b.await(formShut)
	}
}

// TestPageForm_rules: a rule as late as rooms are booked, one by hand, and what is wrong with
// one; times stay on the room's clock when clocks change, and move on the reader's.
func TestPageForm_rules(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin"})
	first := monday(4)
	b := browse(t, server)
	server.Login(t, "alan@example.org", demoPassword).Want(t, http.StatusOK, http.MethodPatch, "/me", with{"timezone": "UTC"}, nil)
	b.signIn("alan@example.org", demoPassword)
	b.newBooking(first.Format(time.DateOnly))
	b.fill("Title", "Rules")
	b.choose("dialog [data-part=rrule] select", "week")
	b.pick("Curie")
	b.await("document.querySelectorAll('dialog .dates li').length === 10")

	// Rooms are booked for a year: 8760 hours.
	b.click("[...document.querySelectorAll('dialog .ends label')].at(-1).querySelector('input')")
	b.await("document.querySelectorAll('dialog .dates li').length > 40")
	last := eval[string](b, "[...document.querySelectorAll('dialog .dates li')].at(-1).dataset.date")
	end := time.Now().Add(8760 * time.Hour)
	if at, err := time.Parse(time.DateOnly, last); err != nil || at.After(end) || at.Before(end.AddDate(0, 0, -8)) {
		t.Errorf("the last date is %s, want the last Monday within a year", last)
	}
	// The same hour by Berlin's clocks all the year, another one by the reader's.
	for _, season := range []struct{ months, yours string }{{"-(12|01|02)-", "8:00"}, {"-(06|07|08)-", "7:00"}} {
		row := eval[string](b, "[...document.querySelectorAll('dialog .dates li')].find((e) => new RegExp(%q).test(e.dataset.date)).innerText", season.months)
		if !strings.Contains(row, "9:00") || !strings.Contains(row, "For you: "+season.yours) {
			t.Errorf("in the months %s: %q", season.months, row)
		}
	}
	b.shot("form-never")

	b.choose("dialog [data-part=rrule] select", "expert")
	b.fill("Rule", "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=2,3;COUNT=3;BYHOUR=9")
	b.await("document.querySelector('dialog [data-part=rrule] .fault')")
	b.accessible("a rule that is wrong")
	b.shot("form-expert")
	b.fill("Rule", "FREQ=WEEKLY;BYDAY=MO,TH;COUNT=5")
	b.await("document.querySelectorAll('dialog .dates li').length === 5 && !document.querySelector('dialog [data-part=rrule] .fault')")
	b.choose("dialog [data-part=rrule] select", "workdays")
	b.await("document.querySelector('dialog .words').innerText.startsWith('Every weekday')")
	b.click("[...document.querySelectorAll('dialog .ends label')].at(0).querySelector('[type=radio]')")
	b.await("document.querySelectorAll('dialog .dates li').length === 10")
	b.press("Book 10 dates")
	b.await(formShut)
	if ms := booked(t, ada, "Rules"); len(ms) != 10 || !ms[9].Start.Equal(first.AddDate(0, 0, 11)) {
		t.Errorf("booked %+v", ms)
	}
}
