package tests

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestPageAdminInsight: a room follows the configured check-in, or has one of its own; the history
// tells that in words; series to which nobody came are listed with a way to them.
func TestPageAdminInsight(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	room := ada.NewRoom(t, "Franklin", with{"timezone": "Europe/Berlin"})
	path := at("/rooms/%d", room.ID)
	checkIn := func() (c struct {
		CheckIn struct {
			Required, Inherited bool
			Grace               string
		} `json:"check_in"`
	}) {
		t.Helper()
		ada.Want(t, http.StatusOK, "GET", path, nil, &c)
		return c
	}

	b := adminTab(t, server, "/admin"+path)
	b.await("document.querySelector('#room')")
	// What is saved of the room otherwise leaves its check-in alone.
	b.fill("Floor", "3")
	b.press("Save")
	b.await("!document.querySelector('[aria-busy]') && !document.body.innerText.includes('Unsaved changes')")
	if c := checkIn().CheckIn; !c.Inherited {
		t.Errorf("check-in %+v, want the installation's", c)
	}
	where := "[...document.querySelectorAll('#room select')].find((e) => [...e.options].some((o) => o.innerText.startsWith('default: no')))"
	set := func(value, says string) {
		t.Helper()
		eval[bool](b, "(() => { const e = %s; e.value = %q; e.dispatchEvent(new Event('change', { bubbles: true })); return true })()", where, value)
		b.await("[...document.querySelectorAll('.words dd')].at(-1).innerText.startsWith(%q)", says)
		b.press("Save")
		b.await("!document.querySelector('[aria-busy]') && !document.body.innerText.includes('Unsaved changes')")
	}
	set("yes", "From 15 minutes before")
	if c := checkIn().CheckIn; !c.Required || c.Inherited || c.Grace != "10m" {
		t.Errorf("check-in %+v, want one of its own", c)
	}
	set("", "Default: not required")
	if c := checkIn().CheckIn; c.Required || !c.Inherited {
		t.Errorf("check-in %+v, want the installation's again", c)
	}
	b.accessible("check-in")

	// The history, in words.
	b.open("/admin/audit")
	b.await("document.querySelectorAll('li[data-action=\"room.changed\"] summary').length >= 3")
	eval[bool](b, "([...document.querySelectorAll('li[data-action=\"room.changed\"] .entry > details > summary')][1].click(), true)")
	b.await(`[...document.querySelectorAll('li[data-action="room.changed"] tbody tr')].some((r) => r.innerText.replace(/\s+/g, ' ') === 'Check-in by default yes no')`)
	eval[bool](b, "(document.querySelector('details[open] .stored summary').click(), true)")
	b.await(`document.querySelector('details[open] pre').innerText.includes('"check_in.inherits"')`)
	b.accessible("history in words")
	b.shot("history")

	// The browser is told that nobody came to a series: the program would need days for it.
	day := time.Now().AddDate(0, 0, 7).Format(time.DateOnly)
	var made struct {
		Series struct{ ID int64 }
	}
	ada.Want(t, http.StatusCreated, "POST", "/series", with{"title": "Weekly nobody", "room_ids": []int64{room.ID}, "rrule": "FREQ=WEEKLY;COUNT=4",
		"timezone": "Europe/Berlin", "start": day + "T09:00:00", "end": day + "T10:00:00"}, &made)
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			const real = window.fetch
			window.asked = ''
			window.fetch = async (r, ...more) => {
				if (typeof r === 'string') return real(r, ...more)
				const url = new URL(r.url)
				if (url.pathname.endsWith('/series')) window.asked = url.searchParams.get('flagged'), url.searchParams.delete('flagged')
				const answer = await real(r.method === 'GET' ? url : r, ...more)
				if (url.pathname.endsWith('/config')) return new Response(JSON.stringify({ ...await answer.json(), changed_zones: [{ timezone: 'America/Sao_Paulo' }] }), answer)
				if (!/\/series\/\d+$/.test(url.pathname)) return answer
				return new Response(JSON.stringify({ ...await answer.json(), no_shows_in_row: 3, flagged: true }), answer)
			}`})
		return err
	}))
	b.open("/admin/forgotten")
	b.await("document.querySelector('tr[data-series] .tag')?.innerText === '3 in a row'")
	b.await("document.querySelector('.notice')?.innerText.match(/America.Sao_Paulo.*zones check.*zones rebase/s)")
	if row := eval[string](b, "document.querySelector('tr[data-series=\"%d\"]').innerText", made.Series.ID); !strings.Contains(row, "Weekly nobody") ||
		!strings.Contains(row, "Every ") || !strings.Contains(row, "Franklin") || !strings.Contains(row, "Ada") || !strings.Contains(row, "9:00") {
		t.Errorf("it says %q", row)
	}
	if asked := eval[string](b, "window.asked"); asked != "true" {
		t.Errorf("asked for those that are flagged %q", asked)
	}
	b.accessible("forgotten series")
	b.shot("forgotten")
	b.press("Weekly nobody")
	b.await("document.querySelector('dialog[open]')?.innerText.includes('no-shows in a row')")

	// The report as a file: what a spreadsheet would take for a formula is none, and its letters are right.
	ada.NewRoom(t, `=1+1, "紫金"`)
	b.open("/admin/utilisation")
	b.await("document.querySelector('.tiles')")
	eval[bool](b, `(() => { const make = URL.createObjectURL
		URL.createObjectURL = (blob) => { blob.arrayBuffer().then((b) => (window.saved = new TextDecoder('utf-8', { ignoreBOM: true }).decode(b))); return make(blob) }
		HTMLAnchorElement.prototype.click = () => {}; return true })()`)
	b.press("Download CSV")
	b.await("window.saved")
	if saved := eval[string](b, "window.saved"); !strings.HasPrefix(saved, "\ufeffroom_id,") || !strings.Contains(saved, `"'=1+1, ""紫金"""`) {
		t.Errorf("the file says %q", saved)
	}

	// What rooms were booked for: one group more closely, and all of it as files.
	b.open("/admin/meetings")
	b.await("document.querySelector('.tiles')")
	b.choose("select[aria-label=Period]", "own")
	b.choose("input[aria-label=To]", "0003-01-02") // a year that is still being typed
	b.await("document.querySelector('input[aria-label=To]').getAttribute('aria-invalid') === 'true'")
	b.choose("input[aria-label=To]", time.Now().AddDate(0, 0, 20).Format(time.DateOnly))
	b.await("[...document.querySelectorAll('tbody th')].some((e) => e.innerText.includes('Turing'))")
	b.accessible("report of meetings")
	b.shot("report-meetings")
	b.choose(".by select", "organizer")
	b.press("Show only Grace Hopper")
	b.await("document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody').innerText.includes('100%%')")
	eval[bool](b, `(() => { const make = URL.createObjectURL
		URL.createObjectURL = (blob) => { blob.text().then((text) => (window.saved = text)); return make(blob) }
		HTMLAnchorElement.prototype.click = () => {}; return true })()`)
	for _, file := range []struct{ button, begins string }{
		{"Sums as CSV", "organizer_id,"}, {"Meetings as CSV", "id,title,"}, {"Meetings as iCalendar", "BEGIN:VCALENDAR"},
	} {
		eval[bool](b, "(window.saved = '', true)")
		b.press(file.button)
		b.await("window.saved.startsWith(%q) && window.saved.includes('Grace Hopper') && !window.saved.includes('Emmy')", file.begins)
	}
	b.press("Stop showing only Grace Hopper")
	b.await("document.querySelectorAll('tbody tr').length > 2")
	b.fillIn("input[type=search]", "no such meeting")
	b.reads("No meetings match")
}
