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
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// settled waits until the page has drawn what it is going to: nothing changes for a moment.
func (b *tab) settled() {
	b.t.Helper()
	eval[bool](b, `new Promise((done) => {
		const began = performance.now()
		let timer
		const still = () => { observer.disconnect(); done(true) }
		const wait = () => { clearTimeout(timer); timer = setTimeout(still, performance.now() - began > 4000 ? 0 : 150) }
		const observer = new MutationObserver(wait)
		observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
		wait() })`)
}

// follow goes to a path as a link on the page does, without loading the page anew, and waits for what it asks.
func (b *tab) follow(path string) {
	b.t.Helper()
	eval[bool](b, `(() => {
		const link = Object.assign(document.createElement('a'), { href: %q })
		document.querySelector('main').append(link)
		link.click()
		link.remove()
		return true })()`, path)
	b.await("location.pathname + location.search === %q", path)
	b.idle()
}

// labels are the texts of what one reads and presses, without what people wrote themselves.
const labels = `[...new Set([...document.querySelectorAll('h1, h2, h3, button, label, legend, th[scope=col], summary, dt, nav a, .hint, .empty')]
	.filter((e) => e.checkVisibility()).flatMap((e) => e.innerText.split('\n')).map((s) => s.trim()).filter((s) => /[A-Za-z]{4}/.test(s)))]`

// foreign are the labels without a Chinese character and with a word that is not among the
// names; those of job types are meeting.start and the like.
func (b *tab) foreign(names string) (left []string) {
	b.t.Helper()
	latin := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	for _, label := range eval[[]string](b, "%s.filter((s) => !/\\p{Script=Han}|^[a-z]+[.][a-z_]+$/u.test(s))", labels) {
		words := strings.FieldsFunc(label, func(r rune) bool { return !latin(r) })
		if slices.ContainsFunc(words, func(w string) bool { return len(w) >= 4 && !strings.Contains(names, w) }) {
			left = append(left, label)
		}
	}
	return left
}

// width makes the tab as wide as a phone or a screen.
func (b *tab) width(width int64) {
	b.t.Helper()
	if width > 500 {
		b.do(chromedp.EmulateViewport(width, 900))
	} else {
		b.do(chromedp.EmulateViewport(width, 844, chromedp.EmulateMobile))
	}
}

// watchScript counts how far what is drawn is moved without a click and what is asked of the API, and reports what
// the security policy forbids.
const watchScript = `
	globalThis.asked = 0
	new PerformanceObserver((list) => (asked += list.getEntries().filter((e) => e.name.includes('/api/')).length)).observe({ type: 'resource' })
	globalThis.shifted = { sum: 0, by: [] }
	new PerformanceObserver((list) => {
		for (const e of list.getEntries().filter((e) => !e.hadRecentInput)) {
			shifted.sum += e.value
			shifted.by.push(e.value.toFixed(3) + ': ' + e.sources.map((s) => s.node?.className ?? s.node?.nodeName).join(', '))
		}
	}).observe({ type: 'layout-shift', buffered: true })
	addEventListener('securitypolicyviolation', (e) => { throw new Error('the policy forbids ' + e.effectiveDirective + ' ' + e.blockedURI) })`

// TestPageEveryone: every page, light and dark, on a desk and on phones, in three languages and for each role. axe-core
// finds nothing serious, nothing moves while a page is loaded, nothing is wider than the screen, cut off or without
// a space, no text is missing, and the browser complains of nothing: no refused request, no breach of the security policy.
// A picture of each is kept.
func TestPageEveryone(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	rooms := testenv.All[testenv.Room](t, ada, "/rooms?limit=500")
	meetings := testenv.All[testenv.Meeting](t, ada, "/meetings?limit=500")
	private := meetings[slices.IndexFunc(meetings, func(m testenv.Meeting) bool { return m.Title == "Interview" })]
	var written strings.Builder
	for _, path := range []string{"/rooms?limit=500", "/sites?limit=500", "/users?limit=500", "/meetings?limit=500", "/config"} {
		written.Write(ada.Want(t, http.StatusOK, http.MethodGet, path, nil, nil).Body)
	}
	names := written.String() + "Punctual English Deutsch Webhook webhook Europe Asia America"

	// Colors depend on the light, the rest of what axe-core finds on the width, and neither on the language.
	type look struct {
		width      int64
		dark, axed bool
	}
	walks := []struct {
		name, language string
		user           string // of the pages that are not for admins
		width          int64  // when a page is loaded
		follow         bool   // loads the first page of a walk, and comes to the others by links
		looks          []look
	}{
		{"english", "en", "ada", 1400, false, []look{{1400, false, true}, {390, true, true}}},
		{"german", "de", "alan", 390, false, []look{{390, false, false}, {320, false, false}, {1024, false, false}, {1440, false, false}}}, // the longest words
		{"chinese", "zh", "grace", 1024, true, []look{{1400, true, false}, {390, true, false}}},
	}
	hours := map[string]string{"en": "[AP]M", "de": "\\d\\d:\\d\\d", "zh": "\\d\\d:\\d\\d"}
	// In Chinese nothing is left in English but names, the keys of the configuration, and mails.
	ours := []string{"admin-config", "admin-outbox"}

	type view struct{ name, path string }
	for _, w := range walks {
		t.Run(w.name, func(t *testing.T) {
			language, first := w.language, w.language == "en" // what is the same each time is seen once
			b := browse(t, server)
			b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchScript})
				return err
			}))
			speak := func(language string) {
				eval[bool](b, "(localStorage.setItem('punctual.language', %q), true)", language)
			}
			walk := func(views ...view) {
				for i, v := range views {
					b.width(w.width)
					b.dark(w.looks[0].dark)
					followed := w.follow && i > 0 && v.name != "booking" && eval[bool](b, "!!document.querySelector('.shell') && !document.querySelector('dialog[open]')")
					if followed {
						b.follow(v.path)
					} else {
						b.do(chromedp.Navigate(server.URL + v.path))
					}
					b.await("document.querySelector('main')")
					b.settled()
					if shift := eval[struct {
						Sum float64
						By  []string
					}](b, "shifted"); !followed && shift.Sum >= 0.1 {
						t.Errorf("%s at %d moves by %.3f while it is loaded:\n%s", v.name, w.width, shift.Sum, strings.Join(shift.By, "\n"))
					}
					began, asked := time.Now(), eval[int](b, "asked")
					text := eval[string](b, "document.title + '\\n' + document.body.innerText")
					for _, wrong := range []string{"undefined", "NaN", "[object", "Invalid Date", "() =>", "${"} {
						if strings.Contains(text, wrong) {
							t.Errorf("%s says %q", v.name, wrong)
						}
					}
					if language != "en" && strings.Contains(text, ":00 PM") {
						t.Errorf("%s: the clock has twelve hours", v.name)
					}
					if left := b.foreign(names); language == "zh" && !slices.Contains(ours, v.name) && len(left) > 0 {
						t.Errorf("%s in Chinese says %q", v.name, left)
					}
					for _, look := range w.looks {
						b.width(look.width)
						b.dark(look.dark)
						name := fmt.Sprintf("%s-%d", v.name, look.width)
						if look.dark {
							name += "-dark"
						}
						b.inWidth(name)
						b.legible(name)
						if look.axed {
							b.accessible(name)
						}
						b.shot(name)
					}
					// A page that has settled asks the server for what it polls; one that asks without end sends 40 requests a second.
					if n, most := eval[int](b, "asked")-asked, 15+5*int(time.Since(began).Seconds()); n > most {
						t.Errorf("%s sent %d requests while nothing happened, want at most %d", v.name, n, most)
					}
				}
			}

			// Before anybody signs in. Two pages the server draws itself, in the language that the browser asks for.
			b.open("/")
			if first {
				walk(view{"check-in", "/check-in?token=none"}, view{"decide-link", "/requests?token=none"})
			}
			b.refuses(false)
			speak(language)
			walk(view{"sign-in", "/"}, view{"setup", "/setup?token=none"}, view{"pairing", "/door"})
			speak("en")
			b.signIn(w.user+"@example.org", demoPassword)
			if first {
				b.installable(server.URL + "/manifest.webmanifest")
			}
			speak(language)
			views := []view{
				{"day", "/"}, {"week", "/week"}, {"month", "/month"}, {"list", "/list"}, {"plan", "/plan"}, {"list-empty", "/list?q=zzzz"}, {"room", at("/rooms/%d", rooms[0].ID)},
				{"mine", "/mine"}, {"me", "/me"}, {"requests", "/requests"}, {"meeting", at("/meetings/%d", meetings[0].ID)}, {"private", at("/meetings/%d", private.ID)},
				{"booking", at("/?book=%d", rooms[0].ID)}, {"nowhere", "/nowhere"},
			}
			walk(views...)
			b.width(1400)
			b.open("/list")
			b.settled()
			b.await("/%s/.test(document.querySelector('main').innerText)", hours[language])

			if w.user != "ada" {
				b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
					_, err := cdp.Call(ctx, target, network.ClearBrowserCookies, cdp.Empty{})
					return err
				}))
				speak("en")
				b.refuses(true) // the page assumes the user of the last visit, and asks on their behalf
				b.signIn("ada@example.org", demoPassword)
				b.refuses(false)
				speak(language)
			}
			views = []view{{"admin-room", at("/admin/rooms/%d", rooms[0].ID)}, {"admin-new-room", "/admin/rooms/new"}, {"admin-person", at("/admin/people/%d", ada.User.ID)}}
			b.open("/admin/rooms")
			b.await("document.querySelector('a[href=\"/admin/config\"]')")
			for _, path := range eval[[]string](b, `[...new Set([...document.querySelectorAll('a[href^="/admin/"]')].map((a) => a.pathname))].filter((p) => /^\/admin\/[a-zA-Z-]+$/.test(p))`) {
				views = append(views, view{strings.ReplaceAll(path[1:], "/", "-"), path})
			}
			if len(views) < 15 {
				t.Errorf("only %d pages for admins were found", len(views))
			}
			walk(views...)

			if first { // with all that can be wrong in it
				b.width(1400)
				b.open("/")
				b.press("New booking")
				b.await("document.querySelector('dialog[open]')")
				b.refuses(true)
				b.press("Book")
				b.await("document.querySelector('dialog [aria-invalid=true]')")
				b.accessible("booking")
				b.shot("booking-faults")
				b.do(chromedp.Navigate(server.URL + "/docs"))
				b.await("document.querySelector('.opblock')")
				b.shot("docs")
			}
			b.hang(ada, rooms[0])
			speak(language)
			walk(view{"door", at("/door/%d", rooms[0].ID)})
		})
	}
}

// TestPageWidths: on phones, tablets and desks nothing is wider than the screen, and the header of an administrator,
// who has the most sections, is seen as a whole, in each language and with a long name of the organization.
func TestPageWidths(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	b := browse(t, server)
	b.signIn("ada@example.org", demoPassword)
	for _, language := range []string{"en", "de", "zh"} {
		eval[bool](b, "(localStorage.setItem('punctual.language', %q), true)", language)
		for _, path := range []string{"/", "/week", "/find", "/mine", "/admin/meetings"} {
			b.open(path)
			b.settled()
			for _, width := range []int64{320, 390, 768, 1024, 1280, 1440} {
				b.width(width)
				b.inWidth(fmt.Sprintf("%s in %s at %d", path, language, width))
				b.heads(fmt.Sprintf("%s in %s at %d", path, language, width))
			}
		}
	}
	ada.Want(t, http.StatusOK, http.MethodPatch, "/branding", with{"name": "Analytical Engines and Company"}, nil)
	eval[bool](b, "(localStorage.setItem('punctual.language', 'de'), true)")
	b.open("/")
	b.settled()
	for _, width := range []int64{1024, 1280, 1440} {
		b.width(width)
		b.heads(fmt.Sprintf("the organization's name at %d", width))
	}
}

// heads wants that all of the header is seen, on one line.
func (b *tab) heads(view string) {
	b.t.Helper()
	b.without(view, `(() => {
		const head = document.querySelector('.shell > header')
		if (!head || innerWidth <= 720) return ''
		const parts = [...head.children].filter((e) => e.checkVisibility() && e.getBoundingClientRect().width)
		const wide = head.scrollWidth > head.clientWidth + 1 || parts.some((e) => e.scrollWidth > e.clientWidth + 1) || parts.at(-1).getBoundingClientRect().right > innerWidth
		const wraps = innerWidth < 1280 ? [] : [...head.querySelectorAll('nav a span:not(.badge), .button > span')].filter((e) => e.checkVisibility() && e.getClientRects().length > 1).map((e) => e.innerText)
		return wide ? 'the header is wider than the screen' : wraps.length ? 'the header wraps: ' + wraps : '' })()`)
}

// legible wants that no text is cut off or touches another, and that tables are cards on phones, once a screen that was
// turned is drawn anew.
func (b *tab) legible(view string) {
	b.t.Helper()
	b.without(view, `(() => {
		const found = []
		const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !e.closest('.visually-hidden') && e.getBoundingClientRect().width > 2
		const room = (e, s) => e.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight)
		const pen = document.createElement('canvas').getContext('2d')
		for (const e of document.querySelectorAll('input[placeholder], select')) {
			if (!seen(e) || !e.clientWidth) continue
			const s = getComputedStyle(e), text = e.placeholder ?? e.selectedOptions[0]?.text ?? ''
			pen.font = s.font
			const clear = e.type === 'search' ? 18 : 0 // the button that empties it
			if (pen.measureText(text).width > room(e, s) - clear + 1) found.push('cut off: ' + text)
		}
		if (innerWidth <= 720) for (const row of document.querySelectorAll('.admin .table tbody tr')) {
			if (seen(row) && getComputedStyle(row).display === 'table-row') found.push('no card: ' + row.innerText)
		}
		const covered = (e, box) => { // such as the days that are scrolled beneath the names of the rooms
			const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)
			return top && !top.contains(e) && !e.contains(top)
		}
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
		let before
		while (document.documentElement.lang !== 'zh-Hans' && texts.nextNode()) {
			const node = texts.currentNode
			if (!node.data.trim() || !seen(node.parentElement)) continue
			const range = document.createRange()
			range.selectNodeContents(node)
			const boxes = [...range.getClientRects()].filter((r) => r.width > 1)
			if (!boxes.length) continue
			const [box] = boxes
			if (before && before.node.parentElement !== node.parentElement) {
				const level = Math.min(before.box.bottom, box.bottom) - Math.max(before.box.top, box.top) > box.height / 2
				const letters = /[\p{L}\p{N}]$/u.test(before.node.data) && /^[\p{L}\p{N}]/u.test(node.data)
				if (level && letters && Math.abs(box.left - before.box.right) < 2 && !covered(node.parentElement, box)) found.push('no space: ' + before.node.data + '|' + node.data)
			}
			before = { node, box: boxes.at(-1) }
		}
		return found.join('; ') })()`)
}

// installable wants all that a browser asks of a page before it offers to install it.
func (b *tab) installable(manifest string) {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(browser.ctx) // in the first profile: nothing can be installed in the others
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(b.base), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		app, err := cdp.Call(ctx, target, page.GetAppManifest, page.GetAppManifestParams{})
		if err != nil {
			return err
		}
		faults, err := cdp.Call(ctx, target, page.GetInstallabilityErrors, cdp.Empty{})
		if err == nil && (app.URL != manifest || len(app.Errors) > 0 || len(faults.InstallabilityErrors) > 0) {
			b.t.Errorf("the manifest %s: %v; it cannot be installed: %v", app.URL, app.Errors, faults.InstallabilityErrors)
		}
		return err
	})); err != nil {
		b.t.Error(err)
	}
}

// TestPageHeaders: the policy that each page is sent with allows nothing from elsewhere and nothing
// inline; pictures in an address are for the description of the API alone.
func TestPageHeaders(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{})
	for _, path := range []string{"/", "/week", "/door", "/door/1", "/requests", "/check-in", "/setup", "/docs", "/api/v1/rooms", "/manifest.webmanifest", "/door-worker.js", "/nowhere.js"} {
		res, err := testenv.Browse(http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		policy := res.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %s: %s", path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "data:") != (path == "/docs") || strings.Contains(policy, "*") {
			t.Errorf("%s: %s", path, policy)
		}
		if kind := res.Header.Get("Content-Type"); path == "/manifest.webmanifest" && kind != "application/manifest+json" {
			t.Errorf("the manifest is %s", kind)
		}
	}
}
