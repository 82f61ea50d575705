package tests

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"punctual/tests/testenv"
)

// mouse presses, moves or releases the left button at a place.
func (b *tab) mouse(what input.DispatchMouseEventType, x, y float64) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: what, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1,
		})
		return err
	}))
}

const (
	fingerDown  = input.DispatchTouchEventTypeTouchStart
	fingerMoves = input.DispatchTouchEventTypeTouchMove
	fingerUp    = input.DispatchTouchEventTypeTouchEnd
)

// fingertip is put somewhere, moved, or lifted.
func (b *tab) fingertip(what input.DispatchTouchEventType, at ...float64) {
	b.t.Helper()
	points := []*input.TouchPoint{}
	if len(at) == 2 {
		points = append(points, &input.TouchPoint{X: at[0], Y: at[1]})
	}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: what, TouchPoints: points})
		return err
	}))
}

// steady is where places are that an expression finds, each an element and a point in it: once they stand
// still and nothing else lies there.
func (b *tab) steady(format string, args ...any) (points [][]float64) {
	b.t.Helper()
	find := fmt.Sprintf(format, args...)
	b.until(find, func(int) string {
		at, err := try[struct {
			Missing string      `json:"missing"`
			Points  [][]float64 `json:"points"`
		}](b, fmt.Sprintf("hand.steady(() => %s)", find))
		if err != nil {
			return err.Error()
		}
		points = at.Points
		return at.Missing
	})
	eval[bool](b, "(hand.dropped(), true)") // what comes is no drag of the mouse
	return points
}

// rest is how many milliseconds a finger may be at a place before the grid takes that for a drag.
const rest = 350

// watchFinger notes in window.finger how long the next finger rests, and whether a click comes of it.
func (b *tab) watchFinger() {
	b.t.Helper()
	eval[bool](b, `(() => {
		const f = (window.finger = { held: 0, clicked: false }), once = { once: true, capture: true }
		let at
		addEventListener('pointerdown', () => (at = performance.now()), once)
		for (const type of ['pointermove', 'pointerup', 'pointercancel']) addEventListener(type, () => (f.held ||= performance.now() - at), once)
		addEventListener('click', () => (f.clicked = true), once)
		return true })()`)
}

// tapAt touches with a finger what steady finds, for a moment only. One that a busy machine let rest there
// has done nothing when it is lifted, and is put there again.
func (b *tab) tapAt(format string, args ...any) {
	b.t.Helper()
	b.until("a tap", func(int) string {
		at := b.steady(format, args...)[0]
		b.watchFinger()
		b.fingertip(fingerDown, at[0], at[1])
		b.fingertip(fingerUp)
		if eval[float64](b, "window.finger.held") >= rest-20 {
			return "rested"
		}
		return ""
	})
}

// swipe moves a finger away from what steady finds, before it rests there, and wants nothing to be drawn.
func (b *tab) swipe(byX, byY float64, drawn, format string, args ...any) {
	b.t.Helper()
	b.until("a swipe", func(int) string {
		at := b.steady(format, args...)[0]
		b.watchFinger()
		b.fingertip(fingerDown, at[0], at[1])
		for i := 1.0; i <= 10; i++ {
			b.fingertip(fingerMoves, at[0]+byX*i/10, at[1]+byY*i/10)
			if i > 3 || !eval[bool](b, "Boolean(document.querySelector(%q)) && window.finger.held >= %d", drawn, rest-20) {
				continue
			}
			b.key(kb.Escape)
			b.fingertip(fingerUp)
			b.await("!document.querySelector(%q)", drawn)
			return "rested"
		}
		b.fingertip(fingerUp)
		if eval[bool](b, "Boolean(document.querySelector(%q))", drawn+", dialog[open]") {
			b.t.Error("a swipe drew")
		}
		return ""
	})
}

// focuses puts the keyboard on what an expression finds, and waits until it stays there.
func (b *tab) focuses(find string) {
	b.t.Helper()
	b.types(find, find, "", false)
}

// edge drags the start or the end of what the grid draws for a title to an hour of a room.
func (b *tab) edge(title, edge, room string, hour float64) {
	b.t.Helper()
	b.drags(`(() => { const e = %s.querySelector('[data-edge=%s]'), r = e.getBoundingClientRect()
		return [[e, r.left + r.width / 2, r.top + r.height / 2], hand.hour(%q, %f)] })()`, shown(title), edge, room, hour)
}

// shift types a key with Shift, ctrl with Ctrl.
func (b *tab) shift(keys string) { b.with(chromedp.ModifierShift, keys) }
func (b *tab) ctrl(keys string)  { b.with(chromedp.ModifierCtrl, keys) }

func (b *tab) with(m chromedp.Modifier, keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys, chromedp.KeyModifiers(m)))
}

// stroke presses a key as a keyboard does: its character comes with the key, and not when that is prevented.
// Sent on its own, as by key, it gets to the field that has the focus by then.
func (b *tab) stroke(key rune) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, p := range kb.Encode(key) {
			stroke := *p
			switch p.Type {
			case input.DispatchKeyEventTypeRawKeyDown:
				stroke.Type = input.DispatchKeyEventTypeKeyDown
				stroke.Text = string(key)
			case input.DispatchKeyEventTypeChar:
				continue
			}
			if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, stroke); err != nil {
				return err
			}
		}
		return nil
	}))
}

// cellSays waits until the cell with the focus is called something with all of these words.
func (b *tab) cellSays(words ...string) {
	b.t.Helper()
	for _, w := range words {
		b.await("document.activeElement.closest('[role=grid]') && (document.activeElement.ariaLabel ?? document.activeElement.innerText).includes(%q)", w)
	}
}

// walks types an arrow key and waits until another cell has the focus.
func (b *tab) walks(arrow string) {
	b.t.Helper()
	eval[bool](b, "(window.was = document.activeElement.ariaLabel, true)")
	b.key(arrow)
	b.await("document.activeElement.closest('[role=grid]') && document.activeElement.ariaLabel !== window.was")
}

// announced waits until the grid says something aloud.
func (b *tab) announced(pattern string) {
	b.t.Helper()
	b.await("[...document.querySelectorAll('[role=status]')].some((e) => /%s/.test(e.innerText))", pattern)
}

// noon is a zone in which it is about noon: no day begins or ends there while a test runs.
func noon(t *testing.T) *time.Location {
	t.Helper()
	ahead := 12 - time.Now().UTC().Hour()
	zone, err := time.LoadLocation(fmt.Sprintf("Etc/GMT%+d", -ahead)) // whose signs are those of POSIX
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// held waits until the server has a meeting in a room from one time to another.
func held(t *testing.T, c *testenv.Client, id, room int64, start, end time.Time) {
	t.Helper()
	var m testenv.Meeting
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if m = c.Meeting(t, id); m.Start.Equal(start) && m.End.Equal(end) && m.RoomIDs[0] == room {
			return
		}
	}
	t.Errorf("meeting %d is in %v from %v to %v, want %d from %v to %v", id, m.RoomIDs, m.Start, m.End, room, start.UTC(), end.UTC())
}

// TestPageGridMouse: a meeting's edges and the meeting itself are dragged, to another room in
// another zone too; what is in the way is told meanwhile; a refusal puts it back with the reason;
// every change has a way back; and another browser sees it at once.
func TestPageGridMouse(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	date := quietDay()
	meitner := ada.NewRoom(t, "Meitner", with{"timezone": "Europe/Berlin", "policy": with{"step": "30m"}})
	tokyo := ada.NewRoom(t, "Yukawa", with{"timezone": "Asia/Tokyo"})
	shut := ada.NewRoom(t, "Curie", with{"timezone": "Europe/Berlin", "policy": with{"opening_hours": []any{
		with{"days": []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, "from": "08:00", "to": "12:00"}}}})
	hour := func(clock string) time.Time { return zoned(t, date, clock) }
	m := alan.Book(t, testenv.Booking(hour("10:00"), hour("11:00"), []int64{meitner.ID}, with{"title": "Elastic"}))
	ada.Book(t, testenv.Booking(hour("14:00"), hour("15:00"), []int64{meitner.ID}, with{"title": "Hidden", "visibility": "private"}))

	b, other := browse(t, server), browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	other.signIn("grace@example.org", demoPassword)
	for _, each := range []*tab{b, other} {
		each.open("/?date=" + date)
		each.await("%s", shown("Elastic"))
	}
	b.await("document.querySelector('.meeting.private')")
	if eval[bool](b, "document.body.innerText.includes('Hidden')") {
		t.Error("a private meeting of others is named")
	}

	// Its end, to the room's next half hour; and back by the key.
	b.edge("Elastic", "end", "Meitner", 12.4)
	b.told("Meeting moved")
	held(t, alan, m.ID, meitner.ID, hour("10:00"), hour("12:30"))
	other.await("%s.ariaLabel.includes('12:30')", shown("Elastic"))
	b.press("Undo")
	b.told("Change undone")
	held(t, alan, m.ID, meitner.ID, hour("10:00"), hour("11:00"))

	// Its start.
	b.edge("Elastic", "start", "Meitner", 9.1)
	b.told("Meeting moved")
	held(t, alan, m.ID, meitner.ID, hour("09:00"), hour("11:00"))

	// While it is dragged onto another it says so; Escape leaves all as it was.
	from := b.steady(`[hand.hour("Meitner", 10.5), hand.hour("Meitner", 15)]`)
	x, y, x2 := from[0][0], from[0][1], from[1][0]
	b.mouse(chromedp.MousePressed, x, y)
	b.mouse(chromedp.MouseMoved, x+20, y)
	b.mouse(chromedp.MouseMoved, x2, y)
	b.await("document.querySelector('.plan.bad')?.innerText.includes('Taken: Busy')")
	b.shot("dragged-onto")
	b.key(kb.Escape)
	b.await("!document.querySelector('.plan')")
	b.mouse(chromedp.MouseReleased, x2, y)
	held(t, alan, m.ID, meitner.ID, hour("09:00"), hour("11:00"))

	// To a room in another zone: all rows follow the clock of most rooms.
	b.drag("Meitner", 10.5, "Yukawa", 15.5)
	b.told("Meeting moved")
	b.await("document.querySelectorAll('.toast .act').length === 1") // the way back is from the last change alone
	start := hour("14:00")
	held(t, alan, m.ID, tokyo.ID, start, start.Add(2*time.Hour))
	other.await("%s.closest('.row').innerText.includes('Yukawa')", shown("Elastic"))

	// Where a room is closed the server refuses, with its reason, and it springs back.
	b.drag("Yukawa", 15, "Curie", 17)
	b.told("isn’t open")
	b.await("%s.closest('.row').innerText.includes('Yukawa')", shown("Elastic"))
	held(t, alan, m.ID, tokyo.ID, start, start.Add(2*time.Hour))

	// A click on free time asks for that hour; one on a meeting opens it.
	free := b.steady(`[hand.hour("Curie", 9.2)]`)[0]
	b.do(chromedp.MouseClickXY(free[0], free[1]))
	b.await("document.querySelector('dialog[open]')")
	b.fill("Title", "By a click")
	b.press("Book")
	booked := find(t, alan, "By a click")
	held(t, alan, booked.ID, shut.ID, hour("09:00"), hour("10:00"))
	b.await("!document.querySelector('dialog[open]')")
	b.click("%s", shown("By a click"))
	b.await("location.pathname === '/meetings/%d'", booked.ID)
}

// TestPageGridKeys: all of it without a pointer, and said aloud.
func TestPageGridKeys(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	date := quietDay()
	hour := func(clock string) time.Time { return zoned(t, date, clock) }
	first := ada.NewRoom(t, "Alpha", with{"timezone": "Europe/Berlin"})
	second := ada.NewRoom(t, "Beta", with{"timezone": "Europe/Berlin"})
	ada.Book(t, testenv.Booking(hour("11:00"), hour("12:00"), []int64{second.ID}, with{"title": "Of others"}))

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.open("/?q=a&date=" + date)
	b.await("%s", shown("Of others"))
	b.choose("input[type=search]", "")
	b.await("!location.search.includes('q=') && document.querySelector('[role=grid]').ariaRowCount === '%d'", len(testenv.All[testenv.Room](t, ada, "/rooms"))+1)
	b.await("document.querySelectorAll('.grid [tabindex=\"0\"]').length === 1") // in the order of Tab
	b.focus("[role=grid] [tabindex=\"0\"]")
	b.ctrl(kb.Home)
	b.key(kb.Home)
	b.cellSays("free")
	for range 40 { // down to Alpha; the demo's rooms stand above
		if eval[bool](b, "document.activeElement.ariaLabel.startsWith('Alpha')") {
			break
		}
		b.walks(kb.ArrowDown)
	}
	b.cellSays("Alpha")
	for range 18 { // half an hour each
		b.walks(kb.ArrowRight)
	}
	b.cellSays("Alpha", "9:00", "9:30", "free")
	b.shift(kb.ArrowRight)
	b.shift(kb.ArrowRight)
	b.announced("9:00.*10:00")
	b.shot("selected")
	b.stroke('\r')
	b.await("document.querySelector('dialog[open]')")
	// Meanwhile the rooms are read anew, and the time that was chosen has no cell any more.
	const chosen = "document.querySelector('.slot')?.ariaLabel.startsWith('Alpha')"
	b.await(chosen)
	eval[bool](b, "dispatchEvent(new Event('focus'))")
	b.await("!" + chosen)
	b.fill("Title", "By the keys\r")
	m := find(t, alan, "By the keys")
	held(t, alan, m.ID, first.ID, hour("09:00"), hour("10:00"))
	b.told("Room booked")
	b.cellSays("By the keys") // where one goes on

	// Down a room and an hour and a half on, onto the meeting of others: that is said. Then behind it.
	b.key("m")
	b.announced("Moving By the keys")
	b.key(kb.ArrowDown)
	for range 6 {
		b.key(kb.ArrowRight)
	}
	b.announced("Taken: Of others")
	for range 6 {
		b.key(kb.ArrowRight)
	}
	b.key("\r")
	b.told("Meeting moved")
	held(t, alan, m.ID, second.ID, hour("12:00"), hour("13:00"))
	b.cellSays("By the keys", "Beta")

	// Its end, its start, and nothing by Escape; and the way back.
	b.key("e" + kb.ArrowRight + kb.ArrowRight + "\r")
	b.told("Meeting moved")
	held(t, alan, m.ID, second.ID, hour("12:00"), hour("13:30"))
	b.await("%s.ariaLabel.includes('1:30')", shown("By the keys"))
	b.key("s" + kb.ArrowRight + kb.Escape)
	b.announced("Nothing changed")
	b.key("s" + kb.ArrowRight + "\r")
	b.told("12:15")
	held(t, alan, m.ID, second.ID, hour("12:15"), hour("13:30"))
	b.cellSays("By the keys")
	b.ctrl("z")
	b.told("Change undone")
	held(t, alan, m.ID, second.ID, hour("12:00"), hour("13:30"))
	b.cellSays("By the keys")

	// What is somebody else's stays, and says why.
	for range 3 {
		b.walks(kb.ArrowLeft)
		if eval[bool](b, "document.activeElement.ariaLabel.includes('Of others')") {
			break
		}
	}
	b.cellSays("Of others")
	b.key("m")
	b.announced("Only the organizer")
	b.key("\r")
	b.await("location.pathname.startsWith('/meetings/') && document.querySelector('dialog[open]')")
	b.key(kb.Escape)
	b.await("location.pathname === '/'")
	b.cellSays("Of others")

	// The room's name books it; letters lead elsewhere, unless they are turned off.
	eval[bool](b, "(document.activeElement.blur(), true)")
	day := date
	heading := eval[string](b, "document.querySelector('h1').innerText")
	b.key("j")
	b.await("!location.search.includes(%q) && document.querySelector('h1').innerText !== %q", day, heading)
	b.key("k")
	b.await("location.search.includes(%q) && document.querySelector('h1').innerText === %q", day, heading)
	b.key("?")
	b.await("document.querySelector('dialog[open] kbd')")
	b.accessible("shortcuts")
	b.click("document.querySelector('dialog[open] input[type=checkbox]')")
	b.await("document.querySelector('dialog[open] input[type=checkbox]').checked === false")
	b.key(kb.Escape)
	b.await("!document.querySelector('dialog[open]')")
	b.key("t")
	if b.soon("!location.search.includes('" + day + "')") {
		t.Error("a letter acts although that was turned off")
	}
}

// TestPageGridShades: what is closed, blocked, kept free and past is shaded and named; filters,
// alone and together, are in the address; nothing of it is inaccessible in any theme or width.
func TestPageGridShades(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	date := quietDay()
	hour := func(clock string) time.Time { return zoned(t, date, clock) }
	var site struct{ ID int64 }
	ada.Want(t, 201, "POST", "/sites", with{"name": "Annex", "timezone": "Europe/Berlin"}, &site)
	lab := ada.NewRoom(t, "Laboratory", with{"site_id": site.ID, "capacity": 12, "features": []string{"fume hood", "video"}, "policy": with{
		"buffer_before": "15m", "buffer_after": "30m",
		"opening_hours": []any{with{"days": []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, "from": "08:00", "to": "18:00"}}}})
	ada.NewRoom(t, "Store", with{"site_id": site.ID, "capacity": 2})
	ada.Book(t, testenv.Booking(hour("10:00"), hour("11:00"), []int64{lab.ID}, with{"title": "Titration"}))
	ada.Want(t, 201, "POST", "/blackouts", with{"room_id": lab.ID, "start": hour("13:00"), "end": hour("15:00"), "reason": "Painters"}, nil)

	b := browse(t, server)
	b.signIn("ada@example.org", demoPassword)
	b.open("/?date=" + date + "&site=" + at("%d", site.ID))
	b.await("%s", shown("Titration"))
	if rooms := eval[string](b, "[...document.querySelectorAll('[role=rowheader] .name')].map((e) => e.innerText.trim()).join()"); rooms != "Laboratory,Store" {
		t.Errorf("on the site are %q", rooms)
	}
	// Where each shade lies, in hours of the day.
	shades := eval[string](b, `(() => {
		const track = [...document.querySelectorAll('.row')].find((e) => e.innerText.includes('Laboratory')).querySelector('.track')
		const { left, width } = track.getBoundingClientRect()
		return [...track.querySelectorAll('.shade')].map((e) => {
			const r = e.getBoundingClientRect(), h = (x) => Math.round((x - left) / width * 96) / 4
			return e.classList[1] + ' ' + h(r.left) + '-' + h(r.right) }).sort().join(', ') })()`)
	if want := "blackout 13-15, buffer 11-11.5, buffer 9.75-10, closed 0-8, closed 18-24"; shades != want {
		t.Errorf("shaded is %q, want %q", shades, want)
	}
	for _, word := range []string{"Painters", "Closed"} {
		b.await("document.querySelector('[role=grid]').innerText.includes(%q)", word) // once there is room for it
	}
	if n := eval[int](b, "document.querySelectorAll('.past').length"); n != 0 {
		t.Errorf("%d rows of a coming day are past", n)
	}

	// Filters.
	count := func(want int) {
		t.Helper()
		b.await("document.querySelectorAll('[role=rowheader]').length === %d", want)
	}
	b.press("Features")
	b.await("document.querySelector('#day-features:popover-open')")
	b.click("%s", xpath(`//label[normalize-space()='fume hood']`))
	count(1)
	b.await("new URLSearchParams(location.search).get('features') === 'fume hood'")
	b.key(kb.Escape)
	b.press("Clear filters")
	b.await("document.querySelectorAll('[role=rowheader]').length > 2")
	b.choose("select[aria-label=Capacity]", "12")
	b.choose("select[aria-label=Site]", at("%d", site.ID))
	count(1)
	b.press("Clear filters")
	b.await("location.search === %q", "?date="+date)
	eval[bool](b, "(document.activeElement.blur(), true)")
	b.stroke('/')
	b.await("document.activeElement.matches('input[type=search]')")
	b.key("titra ")
	count(1) // by a meeting there
	b.await("location.search.includes('q=titra')")
	b.key("nothing")
	b.await("document.activeElement.value === 'titra nothing'")
	b.reads("No rooms match")
	b.open("/?q=labor&date=" + date)
	count(1)

	for _, look := range looks {
		name := "shades-" + look.name
		b.size(look.device)
		b.dark(look.dark)
		b.open("/?date=" + date + "&site=" + at("%d", site.ID))
		b.await("document.querySelector('main').innerText.includes('Titration')")
		b.accessible(name)
		b.shot(name)
		b.inWidth(name)
	}

	// Today there is a line at now, and it moves with the seconds.
	zone := noon(t)
	ada.Want(t, 201, "POST", "/sites", with{"name": "Far away", "timezone": zone.String()}, &site)
	ada.NewRoom(t, "Observatory", with{"site_id": site.ID})
	minute := func() float64 {
		now := time.Now().In(zone)
		return float64(now.Hour()*60 + now.Minute())
	}
	b.size(desk)
	b.dark(false)
	b.open("/?site=" + at("%d", site.ID))
	b.await("document.querySelector('.past')")
	since := minute()
	before := eval[float64](b, "Number(document.querySelector('.past').style.getPropertyValue('--to'))")
	if until := minute(); before < since-1 || before > until+1 {
		t.Errorf("now is drawn at minute %v, the clock says %v to %v", before, since, until)
	}
	b.await("Number(document.querySelector('.past').style.getPropertyValue('--to')) > %v", before)
}

// TestPageGridTouch: on a tablet a swipe scrolls, a finger that rests draws, and a tap books or opens.
func TestPageGridTouch(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	date := quietDay()
	hour := func(clock string) time.Time { return zoned(t, date, clock) }
	room := ada.NewRoom(t, "Franklin", with{"timezone": "Europe/Berlin"})

	b := browse(t, server)
	b.signIn("alan@example.org", demoPassword)
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true, MaxTouchPoints: 1})
		return err
	}))
	b.open("/?q=franklin&date=" + date)
	b.await("document.querySelectorAll('[role=rowheader]').length === 1")

	// A finger that rests.
	at := b.steady(`[hand.hour("Franklin", 10.1), hand.hour("Franklin", 11.4)]`)
	x, y, x2 := at[0][0], at[0][1], at[1][0]
	b.fingertip(fingerDown, x, y)
	b.await("document.querySelector('.plan')")
	for i := 1; i <= 8; i++ {
		b.fingertip(fingerMoves, x+(x2-x)*float64(i)/8, y)
	}
	b.await("/10:00.*11:30/.test(document.querySelector('.plan').innerText)")
	b.shot("touch-drawn")
	b.fingertip(fingerUp)
	b.await("document.querySelector('dialog[open]')")
	b.fill("Title", "By a finger")
	b.press("Book")
	m := find(t, alan, "By a finger")
	held(t, alan, m.ID, room.ID, hour("10:00"), hour("11:30"))
	b.await("!document.querySelector('dialog[open]')")
	b.await("%s", shown("By a finger"))

	// It moves with the finger too.
	at = b.steady(`[hand.hour("Franklin", 10.75), hand.hour("Franklin", 11.75)]`)
	x, y, x2 = at[0][0], at[0][1], at[1][0]
	b.fingertip(fingerDown, x, y)
	b.await("document.querySelector('.plan')")
	for i := 1; i <= 8; i++ {
		b.fingertip(fingerMoves, x+(x2-x)*float64(i)/8, y)
	}
	b.fingertip(fingerUp)
	b.told("Meeting moved")
	held(t, alan, m.ID, room.ID, hour("11:00"), hour("12:30"))
	b.await("%s.ariaLabel.includes('11:00')", shown("By a finger"))
	b.tapAt(`[hand.hour("Franklin", 11.5)]`)
	b.await("location.pathname === '/meetings/%d' && document.querySelector('dialog[open]')", m.ID)
	b.press("Close")
	b.await("!document.querySelector('dialog[open]')")

	// A swipe goes to later hours and draws nothing.
	left := eval[float64](b, "document.querySelector('[role=grid]').scrollLeft")
	b.swipe(-80, 0, ".plan", `[hand.hour("Franklin", 10)]`)
	b.await("document.querySelector('[role=grid]').scrollLeft > %v", left+20)
}
