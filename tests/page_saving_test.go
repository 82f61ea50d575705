package tests

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// slow lets the test delay or lose the answers to changes. While window.hold is set, they wait in
// window.held until letGo. With window.lose, the next request or its answer is lost.
func (b *tab) slow() {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			const real = window.fetch
			Object.assign(window, { hold: false, held: [], lose: '' })
			window.fetch = async (r, ...more) => {
				if (r.method === 'GET') return real(r, ...more)
				const lose = window.lose
				window.lose = ''
				if (lose === 'request') throw new TypeError('lost')
				const answer = await real(r, ...more)
				if (lose === 'answer') throw new TypeError('lost')
				if (window.hold) await new Promise((go) => window.held.push(go))
				return answer
			}`})
		return err
	}))
}

func (b *tab) hold() { b.t.Helper(); eval[bool](b, "(window.hold = true, window.held = [], true)") }

func (b *tab) letGo() {
	b.t.Helper()
	eval[bool](b, "(window.hold = false, window.held.forEach((go) => go()), true)")
}

// saves presses a button of the form thrice, and waits for the one answer that is held; the
// keyboard stays with the buttons that save.
func (b *tab) saves(button string) {
	b.t.Helper()
	eval[bool](b, `(() => { const e = [...document.querySelectorAll('button')].find((e) => e.innerText.trim() === %q)
		e.focus(); e.click(); e.click(); e.form?.requestSubmit(); return true })()`, button)
	b.await("window.held.length === 1 && document.activeElement.matches('button[aria-busy=true]')")
}

// value is what stands in the field of that label.
func (b *tab) value(label string) string {
	b.t.Helper()
	return eval[string](b, "document.getElementById([...document.querySelectorAll('label')].find((l) => l.textContent.trim() === %q).htmlFor).value", label)
}

// TestPageAdminSaving: while an answer is awaited a form saves nothing twice, and keeps what is
// typed; who was quicker is shown until it is decided; a lost connection takes nothing away.
func TestPageAdminSaving(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	id := ada.NewRoom(t, "Franklin", with{"capacity": 4}).ID
	path := at("/rooms/%d", id)
	b := browse(t, server)
	b.slow()
	b.signIn("ada@example.org", demoPassword)
	b.open("/admin" + path)
	b.await("document.querySelector('#room')")

	before := roomNamed(t, ada, "Franklin").Version
	b.fill("Floor", "9")
	b.hold()
	b.saves("Save")
	b.fill("Name", "Rosalind")
	b.letGo()
	b.await("!document.querySelector('[aria-busy]')")
	b.reads("Unsaved changes")
	if got := b.value("Name"); got != "Rosalind" {
		t.Errorf("the name that was typed meanwhile is %q", got)
	}
	if r := roomNamed(t, ada, "Franklin"); r.Version != before+1 {
		t.Errorf("version %d after one change of %d", r.Version, before)
	}
	b.press("Save")
	b.await("document.querySelector('h2').innerText === 'Rosalind' && !document.body.innerText.includes('Unsaved changes')")

	// Somebody is quicker, and quicker again.
	ada.Want(t, http.StatusOK, "PATCH", path, with{"capacity": 20}, nil)
	b.fill("Floor", "10")
	b.press("Save")
	b.await("document.querySelector('.conflict')?.innerText.includes('up to 20 people')")
	ada.Want(t, http.StatusOK, "PATCH", path, with{"capacity": 30}, nil)
	b.hold()
	b.saves("Overwrite with my version")
	b.await("document.querySelector('.conflict')?.innerText.includes('up to 20 people')")
	b.letGo()
	b.await("document.querySelector('.conflict')?.innerText.includes('up to 30 people')")
	b.hold()
	b.saves("Overwrite with my version")
	b.fill("Capacity", "5")
	b.await("document.querySelector('.conflict')")
	b.letGo()
	b.await("!document.querySelector('.conflict') && !document.querySelector('[aria-busy]')")
	if got := b.value("Capacity") + " " + b.value("Floor"); got != "5 10" {
		t.Errorf("capacity and floor are %q", got)
	}
	if r := roomNamed(t, ada, "Rosalind"); r.Capacity != 4 {
		t.Errorf("capacity %d, want that of the form when it was sent", r.Capacity)
	}

	// The connection is gone, and comes back.
	eval[bool](b, "(window.lose = 'request', true)")
	b.press("Save")
	b.await("document.querySelector('#room .notice')?.innerText.includes('Can’t reach the server')")
	if got := b.value("Capacity"); got != "5" {
		t.Errorf("capacity %q after a failure", got)
	}
	b.press("Save")
	b.await("!document.querySelector('#room .notice') && !document.querySelector('[aria-busy]') && !document.body.innerText.includes('Unsaved changes')")
	if r := roomNamed(t, ada, "Rosalind"); r.Capacity != 5 {
		t.Errorf("capacity %d", r.Capacity)
	}

	// A new one is made once, though the first answer is lost; its form goes on under its own address.
	b.press("All rooms")
	b.press("New room")
	b.await("document.querySelector('#room') && location.pathname.endsWith('/new')")
	b.fill("Name", "Lise")
	eval[bool](b, "(window.lose = 'answer', true)")
	b.press("Create")
	b.await("document.querySelector('#room .notice')?.innerText.includes('Can’t reach the server')")
	b.hold()
	b.saves("Create")
	b.fill("Floor", "2")
	b.letGo()
	b.await(`/\/rooms\/\d+$/.test(location.pathname) && document.querySelector('.doors')`)
	if got := b.value("Floor"); got != "2" {
		t.Errorf("the floor that was typed meanwhile is %q", got)
	}
	if n := len(idsOf(t, ada, "/rooms?limit=500", "Lise")); n != 1 {
		t.Errorf("%d rooms were made", n)
	}
	b.press("Save")
	b.await("!document.querySelector('[aria-busy]') && !document.body.innerText.includes('Unsaved changes')")

	// In a dialog: it closes when all that was typed is saved.
	b.open("/admin/sites")
	b.press("New site")
	b.await("document.querySelector('dialog[open] form')")
	b.fill("Name", "Oslo")
	b.hold()
	b.saves("Create")
	b.fill("Name", "Oslo I")
	b.letGo()
	b.await("[...document.querySelectorAll('dialog button')].some((e) => e.innerText.trim() === 'Save')")
	if got := b.value("Name"); got != "Oslo I" {
		t.Errorf("the name that was typed meanwhile is %q", got)
	}
	b.press("Save")
	b.await("!document.querySelector('dialog[open]')")
	if len(idsOf(t, ada, "/sites?limit=500", "Oslo I")) != 1 || len(idsOf(t, ada, "/sites?limit=500", "Oslo")) != 0 {
		t.Error("not one site Oslo I was made")
	}
}

// idsOf are those of a list that have a name.
func idsOf(t *testing.T, c *testenv.Client, path, name string) []int64 {
	t.Helper()
	var ids []int64
	for _, r := range testenv.All[struct {
		ID   int64
		Name string
	}](t, c, path) {
		if r.Name == name {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
