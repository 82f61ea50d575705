package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// Screens at doors.
var screens = []screen{
	{"landscape", 1280, 800},
	{"portrait", 800, 1280},
	{"phone", 390, 844},
}

type screen struct {
	name          string
	width, height int64
}

// judged reports whether axe-core looks at this screen: colors depend on the light, everything else on the width.
func (s screen) judged(dark bool) bool {
	return s.name == "landscape" && !dark || s.name == "phone" && dark
}

// tap touches the button or link of that name with a finger; it is large enough for one. One that a busy
// machine let rest there so long that it asks for a menu has done nothing, and touches again.
func (b *tab) tap(name string) {
	b.t.Helper()
	const longPress = 450 // ms; from 500 on it is one
	find := named(name)
	b.until(fmt.Sprintf("a tap on %q", name), func(n int) string {
		aim, err := try[struct {
			Missing string  `json:"missing"`
			X       float64 `json:"x"`
			Y       float64 `json:"y"`
		}](b, fmt.Sprintf("hand.aim(() => %s, %d)", find, n))
		if err != nil {
			return err.Error()
		}
		if aim.Missing != "" {
			return aim.Missing
		}
		if box := eval[[]float64](b, "(hand.missed(), (({ width, height }) => [width, height])(%s.getBoundingClientRect()))", find); box[0] < 60 || box[1] < 60 {
			b.t.Errorf("%q is %.0f x %.0f pixels, too small for a finger", name, box[0], box[1])
		}
		b.watchFinger()
		b.fingertip(fingerDown, aim.X, aim.Y)
		b.fingertip(fingerUp)
		if eval[float64](b, "window.finger.held") < longPress {
			b.await("window.finger.clicked")
		} else if !b.soon("window.finger.clicked") {
			return "rested"
		}
		return ""
	})
}

// named finds the enabled button or link whose name begins with this.
func named(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('button:not(:disabled), a')].find((e) => (e.ariaLabel ?? e.innerText).trim().startsWith(%q))`, name)
}

// shows waits until the screen is in a state.
func (b *tab) shows(state string) {
	b.t.Helper()
	b.await("document.querySelector('[data-state]')?.dataset.state === %q", state)
}

// touch makes the tab a tablet.
func (b *tab) touch(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height, chromedp.EmulateMobile, chromedp.EmulateTouch))
}

// codeAt reads the QR code that is shown.
func (b *tab) codeAt() string {
	b.t.Helper()
	drawn := eval[string](b, `(() => {
		const svg = document.querySelector('.code svg'), size = svg.viewBox.baseVal.width
		const rows = Array.from({ length: size }, () => Array(size).fill('.'))
		for (const [, x, y, n] of svg.querySelector('path').getAttribute('d').matchAll(/M(\d+) (\d+)h(\d+)/g)) rows[y].fill('#', +x, +x + +n)
		return rows.slice(3, -3).map((r) => r.slice(3, -3).join('')).join('\n') })()`)
	text, err := readQR(drawn)
	if err != nil {
		b.t.Fatalf("the code cannot be read: %v\n%s", err, drawn)
	}
	return text
}

// code pairs a device with the door of a room.
func doorCode(t *testing.T, c *testenv.Client, room testenv.Room) string {
	t.Helper()
	var p struct{ Code string }
	c.Want(t, http.StatusCreated, http.MethodPost, at("/rooms/%d/door/pairing", room.ID), nil, &p)
	return p.Code
}

// hang makes the tab the screen at a room's door, without the pairing by hand.
func (b *tab) hang(c *testenv.Client, room testenv.Room) {
	b.t.Helper()
	var paired struct {
		Token string         `json:"token"`
		Room  map[string]any `json:"room"`
	}
	anybody := &testenv.Client{Base: c.Base}
	anybody.Want(b.t, http.StatusOK, http.MethodPost, "/door/pair", with{"code": doorCode(b.t, c, room), "name": "Tablet"}, &paired)
	kept, err := json.Marshal(paired)
	if err != nil {
		b.t.Fatal(err)
	}
	eval[bool](b, "(localStorage.clear(), localStorage.setItem('punctual.door', %q), true)", string(kept))
	b.open(at("/door/%d", room.ID))
	b.await("document.querySelector('h1')?.innerText === %q", room.Name)
	b.await("document.querySelector('.word')")
}

// without wants an expression to tell of no faults, once a screen that was turned is drawn anew.
func (b *tab) without(view, faults string) {
	b.t.Helper()
	found := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(25 * time.Millisecond) {
		if found = eval[string](b, "%s", faults); found == "" {
			return
		}
	}
	b.shot("failed")
	b.t.Errorf("%s: %s", view, found)
}

// inWidth wants nothing to be wider than the screen.
func (b *tab) inWidth(view string) {
	b.t.Helper()
	b.without(view, "(({ scrollWidth }) => scrollWidth > innerWidth ? `${scrollWidth - innerWidth} pixels wider than the screen` : '')(document.documentElement)")
}

// fits wants nothing wider than the screen, and no text that is cut off.
func (b *tab) fits(view string) {
	b.t.Helper()
	const faults = `[
		document.documentElement.scrollWidth > innerWidth ? 'wider than the screen' : '',
		(document.querySelector('.centre')?.scrollHeight ?? 0) > (document.querySelector('.centre')?.clientHeight ?? 0) + 1 ? 'the middle is too high' : '',
		...[...document.querySelectorAll('.word, .lead, .panel button, .time')]
			.filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline' || e.getBoundingClientRect().right > innerWidth)
			.map((e) => 'cut off: ' + e.innerText),
	].filter(Boolean).join(', ')`
	b.without(view, faults)
}

// TestPageDoor: a tablet is paired by its code, books, extends, ends and checks in by touch, switches on
// the second, keeps the day while the server is away, also over a reload, and is set up anew
// when it was removed.
func TestPageDoor(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	zone := noon(t)
	room := ada.NewRoom(t, "Lovelace", with{"timezone": zone.String(), "capacity": 6, "floor": "2", "features": []string{"video", "whiteboard"},
		"check_in": with{"required": true, "opens": "10m", "grace": "5m"}})
	next := inSeconds(40 * 60)
	later := alan.Book(t, testenv.Booking(next, next.Add(time.Hour), []int64{room.ID}, with{"title": "Quarterly review"}))

	// By hand: a wrong code is told, the right one leads to the room.
	b := browse(t, server)
	b.unhurried(30_000) // a question stays, however long axe-core looks at it
	b.touch(1280, 800)
	b.dark(false)
	b.open("/door")
	b.accessible("pairing")
	b.shot("door-pairing")
	for i := range 12 {
		b.await("[...document.querySelectorAll('.boxes span')].filter((e) => e.innerText).length === %d", i)
		b.tap("0")
	}
	b.reads("This code is wrong")
	b.fill("Name of this device (optional)", "Tablet 7")
	office := browse(t, server)
	office.signIn("ada@example.org", demoPassword)
	office.open(at("/admin/rooms/%d", room.ID))
	office.reads("No screens are paired")
	office.press("Create code")
	office.await("document.querySelector('.code strong')")
	office.accessible("a code for a door")
	office.shot("door-admin-code")
	for _, digit := range strings.ReplaceAll(eval[string](office, "document.querySelector('.code strong').innerText"), " ", "") {
		b.tap(string(digit))
	}
	b.await("location.pathname === %q", at("/door/%d", room.ID))
	b.shows("free")
	eval[bool](b, "navigator.serviceWorker.ready.then(() => true)")
	eval[bool](b, "(window.same = true)")
	office.reads("Tablet 7 paired")
	office.await("!document.querySelector('.code')")

	// Free for forty minutes: half an hour fits, an hour does not. The clock is that of the room.
	b.reads("Quarterly review")
	b.await("%s && %s && !%s", named("Book now: 15"), named("Book now: 30"), named("Book now: 60"))
	now := time.Now().In(zone)
	shown := eval[string](b, "document.querySelector('.time').innerText")
	if !slices.ContainsFunc([]time.Time{now.Add(-time.Minute), now, time.Now().In(zone)}, func(at time.Time) bool { return strings.HasPrefix(shown, at.Format("3:04")) }) {
		t.Errorf("the clock shows %s at %v", shown, now)
	}
	before := eval[string](b, "document.querySelector('.time').innerText")
	b.await("document.querySelector('.time').innerText !== %q", before)
	if got, want := b.codeAt(), server.URL+at("/?book=%d", room.ID); got != want {
		t.Errorf("the code of a free room leads to %s, want %s", got, want)
	}

	// Booked, extended as far as it fits, and ended after a question.
	b.tap("Book now: 15")
	b.shows("busy")
	b.told("Booked. The room is yours.")
	b.await("%s && !%s", named("Extend: +15"), named("Extend: +30"))
	walkIn := find(t, alan, "Booked at the door")
	b.tap("Extend: +15")
	b.told("Extended")
	if got := alan.Meeting(t, walkIn.ID).End.Sub(walkIn.End); got != 15*time.Minute {
		t.Errorf("extended by %v", got)
	}
	b.await("!%s", named("Extend: +15"))
	b.tap("End now")
	b.reads("End this meeting?")
	b.accessible("ending")
	b.shot("door-ending")
	b.tap("Keep going")
	b.await("!document.body.innerText.includes('End this meeting?')")
	b.tap("End now")
	b.tap("End meeting")
	b.shows("free")
	if got := alan.Meeting(t, walkIn.ID); got.Status != "ended" {
		t.Errorf("status %s, want ended", got.Status)
	}

	// What others book is there at once. One checks in, by touch or by the code; it starts on the second.
	start := inSeconds(8 * 60)
	soon := alan.Book(t, testenv.Booking(start, start.Add(20*time.Minute), []int64{room.ID}, with{"title": "Takeover", "visibility": "private"}))
	b.live("what another booked", "document.querySelector('[data-state]').dataset.state === 'check_in'")
	if text := eval[string](b, "document.body.innerText"); strings.Contains(text, "Takeover") || strings.Contains(text, "Alan Turing · until "+soon.End.In(zone).Format("3:04")) || !strings.Contains(text, "Private meeting") {
		t.Errorf("a private meeting shows as\n%s", text)
	}
	code := b.codeAt()
	if u, err := url.Parse(code); err != nil || !strings.HasPrefix(code, server.URL+"/check-in?token=") {
		t.Errorf("the code leads to %v %s", u, code)
	} else if res, err := testenv.Browse(http.MethodGet, code, nil); err != nil || res.Status != http.StatusOK || !strings.Contains(string(res.Body), ">Check in</button>") {
		t.Errorf("behind the code: %+v %v", res, err)
	}
	b.accessible("checking in")
	b.tap("Check in")
	b.told("Checked in.")
	b.shows("soon")
	if es := entries(alan.History(t, soon.ID), "checked_in"); len(es) != 1 || es[0].Actor.Name != "door of Lovelace" {
		t.Errorf("checked in: %+v", es)
	}
	cancel(t, alan, soon.ID)
	b.shows("free")
	start = inSeconds(4)
	prompt := alan.Book(t, testenv.Booking(start, start.Add(20*time.Minute), []int64{room.ID}, with{"title": "On the second"}))
	alan.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/check-in", prompt.ID), nil, nil)
	b.shows("busy")
	b.tap("End now")
	b.tap("End meeting")
	b.shows("free")

	// Its language and its looks are the device's own.
	b.tap("Settings")
	b.await("document.querySelector('dialog[open]')")
	b.accessible("settings")
	b.shot("door-settings")
	b.tap("中文")
	b.tap("完成")
	b.reads("空闲")
	b.shot("door-chinese")
	b.tap("设置")
	b.tap("English")
	b.tap("Done")

	// The server goes away: the day stays, also after a reload, and nothing can be done.
	start = inSeconds(2)
	standUp := alan.Book(t, testenv.Booking(start, start.Add(20*time.Minute), []int64{room.ID}, with{"title": "Stand-up"}))
	alan.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/check-in", standUp.ID), nil, nil)
	b.shows("busy")
	b.cutOff(true)
	office.cutOff(true)
	server.Kill()
	b.reads("No connection since")
	b.await("document.querySelectorAll('.panel button').length > 0 && [...document.querySelectorAll('.panel button')].every((e) => e.disabled)")
	b.accessible("offline")
	b.shot("door-offline")
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded anew before it had to be")
	}
	b.open(at("/door/%d", room.ID))
	b.reads("Quarterly review")
	b.reads("No connection since")
	b.shows("busy")

	// Nobody knows the next day.
	day := eval[string](b, "localStorage.getItem('punctual.door.day')")
	eval[bool](b, `(() => { const s = JSON.parse(localStorage.getItem('punctual.door.day')); s.door.day.end = '2020-01-01T00:00:00Z'
		localStorage.setItem('punctual.door.day', JSON.stringify(s)); return true })()`)
	b.open(at("/door/%d", room.ID))
	b.shows("unknown")
	b.accessible("unknown")
	b.shot("door-unknown")
	eval[bool](b, "(localStorage.setItem('punctual.door.day', %q), true)", day)

	// It comes back by itself.
	server.Start(t)
	b.await("!document.body.innerText.includes('No connection')")
	b.shows("busy")
	alan.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/end", standUp.ID), nil, nil)
	b.shows("free")
	b.tap("Book now: 15")
	b.shows("busy")
	b.cutOff(false)

	// Removed, it shows nothing any more and can be set up for another room.
	office.reads("last seen")
	office.press("Remove: Tablet 7")
	office.reads("Remove “Tablet 7”?")
	office.accessible("removing a screen")
	office.shot("door-admin-devices")
	office.click("%s", xpath(`//section//button[normalize-space()="Remove"]`))
	office.reads("No screens are paired")
	office.cutOff(false)
	alan.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", later.ID), nil, nil)
	b.reads("This screen was removed")
	if left := eval[string](b, "JSON.stringify(localStorage)"); strings.Contains(left, "pq_") || strings.Contains(left, "Quarterly") {
		t.Errorf("the device keeps %s", left)
	}
	b.shot("door-removed")
	other := ada.NewRoom(t, "Meitner")
	b.do(chromedp.KeyEvent(doorCode(t, ada, other)))
	b.await("location.pathname === %q", at("/door/%d", other.ID))
	b.await("document.querySelector('h1')?.innerText === 'Meitner'")
	b.open(at("/door/%d", room.ID))
	b.reads("This device shows Meitner")
	b.tap("Back to Meitner")
	b.shows("free")
}

// TestPageDoorLooks: every state on every screen, light and dark, in three languages, fits and is
// accessible. The pictures are kept to be looked at.
func TestPageDoorLooks(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	grace := server.Login(t, "grace@example.org", demoPassword)
	zone := noon(t).String()
	from := func(minutes int) time.Time {
		return time.Now().UTC().Truncate(time.Second).Add(time.Duration(minutes) * time.Minute)
	}
	place := func(name string, fields ...map[string]any) testenv.Room {
		fields = append(fields, with{"timezone": zone, "capacity": 8, "floor": "3", "features": []string{"projector", "video"}})
		return ada.NewRoom(t, name, fields...)
	}
	book := func(by *testenv.Client, room testenv.Room, from, to time.Time, title string) {
		by.Book(t, testenv.Booking(from, to, []int64{room.ID}, with{"title": title}))
	}
	mandatory := with{"check_in": with{"required": true, "opens": "15m", "grace": "10m"}}
	rooms := map[string]testenv.Room{
		"free": place("Curie"), "busy": place("Lovelace"), "check_in": place("Noether", mandatory), "soon": place("Hopper"),
		"pending": place("Large auditorium in the old observatory", with{"approval": with{"required": true, "approver_ids": []int64{grace.User.ID}}}),
		"closed":  place("Meitner"),
	}
	book(alan, rooms["free"], from(75), from(120), "Quarterly planning of the research department with all its partners")
	book(grace, rooms["free"], from(150), from(180), "Interview")
	book(alan, rooms["busy"], from(0), from(50), "Design review")
	book(grace, rooms["busy"], from(55), from(90), "One on one")
	book(grace, rooms["check_in"], from(3), from(63), "Product strategy")
	book(alan, rooms["soon"], from(9), from(39), "Retrospective")
	book(alan, rooms["pending"], from(14), from(90), "Public lecture")
	ada.Want(t, http.StatusCreated, http.MethodPost, "/blackouts", with{"room_id": rooms["closed"].ID, "start": from(-10), "end": from(200), "reason": "New carpet"}, nil)

	b := browse(t, server)
	b.touch(1280, 800)
	b.open("/door")
	for state, room := range rooms {
		b.hang(ada, room)
		b.shows(state)
		for _, s := range screens {
			b.touch(s.width, s.height)
			for _, dark := range []bool{false, true} {
				name := "door-" + state + "-" + s.name
				if dark {
					name += "-dark"
				}
				b.dark(dark)
				b.fits(name)
				if s.judged(dark) {
					b.accessible(name)
				}
				b.shot(name)
			}
		}
		b.touch(1280, 800)
		b.dark(false)
		for _, language := range []string{"de", "zh"} {
			eval[bool](b, "(localStorage.setItem('punctual.language', %q), true)", language)
			b.open(at("/door/%d", room.ID))
			b.shows(state)
			b.fits(state + " in " + language)
			b.shot("door-" + state + "-" + language)
		}
	}
	eval[bool](b, "(localStorage.clear(), true)")
	for _, s := range screens {
		b.touch(s.width, s.height)
		for _, dark := range []bool{false, true} {
			name := "door-pairing-" + s.name
			if dark {
				name += "-dark"
			}
			b.dark(dark)
			b.open("/door")
			b.fits(name)
			if s.judged(dark) {
				b.accessible(name)
			}
			b.shot(name)
		}
	}
}
