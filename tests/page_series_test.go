package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/tests/testenv"
)

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
	b.says("1 unavailable")
	row := func(n int) string { return fmt.Sprintf("dialog .dates li[data-date='%s']", date(n)) }
	b.await("document.querySelector(%q)?.classList.contains('taken')", row(1))
	eval[bool](b, "(document.querySelector(%q).scrollIntoView({block:'center'}), true)", row(1))
	b.accessible("dates of a series")
	b.shot("form-series")

	// As it is it cannot be booked; what was typed stays.
	b.says("Free on 3 of 4 dates")
	b.press("Resolve 1 conflict")
	b.await("document.activeElement.closest('.dates li.taken')")
	b.choose(row(1)+" select", "other")
	b.await("document.querySelector(%q)?.innerText.includes('Curie spare') || document.querySelector(%q).classList.contains('free')", row(1), row(1))
	b.choose(row(2)+" select", "skip")
	b.await("document.querySelector(%q)?.classList.contains('skipped')", row(2))
	b.await("((s) => hand.choose(s, [...s.options].find((o) => o.text === 'In Curie spare').value))(document.querySelector(%q))", row(1)+" select")
	b.await("document.querySelector(%q)?.innerText.includes('Curie spare')", row(1))
	b.says("all available")
	b.says("1 skipped")
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
	b.says("Which dates do you want to change?")
	b.accessible("which dates to change")
	b.shot("series-scope")
	b.press("Back")

	// From the fourth on two hours later: the fifth cannot be, and is left where it is.
	ask(b, "Edit", "following")
	b.click("%s", xpath(`//form[contains(@class,'ask')]//button[normalize-space()='Edit']`))
	b.await(formOpen)
	b.says("Edit series")
	b.await("document.querySelector('dialog .ends input[type=number]').value === '3'")
	b.choose("dialog [data-part=start] input[type=time]", "11:00")
	b.await("document.querySelectorAll('dialog .dates li').length === 3")
	b.says("1 unavailable")
	b.await("document.querySelector(\"dialog .dates li[data-date='%s']\").classList.contains('taken')", day(4).Format(time.DateOnly))
	eval[bool](b, "(document.querySelector('dialog .dates').scrollIntoView(), true)")
	b.accessible("preview of a change")
	b.shot("series-edit")
	b.press("Save")
	b.says("Some dates are unavailable")
	b.await("[...document.querySelectorAll('dialog .how label')].some((l) => l.innerText === 'Keep them as they are' && (l.querySelector('input').click(), true))")
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
	b.told("Meeting canceled")
	b.await("document.querySelector('dialog .history')?.innerText.includes('Holidays')")
	open(b, 0)
	b.click("document.querySelector('dialog dd details summary')")
	b.says("Skipped dates")
	b.shot("series-dates")
	b.press("Restore")
	b.told("restored in Curie")
	b.await("!document.querySelector('dialog')?.innerText.includes('Skipped dates')")

	// All get another title; then all are called off.
	ask(b, "Edit", "all")
	b.click("%s", xpath(`//form[contains(@class,'ask')]//button[normalize-space()='Edit']`))
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
	b.click("%s", xpath(`//form[contains(@class,'ask')]//button[normalize-space()='Cancel meeting']`))
	b.told("Dates canceled")
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
