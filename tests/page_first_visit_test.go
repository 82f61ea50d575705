package tests

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// TestPageFirstVisit: a browser that does not know the rooms' zone reads the grid once. All
// invitations are accepted at once. An undo of a change of length keeps the panel of a room now.
func TestPageFirstVisit(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	server.Login(t, "ada@example.org", demoPassword).NewRoom(t, "At hand", with{"timezone": "Europe/Berlin"})
	b := browse(t, server)
	// The page waits for the stream of events as long as it takes, and what is fetched in advance does not come first.
	b.unhurried(300)
	b.signIn("grace@example.org", demoPassword)
	b.await("document.querySelector('main [role=grid] [role=row]')")
	b.await("localStorage.getItem('punctual.room-zone')")
	b.await("!document.querySelector('[aria-busy=true]')")
	requests := "performance.getEntriesByType('resource').map((e) => new URL(e.name).pathname).filter((p) => p.startsWith('/api/v1/'))"
	if all := eval[[]string](b, "%s", requests); strings.Count(strings.Join(all, " "), "/api/v1/grid") != 1 {
		t.Errorf("the first visit requests %q", all)
	}

	// Nothing moves when the clock of the rooms gets its place in the bar.
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchScript})
		return err
	}))
	eval[bool](b, "(localStorage.removeItem('punctual.room-zone'), true)")
	b.open("/")
	b.await("document.querySelector('aside [data-date]') && document.querySelector('.grid .row')")
	b.settle()
	if shift := eval[float64](b, "shifted.sum"); shift > 0.02 {
		t.Errorf("the first visit moves by %.3f: %q", shift, eval[[]string](b, "shifted.by"))
	}

	// The next visit outlines the rooms before any answer, and needs few requests until they are shown.
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `{
			const real = fetch, visit = (globalThis.visit = { answers: 0, outlined: 0, needed: [] })
			fetch = async (...request) => {
				const answer = await real(...request)
				await new Promise((done) => setTimeout(done, 200))
				visit.answers++
				return answer
			}
			new MutationObserver(() => {
				if (!visit.answers) visit.outlined = Math.max(visit.outlined, document.querySelectorAll('.view > [aria-hidden] .label').length)
				if (!visit.needed.length && document.querySelector('.grid .row')) visit.needed = performance.getEntriesByType('resource').map((e) => e.name)
			}).observe(document, { subtree: true, childList: true })
		}`})
		return err
	}))
	b.open("/")
	b.await("document.querySelector('aside [data-date]') && document.querySelector('.grid .row')")
	b.settle()
	rows := eval[int](b, "document.querySelectorAll('.grid .row').length")
	if outlined := eval[int](b, "visit.outlined"); outlined != rows {
		t.Errorf("%d rooms are outlined before any answer, of %d", outlined, rows)
	}
	// The document and the stream of events are not among them.
	if needed := eval[[]string](b, "visit.needed"); len(needed)+2 > 12 {
		t.Errorf("the view needs %d requests: %q", len(needed)+2, needed)
	}
	if shift := eval[float64](b, "shifted.sum"); shift > 0.02 {
		t.Errorf("the next visit moves by %.3f: %q", shift, eval[[]string](b, "shifted.by"))
	}

	b.open("/mine")
	b.await("document.querySelector('[aria-labelledby=invitations] header button')")
	text := eval[string](b, "document.querySelector('[aria-labelledby=invitations] header button').innerText.trim()")
	n, err := strconv.Atoi(strings.TrimPrefix(text, "Accept all "))
	if err != nil || n < 2 {
		t.Fatalf("the button says %q", text)
	}
	b.accessible("invitations")
	b.shot("accept-all")
	b.press(text)
	b.told(strconv.Itoa(n) + " invitations accepted")
	b.await("!document.querySelector('[aria-labelledby=invitations]')")
	b.shot("accepted-all")

	b.open("/")
	b.press("Room now")
	b.await("document.querySelector('#room-now [aria-pressed=true]')?.innerText.trim() === '30 min' && document.querySelector('#room-now .foot a')")
	id := strings.TrimPrefix(eval[string](b, "document.querySelector('#room-now .foot a').getAttribute('href')"), "/meetings/")
	meeting, _ := strconv.ParseInt(id, 10, 64)
	grace := server.Login(t, "grace@example.org", demoPassword)
	begun(t, grace, meeting) // a change can be undone until the next one, and a start is one
	b.click("[...document.querySelectorAll('#room-now .lengths button')][0]")
	b.await("document.querySelector('#room-now [aria-pressed=true]')?.innerText.trim() === '15 min'")
	b.click("[...document.querySelectorAll('.toasts button')].find((e) => e.innerText.trim() === 'Undo')")
	b.await("document.querySelector('#room-now [aria-pressed=true]')?.innerText.trim() === '30 min'")
	b.shot("room-now-undone")
	if m := grace.Meeting(t, meeting); m.Status == "cancelled" || m.End.Sub(m.Start).Minutes() != 30 {
		t.Errorf("after the undo it is %+v", m)
	}
}

// begun waits until a meeting was marked as started; a room now is booked up to 15 seconds ahead.
func begun(t *testing.T, c *testenv.Client, id int64) {
	t.Helper()
	eventually(t, time.Now().Add(slack), "the meeting has begun", func() bool { return c.Meeting(t, id).StartedAt != nil })
}
