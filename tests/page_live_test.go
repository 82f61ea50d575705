package tests

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// live waits for what the stream of events brings. Pages that look by themselves do so every two minutes.
func (b *tab) live(what, expression string) {
	b.t.Helper()
	began := time.Now()
	b.await("%s", expression)
	b.t.Logf("%s took %v", what, time.Since(began).Round(time.Millisecond))
}

// shown is an expression that finds what the grid draws for a title.
func shown(title string) string {
	return fmt.Sprintf("[...document.querySelectorAll('[role=grid] .meeting')].find((e) => e.ariaLabel.includes(%q))", title)
}

// TestPageLive: what others book, what starts and what changes is on the page at once, without a
// reload; the keyboard's focus stays where it is; and the page lives on after the server's restart.
func TestPageLive(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	room := ada.NewRoom(t, "Curie", map[string]any{"timezone": "Europe/Berlin", "capacity": 6})
	// Where it is noon: what begins today ends today.
	zone := noon(t).String()
	grace := server.Login(t, "grace@example.org", demoPassword)
	grace.Want(t, 200, "PATCH", "/me", map[string]any{"timezone": zone}, nil)
	today := ada.NewRoom(t, "Kepler", map[string]any{"timezone": zone})
	date := quietDay()

	a, b := browse(t, server), browse(t, server)
	a.signIn("alan@example.org", demoPassword)
	b.signIn("grace@example.org", demoPassword)
	a.open("/?date=" + date)
	b.open("/?date=" + date)
	b.await("document.querySelector('[role=rowheader]')")

	a.drag("Curie", 9.1, "Curie", 9.9)
	a.await("document.querySelector('dialog[open]')")
	a.fill("Title", "From next door")
	a.press("Book")
	m := find(t, alan, "From next door")
	b.live("what another booked", shown("From next door"))

	// The focus stays on it when others change, and when it changes itself.
	b.focuses(shown("From next door"))
	alan.Book(t, testenv.Booking(zoned(t, date, "13:00"), zoned(t, date, "14:00"), []int64{room.ID}, with{"title": "Beside it"}))
	b.live("the one beside it", shown("Beside it"))
	if got := eval[string](b, "document.activeElement.innerText"); !strings.Contains(got, "From next door") {
		t.Errorf("another meeting came and the focus went to %q", got)
	}
	alan.Want(t, 200, "PATCH", at("/meetings/%d", m.ID), map[string]any{"title": "From far away"}, nil)
	b.live("the new title", shown("From far away"))
	b.await("document.activeElement.innerText.includes('From far away')")

	// What starts shows that it did, here and among one's own. The clock is that of grace, where it is noon.
	eval[bool](b, "(localStorage.setItem('punctual.clock', 'mine'), true)")
	began := time.Now()
	b.open("/")
	a.open("/mine")
	b.await("document.querySelector('[role=rowheader]')")
	a.await("document.querySelector('li.meeting')")
	const states = "[...document.querySelectorAll('[role=grid] .meeting')].filter((e) => e.ariaLabel.includes('About to start')).map((e) => e.classList)"
	eval[bool](b, `(() => { window.was = []
		new MutationObserver(() => { for (const c of %s) for (const s of ['confirmed', 'in_progress']) if (c.contains(s) && window.was.at(-1) !== s) window.was.push(s) })
			.observe(document.querySelector('[role=grid]'), { subtree: true, childList: true, attributes: true }); return true })()`, states)
	start := inGoodTime(began, 18) // it is to be seen before
	alan.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{today.ID}, with{"title": "About to start"}))
	a.reads("About to start")
	b.live("the start", "window.was.join() === 'confirmed,in_progress'")
	a.live("the start of mine", "[...document.querySelectorAll('li.meeting')].some((e) => e.innerText.includes('About to start') && e.innerText.includes('In progress'))")

	// A server that is away for a while is told of, and forgotten when it is back.
	b.cutOff(true)
	a.cutOff(true)
	server.Kill()
	b.reads("Reconnecting…")
	b.accessible("not live")
	b.shot("not-live")
	b.size(phone)
	b.shot("not-live-phone")
	b.size(desk)
	server.Start(t)
	alan.Book(t, testenv.Booking(start.Add(2*time.Hour), start.Add(3*time.Hour), []int64{today.ID}, with{"title": "Back again"}))
	b.await("%s", shown("Back again"))
	for _, each := range []*tab{a, b} {
		each.await("!document.body.innerText.includes('Reconnecting…')")
	}
	alan.Book(t, testenv.Booking(start.Add(4*time.Hour), start.Add(5*time.Hour), []int64{today.ID}, with{"title": "And live"}))
	a.live("after the restart", "document.body.innerText.includes('And live')")
	if !eval[bool](b, "Boolean(window.was)") {
		t.Error("the page was loaded anew")
	}
}

// TestPageManyRooms: a day of 200 rooms and 1,000 meetings is drawn soon, of which only what is
// near the view, also behind a scroll; and a change there leaves the rest alone. It runs by
// itself: what it counts grows when the machine is slow.
func TestPageManyRooms(t *testing.T) {
	server := testenv.Server(t, testenv.Config{})
	admin := server.Admin(t)
	date := quietDay()
	const count = 200
	ids := make(chan int64)
	go func() {
		defer close(ids)
		for i := range count {
			ids <- admin.NewRoom(t, fmt.Sprintf("Room %03d", i), map[string]any{"timezone": "Europe/Berlin", "capacity": 6}).ID
		}
	}()
	var booked sync.WaitGroup
	for range 4 {
		booked.Go(func() {
			for id := range ids {
				for _, hour := range []string{"08:00", "10:00", "12:00", "14:00", "16:00"} {
					start := zoned(t, date, hour)
					admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{id}, with{"title": fmt.Sprintf("At %s in %d", hour, id)}))
				}
			}
		})
	}
	booked.Wait()
	if t.Failed() {
		return
	}

	b := browse(t, server)
	// The page waits for the stream of events as long as it takes, and what is fetched in advance does not come first.
	b.unhurried(300)
	b.signIn(testenv.AdminEmail, testenv.AdminPassword)
	// Without the rooms' zone, which the browser stores, the first visit reads the grid again.
	b.await("document.querySelector('.row')")
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error { // signing in has filled it
		_, err := cdp.Call(ctx, target, network.ClearBrowserCache, cdp.Empty{})
		return err
	}))
	began := time.Now()
	b.do(chromedp.Navigate(b.base + "/?date=" + date))
	b.await("document.querySelectorAll('.row .meeting').length >= 50")
	took := time.Since(began)
	drawn := eval[int](b, "document.querySelectorAll('.row .meeting').length")
	calls := eval[string](b, `performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/v1/grid'))
		.map((e) => Math.round(e.duration) + ' ms, ' + Math.round(e.encodedBodySize / 1000) + ' kB').join('; ')`)
	paint := eval[int](b, "Math.round(performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint')?.startTime ?? 0)")
	// What is asked for later, such as the dots of the small calendar, does not delay the view.
	bytes := eval[int](b, `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
		.filter((e, _, all) => !e.name.includes('/events') && e.startTime < all.find((e) => e.name.includes('/api/v1/grid')).responseEnd).reduce((sum, e) => sum + e.encodedBodySize, 0)`)
	t.Logf("drawn after %v, first paint after %d ms: %d of 1,000 meetings; asked: %s; %d kB in all", took.Round(time.Millisecond), paint, drawn, calls, bytes/1000)
	if bytes > 150_000 {
		t.Errorf("%d bytes were sent before the first view, want at most 150,000", bytes)
	}
	if strings.Contains(calls, ";") {
		t.Errorf("the grid was asked for more than once: %s", calls)
	}
	if drawn > 400 {
		t.Errorf("%d meetings are drawn, want only those near the view", drawn)
	}
	b.shot("many")

	// Far down there are meetings too; what has the focus stays.
	b.focuses(shown("Room 000"))
	frames := eval[string](b, `new Promise((done) => {
		const main = document.querySelector('[role=grid]'), took = []; let last = performance.now()
		const step = (at) => {
			took.push(at - last); last = at; main.scrollTop += 60
			if (main.scrollTop + main.clientHeight < main.scrollHeight - 1) requestAnimationFrame(step)
			else done(took.sort((a, b) => a - b).filter((_, i) => [0.5, 0.95].some((p) => i === Math.floor(p * took.length)) || i === took.length - 1)
				.map(Math.round).join(', ') + ' ms')
		}
		requestAnimationFrame(step)
	})`)
	b.await("%s", shown("Room 199"))
	b.await("document.querySelectorAll('.row .meeting').length <= 400") // what was scrolled away is not drawn
	t.Logf("scrolled through; median, 95th percentile and longest frame: %s", frames)
	if !eval[bool](b, "document.activeElement.ariaLabel.includes('Room 000')") {
		t.Error("the focus was lost on the way")
	}
	b.shot("many-end")

	// A change of one meeting is a change of one element.
	eval[bool](b, `(() => { window.changes = 0
		new MutationObserver((all) => { for (const c of all) window.changes += [...c.addedNodes].filter((n) => n.nodeType === Node.ELEMENT_NODE).length })
			.observe(document.querySelector('[role=grid]'), { childList: true, subtree: true }); return true })()`)
	rooms := testenv.All[testenv.Room](t, admin, "/rooms?limit=500")
	at := zoned(t, date, "18:00")
	admin.Book(t, testenv.Booking(at, at.Add(time.Hour), []int64{rooms[len(rooms)-1].ID}, with{"title": "One more"}))
	b.live("one more", shown("One more"))
	if n := eval[int](b, "window.changes"); n != 1 {
		t.Errorf("one more meeting drew %d elements, want its own", n)
	}
}
