package tests

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
	"punctual/web"
)

const (
	demoPassword = "punctual demo"
	desk         = "desk"
	phone        = "phone"
)

// looks are what a view is judged in: colors depend on the light, everything else on the width.
var looks = []struct {
	name, device string
	dark         bool
}{{"desk", desk, false}, {"phone-dark", phone, true}}

// demonstration starts the program on its demo data.
func demonstration(t *testing.T) *testenv.ServerInstance {
	t.Helper()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	return demonstrationWith(t, testenv.Config{})
}

// undoable is a demonstration with enough time for a test to undo changes.
func undoable(t *testing.T) *testenv.ServerInstance {
	t.Helper()
	return demonstrationWith(t, testenv.Config{Env: []string{"PUNCTUAL_BOOKING_UNDO=5m"}})
}

func demonstrationWith(t *testing.T, c testenv.Config) *testenv.ServerInstance {
	t.Helper()
	server := testenv.PrepareServer(t, c)
	if out, err := server.Command(t, "demo", "--config", server.ConfigFile()).CombinedOutput(); err != nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	server.Start(t)
	return server
}

// tab is one tab of the browser, in the hands of one person.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu         sync.Mutex
	complaints []string // of the browser, and requests to other hosts
	strict     bool     // nothing may be refused
	alone      bool     // the server is away, and the browser may say so
	elsewhere  string   // another host that may be visited; set before the first visit
}

// cutOff says that the server is, or may be, away from now on.
func (b *tab) cutOff(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alone = away
}

// refuses says that requests of the page may, or must not, be refused from now on.
func (b *tab) refuses(may bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.strict = !may
}

func (b *tab) isStrict() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.strict
}

// late is a script that keeps every answer from the page for PUNCTUAL_PAGE_DELAY, such as 500ms, which shows
// what a test does not wait for.
func late() string {
	delay, _ := time.ParseDuration(os.Getenv("PUNCTUAL_PAGE_DELAY"))
	if delay == 0 {
		return ""
	}
	return fmt.Sprintf(`{ const real = fetch
		fetch = async (...request) => { const answer = await real(...request)
			await new Promise((done) => setTimeout(done, %d))
			return answer } }`, delay.Milliseconds())
}

// unblurred is a script that draws what lies behind a dialog without its blur, which would take a browser without a
// graphics card 70 ms for each frame, even for those of a caret that blinks.
var unblurred = `{ const sheet = new CSSStyleSheet()
	sheet.replaceSync('::backdrop { backdrop-filter: none !important }')
	document.adoptedStyleSheets.push(sheet) }
`

// browser is one process for all tests. It is closed by [TestMain].
var browser = struct {
	sync.Once
	ctx   context.Context
	err   error
	close func()
}{close: func() {}}

func startBrowser() {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium-headless-shell"),
		chromedp.WSURLReadTimeout(patience), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1400, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("renderer-process-limit", "2"), chromedp.Flag("in-process-gpu", true), chromedp.Flag("disable-site-isolation-trials", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("force-prefers-reduced-motion", true), // each frame costs; see moves
		chromedp.Flag("lang", "en-GB"), chromedp.Env("LANGUAGE=en_GB"),
	)
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	browser.ctx, browser.err = ctx, chromedp.Do(ctx)
	browser.close = func() { cancel(); end() }
}

// browse opens a tab with a profile of its own: no cookies, storage or cache of other tabs.
func browse(t *testing.T, server *testenv.ServerInstance) *tab {
	t.Helper()
	browser.Do(startBrowser)
	if browser.err != nil {
		t.Fatalf("start the browser: %v", browser.err)
	}
	ctx, cancel := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 30*time.Minute)
	t.Cleanup(cancel)

	b := &tab{t: t, ctx: ctx, base: server.URL}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{}); err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		// Each tab has the focus, as if it were the only one.
		if _, err := cdp.Call(ctx, target, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: late() + unblurred + handScript})
		return err
	}))
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.size(desk)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.complaints) > 0 {
			t.Errorf("the browser complained:\n%s", strings.Join(b.complaints, "\n"))
		}
	})
	return b
}

// refused is how the browser logs what the API refused, which the page shows on its own.
var refused = regexp.MustCompile(`status of (401|403|404|409|412|422)`)

func (b *tab) listen(ev any) {
	complaint := ""
	switch ev := ev.(type) {
	case *log.EventEntryAdded:
		if e := ev.Entry; e.Level == log.EntryLevelError && (b.isStrict() || !refused.MatchString(e.Text)) {
			complaint = e.Text + " " + e.URL
		}
	case *runtime.EventExceptionThrown:
		complaint = ev.ExceptionDetails.Text
		if e := ev.ExceptionDetails.Exception; e != nil {
			complaint += " " + e.Description
		}
	case *page.EventJavascriptDialogOpening: // until it is answered, the tab does nothing
		complaint = "the page asks before it is left: the story leaves something unsaved"
		go func() {
			_ = chromedp.Do(b.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
				return err
			}))
		}()
	case *network.EventRequestWillBeSent:
		if url := ev.Request.URL; !strings.HasPrefix(url, b.base) && !strings.HasPrefix(url, "data:") && (b.elsewhere == "" || !strings.HasPrefix(url, b.elsewhere)) {
			complaint = "request to " + url
		}
	}
	if complaint != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.alone && strings.Contains(complaint, "net::ERR_") {
			return
		}
		b.complaints = append(b.complaints, complaint)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.shot("failed")
		b.t.Fatal(err)
	}
}

// eval runs an expression and waits for its promise.
func eval[T any](b *tab, format string, args ...any) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](fmt.Sprintf(format, args...), chromedp.EvalAwaitPromise))
	if err != nil {
		b.shot("failed")
		b.t.Fatalf("%s: %v", format, err)
	}
	return v
}

// await waits until an expression, or its promise, is true. The page forbids eval, so it is asked from
// outside. An expression that fails, on an element that is not there yet, is not true yet.
func (b *tab) await(format string, args ...any) {
	b.t.Helper()
	expression := fmt.Sprintf(format, args...)
	b.until(expression, func(int) string {
		ok, err := try[bool](b, "(async () => Boolean(await ("+expression+")))()")
		if err != nil {
			return "did not become true: " + err.Error()
		}
		if !ok {
			return "did not become true"
		}
		return ""
	})
}

// soon reports whether an expression becomes true within two seconds.
func (b *tab) soon(expression string) bool {
	b.t.Helper()
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(25 * time.Millisecond) {
		if ok, err := try[bool](b, "Boolean("+expression+")"); ok && err == nil {
			return true
		}
	}
	return false
}

// reads waits until a text is on the page, or was in a toast since the last click.
func (b *tab) reads(text string) {
	b.t.Helper()
	b.await("document.body.innerText.includes(%[1]q) || hand.noticed(%[1]q)", text)
}

// open goes to a path and waits until the page stands.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
	b.await("document.querySelector('main')")
}

func (b *tab) size(device string) {
	b.t.Helper()
	if device == phone {
		b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile))
	} else {
		b.do(chromedp.EmulateViewport(1400, 900))
	}
}

func (b *tab) dark(dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.prefers("prefers-color-scheme", scheme)
}

// moves lets things on the page slide and fade, as most people see them.
func (b *tab) moves() {
	b.t.Helper()
	b.prefers("prefers-reduced-motion", "no-preference")
}

// unhurried makes timers of at least some milliseconds last sixty times as long, in documents that are opened from now
// on: what goes after some seconds stays, and what comes then does not come.
func (b *tab) unhurried(least int) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(`{
			const real = setTimeout
			globalThis.setTimeout = (act, ms, ...rest) => real(act, ms >= %d ? 60 * ms : ms, ...rest) }`, least)})
		return err
	}))
}

func (b *tab) prefers(feature, value string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
		return err
	}))
}

// shot keeps a picture, if go test runs with -artifacts.
func (b *tab) shot(name string) {
	b.t.Helper()
	if flag.Lookup("test.artifacts").Value.String() != "true" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Logf("no picture: %v", err)
		return
	}
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), png, 0o644); err != nil {
		b.t.Error(err)
	}
}

func (b *tab) signIn(email, password string) {
	b.t.Helper()
	b.open("/")
	b.fill("Email", email)
	b.fill("Password", password)
	b.press("Sign in")
	b.await("document.querySelector('.shell')")
}

// settle waits until what fades or slides has come to rest; what turns for ever does not count.
func (b *tab) settle() {
	b.t.Helper()
	b.await(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
		done(!document.getAnimations().some((a) => a.playState === 'running' && a.effect.getComputedTiming().endTime < 10_000)))))`)
}

// axe lets axe-core look at the page. What it finds counts once the page stood still meanwhile: text that
// fades, or that is drawn anew, has no colour that can be judged.
func (b *tab) axe(find string) (found string) {
	b.t.Helper()
	library, err := os.ReadFile("../web/node_modules/axe-core/axe.min.js")
	if err != nil {
		b.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; {
		b.settle()
		eval[bool](b, "globalThis.axe ? true : (() => { %s\n })() ?? true", library)
		judged := eval[struct {
			Found string `json:"found"`
			Moved bool   `json:"moved"`
		}](b, `(async () => {
			let moved = false
			const seen = () => (moved = true), eyes = new MutationObserver(seen)
			eyes.observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
			for (const type of ['transitionrun', 'animationstart']) addEventListener(type, seen)
			const found = await (%s)
			for (const type of ['transitionrun', 'animationstart']) removeEventListener(type, seen)
			eyes.disconnect()
			return { found, moved } })()`, find)
		if judged.Found == "" || !judged.Moved || time.Now().After(deadline) {
			return judged.Found
		}
	}
}

// accessible wants axe-core to find nothing that is serious.
func (b *tab) accessible(view string) {
	b.t.Helper()
	if found := b.axe(`axe.run(document, { preload: false, resultTypes: ['violations'] }).then((r) => r.violations
		.filter((v) => v.impact === 'serious' || v.impact === 'critical')
		.map((v) => v.impact + ' ' + v.id + ': ' + v.nodes.map((n) => n.target.join(' ')).join(', ')).join('\n'))`); found != "" {
		b.shot("failed")
		b.t.Errorf("%s: axe-core found\n%s", view, found)
	}
}

// judged takes pictures of a view in all looks, and wants it to fit and to be accessible in each.
func (b *tab) judged(view, shows string) {
	b.t.Helper()
	for _, look := range looks {
		b.size(look.device)
		b.dark(look.dark)
		b.await("document.querySelector(%q)", shows)
		b.settle()
		b.inWidth(view + "-" + look.name)
		b.accessible(view + "-" + look.name)
		b.shot(view + "-" + look.name)
	}
	b.size(desk)
	b.dark(false)
}

// find waits for the meeting of a title.
func find(t *testing.T, c *testenv.Client, title string) testenv.Meeting {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		for _, m := range testenv.All[testenv.Meeting](t, c, "/meetings?limit=500") {
			if m.Title == title {
				return m
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no meeting %q", title)
		}
	}
}

// zoned is a time of day in Berlin, where the demo's first rooms are.
func zoned(t *testing.T, date string, clock string) time.Time {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", date+" "+clock, berlin)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// quietDay lies behind the demo's week, and is no day on which clocks change.
func quietDay() string { return monday(3).Format(time.DateOnly) }

// TestPageBooks: signing in, booking by form and by mouse, moving, and what the page says
// when it cannot be.
func TestPageBooks(t *testing.T) {
	t.Parallel()
	server := undoable(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	turing := ada.NewRoom(t, "Curie", map[string]any{"timezone": "Europe/Berlin", "capacity": 6})
	other := ada.NewRoom(t, "Meitner", map[string]any{"timezone": "Europe/Berlin", "capacity": 6})
	date := quietDay()

	b := browse(t, server)
	b.moves()
	b.open("/")
	b.fill("Email", "alan@example.org")
	b.fill("Password", "not this")
	b.press("Sign in")
	b.reads("Wrong email or password")
	b.signIn("alan@example.org", demoPassword)

	// By the form: first all that is missing at once, then for real.
	b.open("/?date=" + date)
	b.await("document.querySelectorAll('[role=rowheader]').length >= 2")
	b.press("New booking")
	b.await("document.querySelector('dialog[open]')")
	b.press("Book")
	b.await("document.querySelectorAll('dialog [aria-invalid=true]').length >= 2")
	b.fill("Title", "By the form")
	b.pick("Curie")
	b.reads("Available")
	b.press("Book")
	b.await("!document.querySelector('dialog[open]')")
	m := find(t, alan, "By the form")
	if got, want := m.Start, zoned(t, date, "09:00"); !got.Equal(want) || m.End.Sub(got) != time.Hour || m.RoomIDs[0] != turing.ID {
		t.Errorf("booked %v for %v in %v, want an hour from %v in %d", got, m.End.Sub(got), m.RoomIDs, want, turing.ID)
	}
	b.await("[...document.querySelectorAll('.meeting')].some((e) => e.innerText.includes('By the form'))")

	// The same again is taken, and the form offers to wait for it.
	b.press("New booking")
	b.await("document.querySelector('dialog[open]')")
	b.fill("Title", "Too late")
	b.pick("Curie")
	b.reads("Taken")
	b.await("document.querySelector('dialog button[form=booking]').innerText.trim() === 'Join the waiting list'")
	b.await("[...document.querySelectorAll('dialog[open] button')].find((e) => e.innerText.trim() === 'Cancel').click() === undefined")
	b.press("Discard")
	b.await("!document.querySelector('dialog[open]')")

	// By the mouse, in the room and at the time where it was drawn.
	b.drag("Meitner", 10.1, "Meitner", 11.4)
	b.await("document.querySelector('dialog[open]')")
	b.fill("Title", "By the mouse")
	b.press("Book")
	b.await("!document.querySelector('dialog[open]')")
	m = find(t, alan, "By the mouse")
	if got, want := m.Start, zoned(t, date, "10:00"); !got.Equal(want) || m.End.Sub(got) != 90*time.Minute || m.RoomIDs[0] != other.ID {
		t.Errorf("drew %v for %v in %v, want 90 minutes from %v in %d", got, m.End.Sub(got), m.RoomIDs, want, other.ID)
	}
	b.await("[...document.querySelectorAll('.meeting')].some((e) => e.innerText.includes('By the mouse'))")
	b.shot("grid")

	// What was just drawn can be taken back.
	b.drag("Curie", 15, "Curie", 15.9)
	b.await("document.querySelector('dialog[open]')")
	b.fill("Title", "Not after all")
	b.press("Book")
	b.await("!document.querySelector('dialog[open]')")
	mistake := find(t, alan, "Not after all")
	b.press("Undo")
	b.told("Change undone")
	if got := alan.Meeting(t, mistake.ID); got.Status != "cancelled" {
		t.Errorf("what was taken back is %s, want cancelled", got.Status)
	}
	b.await("![...document.querySelectorAll('.meeting')].some((e) => e.innerText.includes('Not after all'))")

	// Dragged an hour on, and back again.
	b.drag("Meitner", 10.5, "Meitner", 11.5)
	b.told("Meeting moved")
	if got, want := alan.Meeting(t, m.ID).Start, zoned(t, date, "11:00"); !got.Equal(want) {
		t.Errorf("moved to %v, want %v", got, want)
	}
	b.press("Undo")
	b.told("Change undone")
	if got := alan.Meeting(t, m.ID).Start; !got.Equal(m.Start) {
		t.Errorf("moved back to %v, want %v", got, m.Start)
	}

	// Onto another meeting it springs back.
	ada.Book(t, testenv.Booking(zoned(t, date, "13:00"), zoned(t, date, "15:00"), []int64{other.ID}))
	b.drag("Meitner", 10.5, "Meitner", 13.5)
	b.told("The room is taken at that time")
	if got := alan.Meeting(t, m.ID).Start; !got.Equal(m.Start) {
		t.Errorf("moved to %v although it was taken", got)
	}

	// By keyboard: the meeting opens, tells its history and is cancelled.
	b.strikes("[...document.querySelectorAll('.meeting')].find((e) => e.innerText.includes('By the mouse'))", "\r")
	b.reads("History")
	b.press("Cancel meeting")
	b.await("document.activeElement.matches('dialog input')")
	b.key("Rain\r")
	b.told("Meeting canceled")
	if got := alan.Meeting(t, m.ID); got.Status != "cancelled" {
		t.Errorf("status %s, want cancelled", got.Status)
	}
}

// TestPageDecides: a manager finds a request, approves it, and rejects another.
func TestPageDecides(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	alan := server.Login(t, "alan@example.org", demoPassword)
	grace := server.Login(t, "grace@example.org", demoPassword)
	hall := ada.NewRoom(t, "Hall", map[string]any{"approval": map[string]any{"required": true, "approver_ids": []int64{grace.User.ID}}})
	soon := inSeconds(72 * 3600)
	yes := alan.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{hall.ID}, with{"title": "Yes please"}))
	no := alan.Book(t, testenv.Booking(soon.Add(2*time.Hour), soon.Add(3*time.Hour), []int64{hall.ID}, with{"title": "No thanks"}))

	b := browse(t, server)
	b.signIn("grace@example.org", demoPassword)
	b.open(at("/meetings/%d", yes.ID))
	b.reads("Approvers: " + grace.User.Name)
	b.shot("asked")
	b.accessible("asked")
	b.open("/requests")
	b.reads("Yes please")
	b.shot("decide")
	b.accessible("decide")
	button := func(title, name string) string {
		return fmt.Sprintf(`//article[.//a[normalize-space()=%q]]//button[normalize-space()=%q]`, title, name)
	}
	b.click("%s", xpath(button("Yes please", "Approve")))
	b.await("![...document.querySelectorAll('article')].some((e) => e.innerText.includes('Yes please'))")
	if got := alan.Meeting(t, yes.ID); got.Status != "confirmed" {
		t.Errorf("status %s, want confirmed", got.Status)
	}
	b.click("%s", xpath(button("No thanks", "Reject")))
	b.await("document.activeElement.matches('article input')")
	b.key("Full that day\r")
	b.told("Rejected: No thanks")
	if got := alan.Meeting(t, no.ID); got.Status != "rejected" || got.Approval.Comment != "Full that day" {
		t.Errorf("status %s with %q, want rejected with the comment", got.Status, got.Approval.Comment)
	}
}

// TestPageLanguages: chosen by hand, by profile and by default.
func TestPageLanguages(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	b := browse(t, server)
	b.signIn("jianxiong@example.org", demoPassword)
	b.open("/")
	b.reads("我的会议") // as her profile says
	b.await("document.documentElement.lang === 'zh-Hans'")
	b.await("document.querySelector('[role=rowheader]')")
	b.accessible("grid in Chinese")
	b.shot("chinese")
	b.press("新建预订")
	b.await("document.querySelector('dialog[open]')")
	b.press("预订")
	b.reads("请填写此项")
	b.press("取消")
	b.await("!document.querySelector('dialog[open]')")
	b.choose("#menu-language", "de")
	b.reads("Meine Besprechungen")
	b.open("/list")
	b.reads("Neue Buchung") // kept
	b.shot("german")
}

// TestPageSetup: the one-time link of the first start makes the first admin, once.
func TestPageSetup(t *testing.T) {
	t.Parallel()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	server := testenv.Server(t, testenv.Config{NoAdmin: true})
	link := regexp.MustCompile(`/setup\?token=\S+`).FindString(server.Log())
	if link == "" {
		t.Fatalf("no link in the log:\n%s", server.Log())
	}
	b := browse(t, server)
	b.open(link)
	b.accessible("set-up")
	b.reads("At least 8 characters")
	b.fill("Your name", "First Admin")
	b.fill("Email", "first@example.org")
	b.fill("Password", "short")
	b.fill("Repeat password", "short")
	b.press("Create account")
	b.await("document.querySelector('[aria-invalid=true]')")
	b.fill("Password", "long enough for this")
	b.fill("Repeat password", "long enough for this")
	b.press("Create account")
	b.await("location.pathname === '/admin/start' && document.title.startsWith('Get started')")
	b.accessible("get started")
	b.press("New site")
	b.fill("Name", "Berlin")
	b.press("Create")
	b.await("!document.querySelector('dialog[open]')")
	b.fill("Rooms", "name,capacity,features\nTuring,8,video; projector\nHopper,many")
	b.press("Preview")
	b.reads("Line 3: Capacity: ")
	b.accessible("rooms with faults")
	b.fill("Rooms", "Turing, 8\nHopper, 4")
	b.choose("[data-day=MO] input[type=time]", "07:30")
	b.press("Preview")
	b.press("Add 2 rooms")
	b.reads("Email addresses") // the next step
	b.press("Send a test email Open")
	b.press("Send test email")
	b.reads("Stored under Outbox")
	b.shot("get-started")
	var first struct{ Role, Timezone string }
	server.Login(t, "first@example.org", "long enough for this").Want(t, http.StatusOK, http.MethodGet, "/me", nil, &first)
	if zone := eval[string](b, "Intl.DateTimeFormat().resolvedOptions().timeZone"); first.Role != "admin" || first.Timezone != zone {
		t.Errorf("the first user is %+v, want an admin in the browser's zone %s", first, zone)
	}

	made := roomNamed(t, server.Login(t, "first@example.org", "long enough for this"), "Turing")
	if hours := made.Policy.OpeningHours; len(hours) != 2 || hours[0].From != "07:30" || len(hours[1].Days) != 4 || hours[1].To != "20:00" {
		t.Errorf("Turing is open %+v", hours)
	}

	again := browse(t, server)
	again.open(link)
	again.fill("Your name", "Second Admin")
	again.fill("Email", "second@example.org")
	again.fill("Password", "long enough for this")
	again.fill("Repeat password", "long enough for this")
	again.press("Create account")
	again.reads("already used")
}

// TestPageInvitation: pasted people are invited with a result for each, one of them chooses a name and a
// password, and later another password with a link for which nobody had to be signed in.
func TestPageInvitation(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	b := adminTab(t, server, "/admin/people")
	b.press("Invite people")
	b.fill("Email addresses", "Lee Min <lee@example.org>, grace@example.org")
	b.press("Send 2 invitations")
	b.reads("Already has an account")
	b.reads("Lee Min Invited")
	b.accessible("invitations")

	lee := browse(t, server)
	lee.open(outboxLink(t, ada, "invite_user"))
	lee.await("location.pathname === '/password' && !location.hash && hand.field('Your name').value === 'Lee Min'")
	lee.accessible("invitation")
	lee.fill("Password", "a good long password")
	lee.press("Show password")
	lee.await("hand.field('Password').type === 'text'")
	lee.press("Start booking")
	lee.await("location.pathname === '/'")
	lee.reads("New booking")

	other := browse(t, server)
	other.open("/")
	other.click("document.querySelector('a[href=\"/forgot\"]')")
	other.fill("Email", "lee@example.org")
	other.press("Send link")
	other.reads("Check your email")
	reset := outboxLink(t, ada, "password_reset")
	other.open(reset)
	other.fill("New password", "another good password")
	other.press("Change password")
	other.await("location.pathname === '/'")
	server.Login(t, "lee@example.org", "another good password")
	other.open(reset)
	other.reads("already used")
}

// outboxLink waits for the latest mail of a kind and returns the path of its link.
func outboxLink(t *testing.T, admin *testenv.Client, kind string) (path string) {
	t.Helper()
	eventually(t, time.Now().Add(slack), "a mail "+kind, func() bool {
		for _, m := range testenv.All[struct{ Name, Kind string }](t, admin, "/outbox?limit=20") {
			if m.Kind == kind {
				var mail struct{ Text string }
				admin.Want(t, http.StatusOK, http.MethodGet, "/outbox/"+url.PathEscape(m.Name), nil, &mail)
				path = regexp.MustCompile(`/password#token=\S+`).FindString(mail.Text)
				return true
			}
		}
		return false
	})
	return path
}

// TestPageTypes: the types that the page is compiled against are those that the server describes.
func TestPageTypes(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{})
	res, err := http.Get(server.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var description struct {
		OpenAPI string `json:"openapi"`
	}
	if err := json.NewDecoder(res.Body).Decode(&description); err != nil || !strings.HasPrefix(description.OpenAPI, "3.1") {
		t.Fatalf("/openapi.json is %q, %v", description.OpenAPI, err)
	}
	cmd := exec.Command("node", "scripts/api.js", server.URL, "--check")
	cmd.Dir = "../web"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
