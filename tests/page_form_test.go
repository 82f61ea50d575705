package tests

import (
	"context"
	"fmt"
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
	if !eval[bool](b, "document.querySelector('dialog fieldset > details').open") {
		eval[bool](b, "(document.querySelector('dialog fieldset > details > summary').click(), true)")
	}
	b.fillIn("dialog input[type=search]", room)
	b.await("[...document.querySelectorAll('dialog .list label')].some((l) => l.querySelector('strong').textContent === %q && (l.querySelector('input').click(), true))", room)
	b.await("[...document.querySelectorAll('dialog .chosen strong')].some((e) => e.textContent === %q)", room)
}

// fillIn types over what is in the field of a selector.
func (b *tab) fillIn(selector, text string) {
	b.t.Helper()
	eval[bool](b, "(document.querySelector(%[1]q).focus(), document.querySelector(%[1]q).select?.(), true)", selector)
	b.key(text)
}

// says waits until the form's dialog has a text.
func (b *tab) says(text string) {
	b.t.Helper()
	b.await("[...document.querySelectorAll('dialog[open]')].at(-1)?.innerText.includes(%q)", text)
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
	date := time.Now().AddDate(0, 0, 20).Format(time.DateOnly)

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.newBooking(date)
	b.fill("Title", "With people")
	box := "document.querySelector('dialog [role=combobox]')"
	eval[bool](b, "(%s.focus(), true)", box)
	b.key("gr")
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
	b.says("Not an e-mail address: nobody")
	b.await("document.querySelector('dialog .box li.bad') && %s.getAttribute('aria-invalid') === 'true'", box)
	b.accessible("an address that is none")
	b.key(kb.Backspace) // the last one goes
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 4 && !document.querySelector('dialog .box li.bad')")

	// Five come, four places are there.
	b.key("five@x.example\r")
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 5")
	b.pick("Curie")
	b.says("has 4 seats, not 5")
	b.shot("form-too-many")

	// A reload loses nothing, and closing asks.
	b.open("/?date=" + date)
	b.await(formOpen)
	b.await("document.querySelectorAll('dialog .box > ul:first-child li').length === 5")
	b.await("document.querySelector('dialog input.title').value === 'With people'")
	b.key(kb.Escape)
	b.says("Throw away what you entered?")
	b.shot("form-leave")
	b.press("Keep editing")
	eval[bool](b, "(%s.focus(), true)", box)
	b.key(kb.Backspace)
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
	b.await("document.querySelector('main') && " + formShut)
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
	date := time.Now().AddDate(0, 0, 20).Format(time.DateOnly)

	one, two := browse(t, server), browse(t, server)
	one.signIn("alan@example.org", demoPassword)
	two.signIn("grace@example.org", demoPassword)
	one.newBooking(date)
	one.press("Book")
	one.await("document.querySelectorAll('dialog [aria-invalid=true]').length >= 2")
	one.await("document.activeElement === document.querySelector('dialog input.title')")
	one.await("document.getElementById(document.activeElement.getAttribute('aria-describedby'))?.innerText.includes('fill this in')")
	one.says("2 things to check")
	one.accessible("faults at their fields")
	one.shot("form-faults")
	one.fill("Title", "Fast")
	one.fillIn("dialog input[type=search]", "Race")
	one.await("document.querySelectorAll('dialog .list li').length === 3")
	one.says("is not open all that time: Mon – Sun, 12 PM – 8 PM")
	one.says("is booked for at most 30 minutes, not for 1 hour")
	one.await("[...document.querySelectorAll('dialog .list strong')].at(-1).textContent === 'Race strict'") // free ones stand first
	one.shot("form-rooms")
	one.pick("Race")
	two.newBooking(date)
	two.fill("Title", "Slow")
	two.pick("Race")
	two.says("Free at that time")
	eval[bool](two, "(document.querySelector('dialog form > details').open = true)")
	two.fill("Description", "All that I typed")

	one.press("Book")
	one.await(formShut)
	two.press("Book")
	two.says("Somebody was faster")
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
	two.says("Free at that time")
	two.press("Book")
	two.await(formShut)
	if m := find(t, ada, "Later"); !m.Start.Equal(zoned(t, date, "10:00")) || m.RoomIDs[0] != race.ID {
		t.Errorf("booked %+v", m)
	}
	two.newBooking(date)
	two.fill("Title", "Patient")
	two.pick("Race")
	two.press("Wait for it")
	two.reads("You are the first in line")
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
	chief.says("things to check")
	eval[bool](chief, "(document.querySelector('dialog .override input').click(), true)")
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
	date := time.Now().AddDate(0, 0, 20).Format(time.DateOnly)
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
	b.says("Free at that time")
	b.press("Book")
	b.says("The server cannot be reached")
	eval[bool](b, "(() => { const go = document.querySelector('dialog footer .primary'); go.click(); go.click(); return true })()")
	b.await(formShut)
	if n := len(booked(t, ada, "Once")); n != 1 {
		t.Errorf("booked %d times", n)
	}
}

// TestPageForm_series: a weekly series with one date taken and one left out: each date is shown,
// one gets another room and one is skipped, and that is what there is then.
func TestPageForm_series(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	room := ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin", "capacity": 6})
	other := ada.NewRoom(t, "Curie spare", with{"timezone": "Europe/Berlin", "capacity": 6})
	first := monday(4)
	day := func(n int) time.Time { return first.AddDate(0, 0, 7*n) }
	date := func(n int) string { return day(n).Format(time.DateOnly) }
	ada.Book(t, testenv.Booking(day(1), day(1).Add(time.Hour), []int64{room.ID}))

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.newBooking(date(0))
	b.fill("Title", "Weekly")
	b.choose("dialog [data-part=rrule] select", "week")
	b.pick("Curie")
	b.await("document.querySelectorAll('dialog .dates li').length === 10")
	b.says("Every Monday, 10 times")
	b.fillIn("dialog .ends input[type=number]", "4")
	b.await("document.querySelectorAll('dialog .dates li').length === 4")
	b.says("Every Monday, 4 times")
	b.says("1 cannot be had")
	row := func(n int) string { return fmt.Sprintf("dialog .dates li[data-date='%s']", date(n)) }
	b.await("document.querySelector(%q)?.classList.contains('taken')", row(1))
	eval[bool](b, "(document.querySelector(%q).scrollIntoView({block:'center'}), true)", row(1))
	b.accessible("dates of a series")
	b.shot("form-series")

	// As it is it cannot be booked; what was typed stays.
	b.press("Book 3 dates")
	b.says("Some dates cannot be had")
	b.choose(row(1)+" select", "other")
	b.await("document.querySelector(%q)?.innerText.includes('Curie spare') || document.querySelector(%q).classList.contains('free')", row(1), row(1))
	b.choose(row(2)+" select", "skip")
	b.await("document.querySelector(%q)?.classList.contains('skipped')", row(2))
	eval[bool](b, `((s, name) => { const o = [...s.options].find((o) => o.text === name); s.value = o.value; s.dispatchEvent(new Event('change', { bubbles: true })); return true })(document.querySelector(%q), 'In Curie spare')`, row(1)+" select")
	b.await("document.querySelector(%q)?.innerText.includes('Curie spare')", row(1))
	b.says("all can be had")
	b.says("1 left out")
	eval[bool](b, "(document.querySelector(%q).scrollIntoView({block:'center'}), true)", row(1))
	b.shot("form-series-solved")
	b.dark(true)
	b.shot("form-series-dark")
	b.size(phone)
	eval[bool](b, "(document.querySelector(%q).scrollIntoView({block:'center'}), true)", row(1))
	if wide := eval[int](b, "document.querySelector('dialog .body').scrollWidth - document.querySelector('dialog .body').clientWidth"); wide > 0 {
		t.Errorf("the form is %d pixels wider than a phone", wide)
	}
	b.accessible("dates of a series on a phone")
	b.shot("form-series-phone-dark")
	b.dark(false)
	b.shot("form-series-phone")
	b.size(desk)
	b.press("Book 3 dates")
	b.await(formShut)
	var got [][]string
	for _, m := range booked(t, alan, "Weekly") {
		got = append(got, []string{m.Start.Format(time.RFC3339), fmt.Sprint(m.RoomIDs)})
	}
	is := func(n int, room int64) []string {
		return []string{day(n).UTC().Format(time.RFC3339), fmt.Sprint([]int64{room})}
	}
	want := [][]string{is(0, room.ID), is(1, other.ID), is(3, room.ID)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestPageForm_editSeries: of a series one date, those from one on and all are changed, each as
// its preview said, and cancelled; a date that was left out is taken up again.
func TestPageForm_editSeries(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	room := ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin", "capacity": 6})
	first := monday(2)
	day := func(n int) time.Time { return first.AddDate(0, 0, 7*n) }
	var made seriesAnswer
	alan.Want(t, http.StatusCreated, http.MethodPost, "/series", weekly(first, 6, room.ID, with{"title": "Circle"}), &made)
	series := at("/series/%d", made.Series.ID)
	ada.Book(t, testenv.Booking(day(4).Add(2*time.Hour), day(4).Add(3*time.Hour), []int64{room.ID})) // in the way of a later fifth date
	open := func(b *tab, n int) {
		t.Helper()
		b.open(at("/meetings/%d", made.Meetings[n].ID))
		b.says(fmt.Sprintf("%d of", n+1))
	}
	ask := func(b *tab, what, scope string) {
		t.Helper()
		b.press(what)
		b.await("document.querySelector(`dialog .scopes input[value=%s]`)?.click() || document.querySelector(`dialog .scopes input[value=%s]`)?.checked", scope, scope)
	}

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	open(b, 3)
	b.says("Every Monday, 6 times")
	b.says("4 of 6")
	b.press("Edit")
	b.says("What do you want to change?")
	b.accessible("which dates to change")
	b.shot("series-scope")
	b.press("Back")

	// From the fourth on two hours later: the fifth cannot be, and is left where it is.
	ask(b, "Edit", "following")
	b.do(chromedp.Click(chromedp.Search(`//form[contains(@class,'ask')]//button[normalize-space()='Edit']`)))
	b.await(formOpen)
	b.says("Edit series")
	b.await("document.querySelector('dialog .ends input[type=number]').value === '3'")
	b.choose("dialog [data-part=start] input[type=time]", "11:00")
	b.await("document.querySelectorAll('dialog .dates li').length === 3")
	b.says("1 cannot be had")
	b.await("document.querySelector(\"dialog .dates li[data-date='%s']\").classList.contains('taken')", day(4).Format(time.DateOnly))
	eval[bool](b, "(document.querySelector('dialog .dates').scrollIntoView(), true)")
	b.accessible("preview of a change")
	b.shot("series-edit")
	b.press("Save")
	b.says("Some dates cannot be had")
	b.await("[...document.querySelectorAll('dialog .how label')].some((l) => l.innerText === 'Leave them as they are' && (l.querySelector('input').click(), true))")
	b.press("Save")
	b.await("!document.querySelector('dialog form#booking')")
	var starts []string
	for _, m := range booked(t, alan, "Circle") {
		starts = append(starts, m.Start.In(first.Location()).Format("01-02 15:04"))
	}
	clock := func(n, hours int) string { return day(n).Add(time.Duration(hours) * time.Hour).Format("01-02 15:04") }
	if d := cmp.Diff([]string{clock(0, 0), clock(1, 0), clock(2, 0), clock(3, 2), clock(4, 0), clock(5, 2)}, starts); d != "" {
		t.Errorf("from the fourth on: %s", d)
	}

	// One date alone is cancelled with a reason, and taken up again.
	open(b, 1)
	ask(b, "Cancel meeting", "one")
	b.fillIn("dialog .ask input.input", "Holidays\r")
	b.reads("The meeting was cancelled")
	b.await("document.querySelector('dialog .history')?.innerText.includes('Holidays')")
	open(b, 0)
	eval[bool](b, "(document.querySelector('dialog dd details summary').click(), true)")
	b.says("Dates left out")
	b.shot("series-dates")
	b.press("Add again")
	b.reads("takes place again, in Curie")
	b.await("!document.querySelector('dialog')?.innerText.includes('Dates left out')")

	// All get another title; then all are called off.
	ask(b, "Edit", "all")
	b.do(chromedp.Click(chromedp.Search(`//form[contains(@class,'ask')]//button[normalize-space()='Edit']`)))
	b.await(formOpen)
	b.fill("Title", "Round")
	b.await("document.querySelectorAll('dialog .dates li.changed').length === 3")
	b.press("Save")
	b.await("!document.querySelector('dialog form#booking')")
	if n := len(booked(t, alan, "Round")); n != 3 {
		t.Errorf("%d dates have the new title, want the first three", n)
	}
	b.says("Round")
	ask(b, "Cancel meeting", "all")
	b.do(chromedp.Click(chromedp.Search(`//form[contains(@class,'ask')]//button[normalize-space()='Cancel meeting']`)))
	b.reads("The dates were cancelled")
	if n := len(booked(t, alan, "Round")); n != 0 {
		t.Errorf("%d dates are left", n)
	}
	var state struct {
		CancelledAt *time.Time `json:"cancelled_at"`
	}
	alan.Want(t, http.StatusOK, http.MethodGet, series, nil, &state)
	if state.CancelledAt == nil {
		t.Error("the series was not cancelled")
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
	eval[bool](b, "(document.querySelector('.button.book').focus(), true)")
	b.key("\r")
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
	b.key("Other")
	b.await("document.querySelector('dialog [data-part=rrule] .days')")
	tab("dialog .days button[aria-label=Wednesday]")
	b.key(" ")
	b.await("document.querySelector('dialog .words').innerText === 'Every Monday and Wednesday, 10 times'")
	tab("dialog .ends input[type=number]")
	eval[bool](b, "(document.activeElement.select(), true)")
	b.key("3")
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

	for language, says := range map[string][]string{
		"zh": {"新建预订", "每周的星期一，共 10 次", "会议室", "10 次会议"},
		"de": {"Neue Buchung", "Jeden Montag, 10-mal", "Räume", "10 Termine"},
	} {
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
		eval[bool](b, "(document.querySelector('dialog header button').click(), true)")
		b.await("document.querySelector('dialog .leaving')")
		b.await("(document.querySelector('dialog footer .danger').click(), true)")
		b.await(formShut)
	}
}

// TestPageMeeting: what a meeting shows of itself, and what each person may do with it there.
func TestPageMeeting(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	grace := server.Login(t, "grace@example.org", demoPassword)
	hall := ada.NewRoom(t, "Hall", with{"timezone": "Europe/Berlin", "approval": with{"required": true, "approver_ids": []int64{grace.User.ID}}})
	den := ada.NewRoom(t, "Den", with{"timezone": "Europe/Berlin", "check_in": with{"required": true, "opens": "24h", "grace": "2h"}})
	soon := inSeconds(72 * 3600).Truncate(time.Hour)
	asked := alan.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{hall.ID}, with{"title": "A request", "attendees": []any{with{"email": "emmy@example.org"}, with{"email": "grace@example.org"}}}))
	running := alan.Book(t, testenv.Booking(inSeconds(2), inSeconds(3*3600), []int64{den.ID}, with{"title": "On now"}))
	ada.Book(t, testenv.Booking(inSeconds(3*3600+20*60), inSeconds(4*3600), []int64{den.ID}, with{"title": "Next"}))

	// Who decides sees until when, and approves with a word.
	b := browse(t, server)
	b.signIn("grace@example.org", demoPassword)
	b.open(at("/meetings/%d", asked.ID))
	b.says("To be decided by")
	b.says("If nobody decides, it is rejected.")
	b.shot("meeting-request")
	b.press("Approve")
	b.await("document.activeElement.matches('dialog .ask input')")
	b.key("With pleasure\r")
	b.await("document.querySelector('dialog .status').innerText.includes('Confirmed')")
	b.says("Grace Hopper")
	b.says("With pleasure")

	// She is invited, too, and answers.
	b.press("Maybe")
	b.await("[...document.querySelectorAll('dialog .three button')].find((e) => e.innerText === 'Maybe').getAttribute('aria-pressed') === 'true'")
	b.await("document.querySelector('dialog .history').innerText.includes('Answered the invitation')")
	b.says("No answer yet → Maybe")
	b.accessible("meeting that was approved")
	b.shot("meeting-approved")
	if m := alan.Meeting(t, asked.ID); m.Attendees[1].Response != "tentative" {
		t.Errorf("answers: %+v", m.Attendees)
	}

	// Its organizer moves it, which waits again.
	o := browse(t, server)
	o.signIn("alan@example.org", demoPassword)
	o.open(at("/meetings/%d", asked.ID))
	o.press("Edit")
	o.await(formOpen)
	o.says("Free at that time") // its own time is not in its way
	o.press("2 h")
	o.press("Save")
	o.await("!document.querySelector('dialog form#booking')")
	o.says("Asked to move to")
	o.says("Until that is decided it stays where it is.")
	o.accessible("meeting that is to move")

	// Whatever changed is told in words, on both sides.
	alan.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", running.ID), with{"reminders": []any{reminder("end", 10*time.Minute, "email")}, "visibility": "private"}, nil)
	o.open(at("/meetings/%d", running.ID))
	o.says("5 minutes before the end, by e-mail → 10 minutes before the end, by e-mail")
	o.says("Public → Private")
	o.says("by itself, at its start")
	o.open(at("/meetings/%d", asked.ID))
	o.says("Asked to move to")
	o.shot("meeting-move")
	o.size(phone)
	o.shot("meeting-move-phone")
	o.dark(true)
	o.open(at("/meetings/%d", asked.ID))
	o.says("Asked to move to")
	o.shot("meeting-move-phone-dark")
	o.size(desk)
	o.dark(false)

	// What takes place is checked in to, goes on for as long as the next lets it, and ends.
	o.open(at("/meetings/%d", running.ID))
	o.await("document.querySelector('dialog .status')?.innerText.includes('In progress')")
	o.press("Check in")
	o.await("document.querySelector('dialog .history').innerText.includes('Checked in')")
	o.says("The room is free until")
	o.await("document.querySelector(`dialog button[aria-label^='+30 min']`).disabled && !document.querySelector(`dialog button[aria-label^='+15 min']`).disabled")
	o.shot("meeting-running")
	o.press("+15 min, 15 minutes longer")
	o.await("document.querySelector('dialog .history').innerText.includes('End: ')")
	o.await("[...document.querySelectorAll('dialog button')].some((e) => e.innerText.trim() === 'End now' && !e.disabled)")
	if m := alan.Meeting(t, running.ID); m.End.Sub(running.End) != 15*time.Minute {
		t.Errorf("goes on until %v, was %v", m.End, running.End)
	}
	o.press("End now")
	o.await("document.querySelector('dialog .status').innerText.includes('Ended')")

	// A stranger may wait for the slot, and is shown no more than that.
	o.open(at("/meetings/%d", find(t, ada, "Next").ID))
	o.await("document.querySelector('dialog .actions')")
	if eval[bool](o, "/Edit|Cancel meeting|Notifications/.test(document.querySelector('dialog').innerText)") {
		t.Error("a stranger is offered what only the organizer may")
	}
	o.press("Wait for this time")
	o.await(formOpen)
	o.says("Taken")
	o.shot("meeting-wait")

	for _, language := range []string{"de", "zh"} {
		o.choose("#menu-language", language)
		o.open(at("/meetings/%d", asked.ID))
		o.await("document.querySelector('dialog .history li')")
		o.accessible("meeting in " + language)
		o.shot("meeting-" + language)
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
	b.await("[...document.querySelectorAll('dialog .ends label')].at(-1).querySelector('input').click() || true")
	b.await("document.querySelectorAll('dialog .dates li').length > 40")
	last := eval[string](b, "[...document.querySelectorAll('dialog .dates li')].at(-1).dataset.date")
	end := time.Now().Add(8760 * time.Hour)
	if at, err := time.Parse(time.DateOnly, last); err != nil || at.After(end) || at.Before(end.AddDate(0, 0, -8)) {
		t.Errorf("the last date is %s, want the last Monday within a year", last)
	}
	// The same hour by Berlin's clocks all the year, another one by the reader's.
	for month, yours := range map[string]string{"-01-": "8:00", "-07-": "7:00"} {
		row := eval[string](b, "[...document.querySelectorAll('dialog .dates li')].find((e) => e.dataset.date.includes(%q)).innerText", month)
		if !strings.Contains(row, "9:00") || !strings.Contains(row, "For you: "+yours) {
			t.Errorf("in month %s: %q", month, row)
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
	b.await("[...document.querySelectorAll('dialog .ends label')].at(0).querySelector('[type=radio]').click() || true")
	b.await("document.querySelectorAll('dialog .dates li').length === 10")
	b.press("Book 10 dates")
	b.await(formShut)
	if ms := booked(t, ada, "Rules"); len(ms) != 10 || ms[9].Start.Sub(ms[0].Start) != 11*24*time.Hour {
		t.Errorf("booked %d dates", len(ms))
	}
}
