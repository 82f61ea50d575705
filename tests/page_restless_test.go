package tests

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"punctual/tests/testenv"
)

// restless is a page that changes under the mouse and the keyboard.
const restless = `<!doctype html><title>Restless</title><main>
	<p><button id=late disabled>Save</button> <button id=other>Overwrite</button></p>
	<p><label>Name <input id=name></label> <label>Thief <input id=thief></label></p>
	<div id=cover style="position: fixed; inset: 0; background: white"></div>
	<div class=toasts><div class=toast>Saved</div></div>
</main><script>
	const count = {}
	for (const b of document.querySelectorAll('button, #cover')) b.onclick = () => (count[b.id] = (count[b.id] ?? 0) + 1)
	const late = document.getElementById('late'), cover = document.getElementById('cover')
	setTimeout(() => (late.disabled = false), 200)
	setTimeout(() => cover.remove(), 400)
	let left = 0
	const moving = setInterval(() => { late.style.marginLeft = ++left * 5 + 'px'; if (left === 40) clearInterval(moving) }, 15)
	let steals = 2
	document.getElementById('name').oninput = () => { if (steals-- > 0) document.getElementById('thief').focus() }
</script>`

// TestPageHand: the mouse and the keyboard of these tests reach what is meant and nothing else, and a toast
// is one that came since.
func TestPageHand(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, restless)
	}))
	t.Cleanup(site.Close)
	b := browse(t, &testenv.ServerInstance{URL: site.URL})
	b.open("/")
	counts := func(want string) {
		t.Helper()
		if got := eval[string](b, "JSON.stringify(count)"); got != want {
			t.Errorf("clicked %s, want %s", got, want)
		}
	}

	// Disabled, covered and moving at first.
	b.press("Save")
	counts(`{"late":1}`)

	// What comes between the look and the click does not feel it.
	type spot struct {
		Missing string
		X, Y    float64
	}
	var aim spot
	eventually(t, time.Now().Add(patience), "the button stands still", func() bool { // it may still move on a slow machine
		aim = eval[spot](b, "hand.aim(() => hand.named('Save'), 0)")
		return aim.Missing == ""
	})
	eval[bool](b, "(late.before(other), other.style.cssText = `position: fixed; left: ${%f - 20}px; top: ${%f - 5}px`, true)", aim.X, aim.Y)
	b.do(chromedp.MouseClickXY(aim.X, aim.Y))
	if missed := eval[string](b, "hand.missed()"); missed == "" {
		t.Error("nobody says that the click went astray")
	}
	counts(`{"late":1}`)
	eval[bool](b, "(other.remove(), true)")

	// No letter gets to who takes the keyboard.
	b.fill("Name", "Franklin")
	if got := eval[string](b, "document.getElementById('name').value + '/' + thief.value"); got != "Franklin/" {
		t.Errorf("typed %q", got)
	}

	// The toast of before the click is another one.
	b.press("Save")
	if eval[bool](b, "hand.told('Saved')") {
		t.Error("an old toast was taken for a new one")
	}
	eval[bool](b, `(document.querySelector('.toasts').insertAdjacentHTML('beforeend', '<div class=toast>Saved again</div>'), true)`)
	b.told("Saved")
	if eval[bool](b, "hand.told('Saved')") {
		t.Error("a toast was waited for twice")
	}
	eval[bool](b, `(document.querySelector('main').append(document.querySelector('.toasts')), true)`) // as into a dialog that opens
	if eval[bool](b, "hand.told('Saved')") {
		t.Error("a toast that moved was taken for a new one")
	}
}
