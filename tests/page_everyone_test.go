package tests

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
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

// violations are what axe-core finds serious; rules is "" for all, or the name of one.
func (b *tab) violations(rules string) string {
	b.t.Helper()
	only := ""
	if rules != "" {
		only = fmt.Sprintf(", runOnly: [%q]", rules)
	}
	return b.axe(fmt.Sprintf(`axe.run(document, { resultTypes: ['violations']%s }).then((r) => r.violations
		.filter((v) => v.impact === 'serious' || v.impact === 'critical')
		.map((v) => v.impact + ' ' + v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).join(', ')).join('\n'))`, only))
}

// labels are the texts of what one reads and presses, without what people wrote themselves.
const labels = `[...new Set([...document.querySelectorAll('h1, h2, h3, button, label, legend, th[scope=col], summary, dt, nav a, .hint, .empty')]
	.filter((e) => e.checkVisibility()).flatMap((e) => e.innerText.split('\n')).map((s) => s.trim()).filter((s) => /[A-Za-z]{4}/.test(s)))]`

// foreign are the labels without a Chinese character and with a word that is not among the
// names; those of strategies are meeting.start and the like.
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

// TestPageEveryone: every page, light and dark, on a desk and on phones, in three languages: axe-core
// finds nothing serious, nothing is wider than the screen, no text is missing, and the browser
// has nothing to complain of, be it about the security policy. A picture of each is kept.
func TestPageEveryone(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	rooms := testenv.All[testenv.Room](t, ada, "/rooms?limit=500")
	meetings := testenv.All[testenv.Meeting](t, ada, "/meetings?limit=500")
	var written strings.Builder
	for _, path := range []string{"/rooms?limit=500", "/sites?limit=500", "/users?limit=500", "/meetings?limit=500", "/config"} {
		written.Write(ada.Want(t, http.StatusOK, http.MethodGet, path, nil, nil).Body)
	}
	names := written.String() + "Punctual English Deutsch Webhook webhook Europe Asia America"

	// Colours are the same in every language, and what axe-core finds besides is the same in every size and light.
	const none, all, colours = "-", "", "color-contrast"
	type look struct {
		width int64
		rules string
	}
	walks := []struct {
		name, language string
		dark           bool
		looks          []look
	}{
		{"light", "en", false, []look{{1400, all}, {390, none}}},
		{"dark", "en", true, []look{{1400, none}, {390, colours}}},
		{"german", "de", false, []look{{1400, none}, {320, none}}}, // the longest words
		{"chinese", "zh", true, []look{{1400, none}, {390, none}}},
	}
	hours := map[string]string{"en": "[AP]M", "de": "\\d\\d:\\d\\d", "zh": "\\d\\d:\\d\\d"}
	// In Chinese nothing is left in English but names, the keys of the configuration, and mails.
	ours := []string{"admin-config", "admin-outbox"}

	type view struct{ name, path string }
	for _, w := range walks {
		t.Run(w.name, func(t *testing.T) {
			language, first := w.language, w.name == "light" // what is the same each time is seen once
			b := browse(t, server)
			b.dark(w.dark)
			b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error { // also what the console is not told
				_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
					Source: "addEventListener('securitypolicyviolation', (e) => { throw new Error('the policy forbids ' + e.effectiveDirective + ' ' + e.blockedURI) })",
				})
				return err
			}))
			speak := func(language string) {
				eval[bool](b, "(localStorage.setItem('punctual.language', %q), true)", language)
			}
			walk := func(views ...view) {
				for _, v := range views {
					b.width(1400)
					b.do(chromedp.Navigate(server.URL + v.path))
					b.await("document.querySelector('main')")
					b.settled()
					if first {
						b.quiet(v.name)
					}
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
						name := fmt.Sprintf("%s-%d", v.name, look.width)
						b.inWidth(name)
						if look.rules != none {
							if found := b.violations(look.rules); found != "" {
								t.Errorf("%s: axe-core found\n%s", name, found)
							}
						}
						b.shot(name)
					}
				}
			}

			// Before anybody signs in. Two pages the server draws itself, in the language that the browser asks for.
			b.open("/")
			if first {
				walk(view{"check-in", "/check-in?token=none"}, view{"decide-link", "/requests?token=none"})
			}
			speak(language)
			walk(view{"sign-in", "/"}, view{"setup", "/setup?token=none"}, view{"pairing", "/door"})
			speak("en")
			b.signIn("ada@example.org", demoPassword)
			if first {
				b.installable(server.URL + "/manifest.webmanifest")
			}
			speak(language)

			views := []view{
				{"day", "/"}, {"week", "/week"}, {"month", "/month"}, {"list", "/list"}, {"list-empty", "/list?q=zzzz"}, {"room", at("/rooms/%d", rooms[0].ID)},
				{"mine", "/mine"}, {"requests", "/requests"}, {"meeting", at("/meetings/%d", meetings[0].ID)}, {"booking", at("/?book=%d", rooms[0].ID)},
				{"admin-room", at("/admin/rooms/%d", rooms[0].ID)}, {"admin-new-room", "/admin/rooms/new"}, {"admin-person", at("/admin/people/%d", ada.User.ID)},
				{"nowhere", "/nowhere"},
			}
			b.open("/admin/rooms")
			b.await("document.querySelector('a[href=\"/admin/config\"]')")
			for _, path := range eval[[]string](b, `[...new Set([...document.querySelectorAll('a[href^="/admin/"]')].map((a) => a.pathname))].filter((p) => /^\/admin\/[a-z-]+$/.test(p))`) {
				views = append(views, view{strings.ReplaceAll(path[1:], "/", "-"), path})
			}
			if len(views) < 20 {
				t.Errorf("only %d pages were found", len(views))
			}
			walk(views...)
			b.width(1400)
			b.open("/list")
			b.settled()
			b.await("/%s/.test(document.querySelector('main').innerText)", hours[language])

			b.hang(ada, rooms[0])
			speak(language)
			walk(view{"door", at("/door/%d", rooms[0].ID)})
			if first {
				b.do(chromedp.Navigate(server.URL + "/docs"))
				b.await("document.querySelector('.opblock')")
			}
		})
	}
}

// quiet wants that a page that has settled asks the server only for what it polls.
func (b *tab) quiet(view string) {
	b.t.Helper()
	n := eval[int](b, `new Promise((done) => {
		let n = 0
		const requests = new PerformanceObserver((list) => (n += list.getEntries().filter((e) => e.name.includes('/api/')).length))
		requests.observe({ type: 'resource' })
		setTimeout(() => { requests.disconnect(); done(n) }, 700) })`)
	if n > 15 { // a view that asks without end sends thirty and more
		b.t.Errorf("%s sends %d requests in 0.7 s while nothing happens", view, n)
	}
}

// installable wants all that a browser asks of a page before it offers to install it.
func (b *tab) installable(manifest string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		app, err := cdp.Call(ctx, target, page.GetAppManifest, page.GetAppManifestParams{})
		if err != nil {
			return err
		}
		faults, err := cdp.Call(ctx, target, page.GetInstallabilityErrors, cdp.Empty{})
		if err == nil && (app.URL != manifest || len(app.Errors) > 0 || len(faults.InstallabilityErrors) > 0) {
			b.t.Errorf("the manifest %s: %v; it cannot be installed: %v", app.URL, app.Errors, faults.InstallabilityErrors)
		}
		return err
	}))
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
