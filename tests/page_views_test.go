package tests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/jackc/pgx/v5"

	"punctual/tests/testenv"
)

// weekPlace is an expression for where an hour of a column lies in a room's week: the column and a point in it.
func weekPlace(column int, hour float64) string {
	return fmt.Sprintf(`(() => { const col = document.querySelectorAll('.week .col')[%d], r = col.getBoundingClientRect()
		return [col, r.left + r.width / 2, r.top + r.height * %f * 60 / Number(col.closest('.week').style.getPropertyValue('--length'))] })()`, column, hour)
}

// weekScroll brings an hour into the middle of the view.
func (b *tab) weekScroll(hour float64) {
	b.t.Helper()
	b.await(`(() => { const [col, , y] = %s, box = col.closest('.scroller').getBoundingClientRect()
		col.closest('.scroller').scrollTop += y - (box.top + box.height / 2)
		return true })()`, weekPlace(0, hour))
}

// weekDrag draws with the mouse in a room's week.
func (b *tab) weekDrag(column int, hour float64, toColumn int, toHour float64) {
	b.t.Helper()
	b.weekScroll((hour + toHour) / 2) // so that both ends are in view
	b.drags("[%s, %s]", weekPlace(column, hour), weekPlace(toColumn, toHour))
}

// block is an expression that finds what a week draws for a title.
func block(title string) string {
	return fmt.Sprintf("[...document.querySelectorAll('.week .block')].find((e) => e.innerText.includes(%q))", title)
}

// chord presses a key while others are held.
func (b *tab) chord(key string, held ...chromedp.Modifier) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(key, chromedp.KeyModifiers(held...)))
}

// media shows the page as on paper ("print") or as on a screen ("").
func (b *tab) media(media string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media})
		return err
	}))
}

// quietWeek is the Monday of a week behind the demonstration's, in which no clocks change in Berlin.
func quietWeek(t *testing.T) time.Time {
	t.Helper()
	day := time.Now().UTC().AddDate(0, 0, 21)
	monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	offset := func(day int) int {
		_, ahead := zoned(t, monday.AddDate(0, 0, day).Format(time.DateOnly), "00:00").Zone()
		return ahead
	}
	if offset(0) != offset(7) {
		return monday.AddDate(0, 0, 7)
	}
	return monday
}

// monthsOn is the same day some months later, or the last of a month that has no such day.
func monthsOn(day time.Time, months int) time.Time {
	last := time.Date(day.Year(), day.Month()+time.Month(months)+1, 0, 0, 0, 0, 0, time.UTC)
	return last.AddDate(0, 0, min(0, day.Day()-last.Day()))
}

// TestPageRoomWeek: a room's week says what there is to know of the room; booking, moving and
// extending by mouse and by keyboard, each with a way back; and what others book is there at once.
func TestPageRoomWeek(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	emmy := server.Login(t, "emmy@example.org", demoPassword)
	room := ada.NewRoom(t, "Curie", map[string]any{
		"timezone": "Europe/Berlin", "capacity": 6, "floor": "2", "features": []string{"whiteboard"},
		"policy": map[string]any{
			"opening_hours": []any{with{"days": []string{"MO", "TU", "WE", "TH", "FR"}, "from": "08:00", "to": "20:00"}},
			"min_duration":  "15m", "max_duration": "4h", "buffer_after": "10m",
		},
	})
	start := quietWeek(t)
	date := func(day int) string { return start.AddDate(0, 0, day).Format(time.DateOnly) }
	ada.Want(t, 201, "POST", "/blackouts", with{"room_id": room.ID, "start": zoned(t, date(4), "08:00"), "end": zoned(t, date(4), "12:00"), "reason": "New carpet"}, nil)
	want := func(what string, id int64, day int, from, to string) {
		t.Helper()
		if m := emmy.Meeting(t, id); !m.Start.Equal(zoned(t, date(day), from)) || !m.End.Equal(zoned(t, date(day), to)) {
			t.Errorf("%s: %v to %v, want %s %s to %s", what, m.Start, m.End, date(day), from, to)
		}
	}

	b := browse(t, server)
	b.signIn("emmy@example.org", demoPassword) // in German: her weeks begin on Monday
	b.open(at("/rooms/%d?date=%s", room.ID, date(2)))
	b.await("document.querySelectorAll('.week .col').length === 7")
	if first := eval[string](b, "document.querySelector('.week .head').getAttribute('href')"); first != "/?date="+date(0) {
		t.Errorf("the week begins with %s, want %s", first, date(0))
	}
	for _, fact := range []string{"6 Plätze", "Etage 2", "whiteboard", "Mo – Fr", "08:00 – 20:00", "Dauer: 15 Minuten bis 4 Stunden", "Puffer nach jeder Besprechung: 10 Minuten", "Nächste freie Zeit"} {
		b.reads(fact)
	}
	b.await("document.querySelector('.week .blackout')?.innerText.includes('New carpet')")
	b.await("document.querySelectorAll('.week .closed').length")
	if n := eval[int](b, "document.querySelectorAll('.week .closed').length"); n != 5*2+2 {
		t.Errorf("%d grounds are closed, want two on each working day and the weekend", n)
	}

	// By mouse: drawn, moved to another day, extended.
	b.weekDrag(1, 10.05, 1, 11.45)
	b.await("document.querySelector('dialog[open]')")
	b.fill("Titel", "Mit der Maus\r")
	b.await("!document.querySelector('dialog[open]')")
	b.await("%s", block("Mit der Maus"))
	m := find(t, emmy, "Mit der Maus")
	want("drawn", m.ID, 1, "10:00", "11:30")
	if n := eval[int](b, "document.querySelectorAll('.week .buffer').length"); n != 1 {
		t.Errorf("%d buffers are drawn, want one", n)
	}
	b.shot("week-booked")
	b.weekDrag(1, 10.5, 2, 13.5)
	b.told("Besprechung verschoben")
	want("moved", m.ID, 2, "13:00", "14:30")
	b.await("%s?.id === 'week-%d-2'", block("Mit der Maus"), m.ID)
	b.press("Rückgängig")
	b.told("Änderung rückgängig gemacht")
	want("moved back", m.ID, 1, "10:00", "11:30")
	b.await("%s?.id === 'week-%d-1'", block("Mit der Maus"), m.ID)
	b.weekDrag(1, 11.45, 1, 12.5)
	b.told("Besprechung verschoben")
	b.await("%s?.innerText.includes('12:30')", block("Mit der Maus"))
	want("extended", m.ID, 1, "10:00", "12:30")
	b.press("Rückgängig")
	b.told("Änderung rückgängig gemacht")
	b.await("!%s?.innerText.includes('12:30')", block("Mit der Maus"))
	want("shortened again", m.ID, 1, "10:00", "11:30")

	// Onto what is taken it springs back.
	ada.Book(t, testenv.Booking(zoned(t, date(3), "10:00"), zoned(t, date(3), "12:00"), []int64{room.ID}, with{"title": "Adas"}))
	b.live("what somebody else booked", block("Adas"))
	b.weekDrag(1, 10.5, 3, 10.5)
	b.told("Der Raum ist zu dieser Zeit belegt")
	want("still there", m.ID, 1, "10:00", "11:30")
	b.await("%s?.id === 'week-%d-1'", block("Mit der Maus"), m.ID)

	// By keyboard: to the slot above, past the meeting and to the day beside it; a longer slot; booked.
	b.await("!document.querySelector('.ghost')")
	b.focuses(block("Mit der Maus"))
	b.key(kb.ArrowUp)
	b.await("document.activeElement.matches('.cursor') && document.activeElement?.innerText.includes('09:30')")
	b.key(kb.ArrowDown)
	b.await("document.activeElement === %s", block("Mit der Maus"))
	b.key(kb.ArrowRight)
	b.await("document.activeElement.matches('.cursor')")
	b.chord(kb.ArrowDown, chromedp.ModifierShift)
	b.await("document.activeElement?.innerText.includes('10:45')")
	b.await("document.querySelector('.week [aria-live]')?.innerText.includes('frei')")
	b.accessible("week with a slot in focus")
	b.shot("week-keyboard")
	b.key("\r")
	b.await("document.querySelector('dialog[open]')")
	b.fill("Titel", "Mit Tasten\r")
	b.await("!document.querySelector('dialog[open]')")
	b.await("%s", block("Mit Tasten"))
	k := find(t, emmy, "Mit Tasten")
	want("booked by keys", k.ID, 2, "10:00", "10:45")

	// Moved and extended by keyboard; left as it was.
	b.focuses(block("Mit Tasten"))
	b.key("m")
	b.await("document.querySelector('.ghost')")
	b.key(kb.ArrowRight + kb.Escape)
	b.await("!document.querySelector('.ghost')")
	want("left as it was", k.ID, 2, "10:00", "10:45")
	b.key("m" + kb.ArrowLeft + kb.ArrowLeft + kb.ArrowDown)
	b.chord(kb.ArrowDown, chromedp.ModifierShift)
	b.await("document.querySelector('.ghost')?.innerText.includes('11:15')")
	b.key("\r")
	b.await("%s?.id === 'week-%d-0'", block("Mit Tasten"), k.ID)
	want("moved by keys", k.ID, 0, "10:15", "11:15")
	b.await("document.activeElement === %s", block("Mit Tasten"))
	b.press("Rückgängig")
	b.told("Änderung rückgängig gemacht")
	b.await("%s?.id === 'week-%d-2'", block("Mit Tasten"), k.ID)
	want("moved back by keys", k.ID, 2, "10:00", "10:45")
	// Somebody else's cannot be moved, and opens.
	b.focuses(block("Adas"))
	b.key("m")
	b.await("document.querySelector('.week [aria-live]')?.innerText.includes('nicht verschieben')")
	b.key("\r")
	b.await("document.querySelector('dialog[open]')")
	b.reads("Adas")
	b.click("document.querySelector('dialog[open] header button')")
	b.await("location.pathname + location.search === '/rooms/%d?date=%s'", room.ID, date(2))

	// Called off by others, it is gone.
	ada.Want(t, 200, "POST", at("/meetings/%d/cancel", k.ID), with{}, nil)
	b.live("what somebody else called off", "!"+block("Mit Tasten"))

	// Another week and back; another room by its name.
	b.press("Nächste Woche")
	b.await("document.querySelector('.week .head').getAttribute('href') === '/?date=%s'", date(7))
	b.press("Vorige Woche")
	b.await("%s", block("Adas"))
	b.press("Anderer Raum")
	b.await("document.activeElement.matches('[role=combobox]')")
	b.key("noeth\r")
	b.await("document.querySelector('h1')?.innerText === 'Noether'")
	b.await("location.search === '?date=%s'", date(2))

	// What goes on can be made longer, not moved.
	zone := noon(t)
	soon := inSeconds(2)
	going := emmy.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{ada.NewRoom(t, "Bohr", with{"timezone": zone.String()}).ID}, with{"title": "Läuft"}))
	b.open(at("/rooms/%d?date=%s", going.RoomIDs[0], soon.In(zone).Format(time.DateOnly)))
	b.await("%s?.matches('.in_progress')", block("Läuft"))
	b.focuses(block("Läuft"))
	b.key("m")
	b.await("document.querySelector('.ghost')")
	b.key(kb.ArrowDown + "\r")
	b.told("Besprechung verlängert")
	if m := emmy.Meeting(t, going.ID); !m.Start.Equal(going.Start) || !m.End.Equal(going.End.Add(15*time.Minute)) {
		t.Errorf("extended to %v to %v, want a quarter of an hour more than %v to %v", m.Start, m.End, going.Start, going.End)
	}
	b.await("!document.querySelector('.ghost')")

	// By finger: one that swipes scrolls, one that rests draws.
	b.size(phone)
	b.open(at("/rooms/%d?date=%s", room.ID, date(0)))
	b.await("%s", block("Mit der Maus"))
	b.weekScroll(14)
	b.swipe(0, -120, ".ghost", "[%s]", weekPlace(0, 14.05))
	b.open(at("/rooms/%d?date=%s", room.ID, date(0))) // a swipe has momentum
	b.await("%s", block("Mit der Maus"))
	b.weekScroll(14) // to the middle, where nothing creeps
	at14 := b.steady("[%s, %s]", weekPlace(0, 14.05), weekPlace(0, 15.45))
	x, y, y2 := at14[0][0], at14[0][1], at14[1][1]
	b.fingertip(fingerDown, x, y)
	b.await("document.querySelector('.ghost')")
	b.fingertip(fingerMoves, x, y+30)
	b.fingertip(fingerMoves, x, y2)
	b.await("document.querySelector('.ghost')?.innerText.includes('15:30')")
	b.shot("week-finger")
	b.fingertip(fingerUp)
	b.await("document.querySelector('dialog[open]')")
	b.fill("Titel", "Mit dem Finger\r")
	b.await("!document.querySelector('dialog[open]')")
	f := find(t, emmy, "Mit dem Finger")
	want("drawn by finger", f.ID, 0, "14:00", "15:30")
	b.size(desk)
	b.open(at("/rooms/%d?date=%s", room.ID, date(2)))
	b.await("%s", block("Mit dem Finger"))

	// On paper there is the week alone.
	b.media("print")
	b.await("getComputedStyle(document.querySelector('.shell > header')).display === 'none' && getComputedStyle(document.querySelector('.room .acts')).display === 'none'")
	b.shot("week-printed")
	b.media("")
	b.press("Nächster Raum")
	b.await("document.querySelector('h1')?.innerText !== 'Curie'")

	// A room that is taken now: the next taken time is one to wait for.
	busy := ada.NewRoom(t, "Meitner", with{"timezone": zone.String()})
	soon = inSeconds(300)
	ada.Book(t, testenv.Booking(soon, soon.Add(3*time.Hour), []int64{busy.ID}))
	b.open(at("/rooms/%d", busy.ID))
	b.press("Auf die Warteliste …")
	b.await("document.querySelector('dialog[open]')")
	b.fill("Titel", "Wenn es geht")
	b.press("Auf die Warteliste setzen")
	b.reads("Sie sind die erste Person auf der Warteliste")
	var waits struct {
		Items []struct {
			Meeting struct {
				Title   string
				RoomIDs []int64 `json:"room_ids"`
			}
		}
	}
	emmy.Want(t, 200, "GET", "/waitlist", nil, &waits)
	if len(waits.Items) != 1 || waits.Items[0].Meeting.Title != "Wenn es geht" || !slices.Equal(waits.Items[0].Meeting.RoomIDs, []int64{busy.ID}) {
		t.Errorf("emmy waits for %+v", waits.Items)
	}

	// The browser's own bars have the colour of the theme that was chosen here, not of the system's.
	eval[bool](b, "(localStorage.setItem('punctual.theme', 'dark'), true)")
	b.open(at("/rooms/%d", busy.ID))
	b.await("[...document.querySelectorAll('meta[name=theme-color]')].filter((m) => matchMedia(m.media).matches).map((m) => m.content).join() === '#191e1c'")
}

// gridPlace is an expression for an hour of a day in the row of a room in a week: the row's hours and a point in them.
func gridPlace(room, day, hour int) string {
	return fmt.Sprintf(`(() => { const track = document.querySelector('.grid [data-room="%d"] .track'), r = track.getBoundingClientRect()
		const hours = Number(track.closest('.grid').style.getPropertyValue('--hours')) / 60
		const first = Number(document.querySelector('.axis .hour').dataset.hour)
		return [track, r.left + r.width * (%d + (%d - first) / hours) / 7, r.top + r.height / 2] })()`, room, day, hour)
}

// TestPageOfWeekMonthAndList: all rooms' week, the calendar beside it, the month and the list by mouse and keyboard,
// with the same filters in the address, live; each is accessible and fits a desk and a phone.
func TestPageOfWeekMonthAndList(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	room := ada.NewRoom(t, "Curie", map[string]any{
		"timezone": "Europe/Berlin", "capacity": 6, "features": []string{"harp"},
		"policy": map[string]any{"opening_hours": []any{with{"days": []string{"MO", "TU", "WE", "TH", "FR"}, "from": "08:00", "to": "20:00"}}},
	})
	start := quietWeek(t)
	date := func(day int) string { return start.AddDate(0, 0, day).Format(time.DateOnly) }
	ada.Book(t, testenv.Booking(zoned(t, date(1), "09:00"), zoned(t, date(1), "15:00"), []int64{room.ID}, with{"title": "Half a day"}))
	cell := func(day int) string {
		return fmt.Sprintf("[...document.querySelectorAll('.overview [role=row]')].find((r) => r.innerText.includes('Curie'))?.querySelectorAll('[role=gridcell]')[%d]", day)
	}

	b := browse(t, server)
	b.signIn("emmy@example.org", demoPassword)
	b.open("/week?date=" + date(2))
	b.await("%s?.ariaLabel.includes('Di, 09:00')", shown("Half a day"))
	if rows := eval[int](b, "Number(document.querySelector('.grid').ariaRowCount)"); rows < 6 {
		t.Errorf("%d rows without a filter, want all rooms", rows)
	}
	b.open("/week?features=harp&date=" + date(2))
	b.await("document.querySelector('.grid')?.ariaRowCount === '2'")
	b.await("document.querySelector('.axis .hour')?.dataset.hour === '8'") // its opening hours alone
	ada.Book(t, testenv.Booking(zoned(t, date(3), "08:00"), zoned(t, date(3), "20:00"), []int64{room.ID}, with{"title": "All day"}))
	b.live("what somebody else booked, in the week", shown("All day"))

	// Drawn in the week, moved to another day by mouse and by keyboard, and back.
	mine := server.Login(t, "emmy@example.org", demoPassword)
	id := int(room.ID)
	b.drags("[%s, %s]", gridPlace(id, 0, 10), gridPlace(id, 0, 13))
	b.await("document.querySelector('dialog[open]')")
	b.fill("Titel", "Drawn\r")
	b.await("!document.querySelector('dialog[open]')")
	drawn := find(t, mine, "Drawn")
	on := func(day int) {
		t.Helper()
		if m := mine.Meeting(t, drawn.ID); m.Start.In(zoned(t, date(0), "00:00").Location()).Format(time.DateOnly) != date(day) || m.Start.Hour() != drawn.Start.Hour() {
			t.Errorf("%v, want the same hour on %s", m.Start, date(day))
		}
	}
	on(0)
	b.drags("[%s, %s]", gridPlace(id, 0, 11), gridPlace(id, 2, 11))
	b.told("Besprechung verschoben: Mi")
	on(2)
	b.focuses(shown("Drawn"))
	b.key("m")
	b.await("document.querySelector('.plan')")
	b.chord(kb.ArrowLeft, chromedp.ModifierShift)
	b.chord(kb.ArrowLeft, chromedp.ModifierShift)
	b.await("document.querySelector('.plan').innerText.includes('Mo, ')")
	b.key("\r")
	b.told("Besprechung verschoben: Mo")
	on(0)

	// The calendar beside it: a dot for the meeting, the week by its number, days side by side.
	day := func(d string) string { return fmt.Sprintf(`document.querySelector('aside [data-date="%s"]')`, d) }
	midnight, mineThen := zoned(t, date(0), "00:00"), 0
	for _, whose := range []string{"organizer", "attendee"} { // the demonstration may have others of hers
		mineThen += len(testenv.All[testenv.Meeting](t, mine, "/meetings?status=confirmed&limit=500&"+whose+"=me&from="+midnight.UTC().Format(time.RFC3339)+"&to="+midnight.AddDate(0, 0, 1).UTC().Format(time.RFC3339)))
	}
	b.await("%s?.ariaLabel.includes(', %d meiner Besprechungen')", day(date(0)), mineThen)
	b.focuses(day(date(2)))
	b.key(kb.ArrowDown + kb.ArrowUp + kb.PageDown + kb.PageUp)
	b.focuses(day(date(2)))
	b.chord(kb.ArrowRight, chromedp.ModifierShift)
	b.key("\r")
	b.await("location.pathname === '/' && new URLSearchParams(location.search).get('days') === '2' && document.querySelectorAll('.axis .date').length === 2")
	b.drags("[%s, %s].map((e) => [e, e.getBoundingClientRect().left + 9, e.getBoundingClientRect().top + 9])", day(date(4)), day(date(1)))
	b.await("document.querySelectorAll('.axis .date').length === 4 && %s?.ariaLabel.includes('Di, ')", shown("Half a day"))
	b.click("%s", day(date(1)))
	b.await("!location.search.includes('days') && !document.querySelector('.axis .date')")

	// The month: own meetings by name, the arrows lead over its end, Enter to the day.
	mine.Book(t, testenv.Booking(zoned(t, date(2), "09:00"), zoned(t, date(2), "10:00"), []int64{room.ID}, with{"title": "Emmys"}))
	day = func(d string) string { return fmt.Sprintf(`document.querySelector('.month [data-date="%s"]')`, d) }
	b.open("/month?features=harp&date=" + date(2))
	b.await(`/1 Besprechung, zu 100\s?%% belegt/.test(%s?.innerText)`, day(date(3)))
	b.await("%s.closest('[role=gridcell]').innerText.includes('Emmys')", day(date(2)))
	b.await("%s?.innerText.includes('Geschlossen')", day(date(5)))
	mine.Book(t, testenv.Booking(zoned(t, date(4), "09:00"), zoned(t, date(4), "10:00"), []int64{room.ID}, with{"title": "Noch einer"}))
	b.live("what I booked elsewhere, in the month", day(date(4))+".closest('[role=gridcell]').innerText.includes('Noch einer')")
	b.focuses(day(date(2)))
	b.key(kb.ArrowRight)
	b.await("document.activeElement === %s", day(date(3)))
	b.key(kb.PageDown)
	b.await("document.activeElement.dataset.date?.slice(0, 7) > %q", date(3)[:7])
	b.key(kb.PageUp)
	back := monthsOn(monthsOn(start.AddDate(0, 0, 3), 1), -1).Format(time.DateOnly) // from the 31st it may be the 30th
	b.await("document.activeElement.dataset.date === %q", back)
	b.key("\r")
	b.await("location.pathname === '/' && location.search.includes('date=%s') && location.search.includes('harp')", back)

	// The list: by day and by room, filtered by text, live, read on to its end.
	item := func(title string) string {
		return fmt.Sprintf("[...document.querySelectorAll('.agenda li')].find((e) => e.innerText.includes(%q))", title)
	}
	b.open("/list?date=" + date(0))
	b.await("%s", item("Emmys"))
	b.await("document.querySelector('.agenda .end')")
	b.await("new Set([...document.querySelectorAll('.agenda li')].map((e) => e.children[2].getBoundingClientRect().left)).size === 1") // rooms are in one column
	b.open("/list?q=emmys&date=" + date(0))
	b.await("document.querySelectorAll('.agenda li').length === 1")
	b.open("/list?date=" + date(0))
	ada.Book(t, testenv.Booking(zoned(t, date(9), "09:00"), zoned(t, date(9), "10:00"), []int64{room.ID}, with{"title": "Later"}))
	b.live("what somebody else booked, in the list", item("Later"))
	b.strikes("%s?.querySelector('a')", "\r", item("Later"))
	b.await("document.querySelector('dialog[open]')")
	b.await("%s", item("Later")) // below it everything stays
	b.click("document.querySelector('dialog[open] header button')")
	b.await("location.pathname === '/list'")
	b.press("Nach Räumen")
	b.await("document.querySelector('.list .card')")
	b.await("location.search.includes('group=room')")

	b.open("/list?date=" + date(0))
	b.await("%s", item("Later"))
	b.click("%s", xpath(`//div[contains(@class, 'agenda')]//a[normalize-space()='Curie']`))
	b.await("location.pathname === '/rooms/%d' && document.querySelector('h1')?.innerText === 'Curie'", room.ID)

	b.open(at("/rooms/%d?date=%s", room.ID, date(2)))
	b.judged("room-week", ".week .block")
	b.open(at("/rooms/%d?view=month&date=%s", room.ID, date(2)))
	b.judged("room-month", ".month .bar")
	b.open("/week?date=" + date(2))
	b.judged("week", ".overview .bar, .grid .meeting")
	b.open("/month?date=" + date(2))
	b.judged("month", ".month .own, .dots span")
	b.open("/list?date=" + date(0))
	b.judged("agenda", ".agenda li")

	// A phone has the week in figures, and below the month the meetings of a date.
	b.size(phone)
	b.open("/week?date=" + date(2))
	b.await(`/1 Besprechung, 6 Stunden, zu 50\s?%% belegt/.test(%s?.innerText)`, cell(1))
	b.await("%s?.innerText.includes('Geschlossen')", cell(6))
	b.open("/month?date=" + date(2))
	b.click("%s", day(date(4)))
	b.await("document.querySelector('.month + section')?.innerText.includes('Noch einer')")
	b.await("location.pathname === '/month' && document.querySelector('.month + section a').getAttribute('href').includes('date=%s')", date(4))
}

// lastSunday of a month in the coming year, on which clocks in Berlin change.
func lastSunday(month time.Month) time.Time {
	for year := time.Now().Year(); ; year++ {
		day := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
		day = day.AddDate(0, 0, -int(day.Weekday()))
		if day.After(time.Now().AddDate(0, 0, 2)) {
			return day
		}
	}
}

// TestPageClocksChange: the weeks with a Sunday of 23 and of 25 hours show every meeting where its
// time is and as long as it is, and what is drawn there is booked there.
func TestPageClocksChange(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{YAML: "booking: { limits: { max_advance: 10000h } }\n"})
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin"})
	book := func(title string, start time.Time, length time.Duration) {
		t.Helper()
		admin.Book(t, testenv.Booking(start, start.Add(length), []int64{room.ID}, with{"title": title}))
	}
	autumn, spring := lastSunday(time.October), lastSunday(time.March)
	hour := func(day time.Time, utc float64) time.Time { return day.Add(time.Duration(utc * float64(time.Hour))) }
	book("First pass", hour(autumn, 0.5), 30*time.Minute)  // 02:30 summer time
	book("Second pass", hour(autumn, 1.5), 30*time.Minute) // 02:30 winter time
	book("Through both", hour(autumn, -1), time.Hour+30*time.Minute)
	book("Autumn noon", hour(autumn, 11), time.Hour)
	book("Over the gap", hour(spring, 0.5), time.Hour) // 01:30 to 03:30
	book("Spring noon", hour(spring, 10), time.Hour)

	b := browse(t, server)
	b.signIn(testenv.AdminEmail, testenv.AdminPassword)
	// The place of a block in minutes from the top of its column.
	place := func(title string) (from, to int) {
		t.Helper()
		b.await("%s", block(title))
		xy := eval[[]int](b, `(() => { const e = %s; const s = getComputedStyle(e)
			return [Number(s.getPropertyValue('--from')), Number(s.getPropertyValue('--to'))] })()`, block(title))
		return xy[0], xy[1]
	}
	want := func(title string, from, to int) {
		t.Helper()
		if gotFrom, gotTo := place(title); gotFrom != from || gotTo != to {
			t.Errorf("%s is at %d to %d, want %d to %d", title, gotFrom, gotTo, from, to)
		}
	}

	b.open(at("/rooms/%d?date=%s", room.ID, autumn.Format(time.DateOnly)))
	want("First pass", 150, 180)
	want("Second pass", 210, 240)
	want("Through both", 60, 150)
	want("Autumn noon", 780, 840) // noon is an hour further down
	if hours := eval[int](b, "document.querySelectorAll('.week .hour').length"); hours != 25 {
		t.Errorf("%d hours are named, want 25", hours)
	}
	if gaps := eval[int](b, "document.querySelectorAll('.week .gap').length"); gaps != 6 {
		t.Errorf("%d days lack the hour that comes twice, want 6", gaps)
	}
	eval[bool](b, "(document.querySelector('.week .scroller').scrollTop = 0, true)")
	b.accessible("25 hours")
	b.shot("clocks-back")
	// Drawn at four on that Sunday, which is five hours after midnight.
	column := eval[int](b, "[...document.querySelectorAll('.week .head')].findIndex((e) => e.getAttribute('href').endsWith(%q))", autumn.Format(time.DateOnly))
	b.weekDrag(column, 5.05, column, 5.95)
	b.await("document.querySelector('dialog[open]')")
	b.fill("Title", "Drawn at four\r")
	b.await("!document.querySelector('dialog[open]')")
	want("Drawn at four", 300, 360)
	if m := find(t, admin, "Drawn at four"); !m.Start.Equal(hour(autumn, 3)) || m.End.Sub(m.Start) != time.Hour {
		t.Errorf("drawn at four: %v to %v, want an hour from %v", m.Start, m.End, hour(autumn, 3))
	}

	b.open(at("/rooms/%d?date=%s", room.ID, spring.Format(time.DateOnly)))
	want("Over the gap", 90, 210)
	want("Spring noon", 720, 780)
	if gaps := eval[int](b, "document.querySelectorAll('.week .gap').length"); gaps != 1 {
		t.Errorf("%d days lack an hour, want one", gaps)
	}
	eval[bool](b, "(document.querySelector('.week .scroller').scrollTop = 0, true)")
	b.shot("clocks-forward")

	// The figures of the day are of 25 and of 23 hours.
	for _, change := range []struct {
		day  time.Time
		open int
	}{{autumn, 1500}, {spring, 1380}} {
		day, open := change.day, change.open
		var days struct {
			Items []struct {
				OpenMinutes []int `json:"open_minutes"`
			}
		}
		admin.Want(t, 200, "GET", at("/occupancy?room_id=%d&from=%s", room.ID, day.Format(time.DateOnly)), nil, &days)
		if len(days.Items) != 1 || days.Items[0].OpenMinutes[0] != open {
			t.Errorf("%v is open for %v minutes, want %d", day, days.Items, open)
		}
	}
}

// TestPageManyMeetings: a month of 200 rooms and 20,000 meetings opens soon, and so does their week.
func TestPageManyMeetings(t *testing.T) {
	t.Parallel()
	on := testenv.Config{Database: testenv.Postgres(t)}
	server := testenv.Server(t, on)
	month := time.Now().UTC().AddDate(0, 1, 0).Format("2006-01") + "-01"
	conn, err := pgx.Connect(t.Context(), on.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, q := range []string{
		`INSERT INTO rooms (name, timezone, capacity, policy, created_at, updated_at)
			SELECT 'Room ' || lpad(i::text, 3, '0'), 'Europe/Berlin', 8, '{"opening_hours":[{"days":["MO","TU","WE","TH","FR"],"from":"08:00","to":"20:00"}]}', now(), now() FROM generate_series(1, 200) i`,
		// In each room a hundred: five an hour and a half apart on each of twenty days.
		`INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
			SELECT 'Meeting ' || i, s, s + interval '1 hour', 'Europe/Berlin', (SELECT min(id) FROM users), 'confirmed', 'public', now(), now()
			FROM (SELECT i, '` + month + `'::timestamptz + (i / 200 / 5) * interval '1 day' + interval '7 hours' + (i / 200 % 5) * interval '90 minutes' AS s
				FROM generate_series(0, 19999) i) AS m`,
		`WITH numbered AS (SELECT m.*, (SELECT min(id) FROM rooms) + (m.id - (SELECT min(id) FROM meetings)) % 200 AS room FROM meetings m),
			mr AS (INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, room, 0 FROM numbered)
			INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, room, starts_at, ends_at FROM numbered`,
		`ANALYZE`,
	} {
		if _, err := conn.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}

	b := browse(t, server)
	b.signIn(testenv.AdminEmail, testenv.AdminPassword)
	for _, view := range []struct{ path, shows string }{
		{"/month?date=", "[...document.querySelectorAll('.month .link')].some((e) => e.innerText.includes('1000 meetings'))"},
		{"/week?date=", "document.querySelectorAll('.grid .meeting').length >= 60"},
		{"/list?date=", "document.querySelectorAll('.agenda li').length >= 40"},
		{"/rooms/7?date=", "document.querySelectorAll('.week .block').length >= 5"},
	} {
		began := time.Now()
		b.do(chromedp.Navigate(b.base + view.path + month))
		b.await("%s", view.shows)
		took := time.Since(began)
		calls := eval[string](b, `performance.getEntriesByType('resource').filter((e) => /occupancy|meetings\?/.test(e.name))
			.map((e) => e.name.split('/').pop().split('?')[0] + ' ' + Math.round(e.duration) + ' ms, ' + Math.round(e.encodedBodySize / 1024) + ' kB').join('; ')`)
		t.Logf("%s after %v; asked: %s", view.path, took.Round(time.Millisecond), calls)
		b.shot("many-" + strings.Trim(strings.Split(view.path, "?")[0], "/")[:4])
	}
	// All of a long list is reached by reading on.
	b.open("/week?date=" + month)
	b.await("document.querySelector('.grid .meeting')")
	b.await("(document.querySelector('.grid').scrollTop = 1e6, document.querySelector('.grid .row:last-child').innerText.includes('Room 200'))")
}
