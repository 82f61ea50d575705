package tests

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long anything on a page may take, on a machine that is slow and busy.
const patience = 3 * time.Minute

// handScript is in every document as "hand"; it looks before the mouse clicks and the keyboard types.
//
//go:embed testdata/hand.js
var handScript string

// try asks the page once. It fails without harm while the page is being loaded or drawn anew.
func try[T any](b *tab, expression string) (T, error) {
	return chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until asks again and again; attempt tells what is still missing, and nothing when it has succeeded.
func (b *tab) until(what string, attempt func(n int) (missing string)) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for n := 0; ; n++ {
		missing := attempt(n)
		if missing == "" {
			return
		}
		if b.ctx.Err() != nil || time.Now().After(deadline) {
			b.shot("failed")
			says, _ := try[string](b, "document.body.innerText")
			b.t.Fatalf("%s %s; the page says\n%s", what, missing, says)
		}
		time.Sleep(25 * time.Millisecond)
	}
}

// click clicks with the mouse what an expression finds: once it is there and enabled, stands still and lies
// on top. Should something else be there by then, it does not feel the click, and the mouse aims again.
func (b *tab) click(format string, args ...any) {
	b.t.Helper()
	b.clicks(fmt.Sprintf(format, args...), fmt.Sprintf(format, args...))
}

func (b *tab) clicks(what, find string) {
	b.t.Helper()
	b.until(what, func(n int) string {
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
		b.do(chromedp.MouseClickXY(aim.X, aim.Y))
		missed, _ := try[string](b, "hand.missed()") // an error: the click has led to another document
		return missed
	})
}

// press clicks the first visible button or link of that name with the mouse.
func (b *tab) press(name string) {
	b.t.Helper()
	b.clicks(fmt.Sprintf("the button %q", name), fmt.Sprintf("hand.named(%q)", name))
}

// xpath is an expression that finds the first visible element of an XPath.
func xpath(path string) string { return fmt.Sprintf("hand.path(%q)", path) }

// key types on the keyboard, wherever the focus is.
func (b *tab) key(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// types gives the focus to what an expression finds and types there; no key gets to anything else.
func (b *tab) types(what, find, keys string, over bool) {
	b.t.Helper()
	text, _, _ := strings.Cut(keys, "\r")
	b.until(what, func(int) string {
		missing, err := try[string](b, fmt.Sprintf("hand.hold(() => %s, %v)", find, over))
		if err != nil {
			return err.Error()
		}
		if missing != "" {
			return missing
		}
		b.do(chromedp.KeyEvent(text))
		missing, err = try[string](b, fmt.Sprintf("hand.kept(%q, %v)", text, over))
		if err != nil {
			return err.Error()
		}
		return missing
	})
	if rest := keys[len(text):]; rest != "" {
		b.key(rest)
	}
}

// fill types into the field of that label, over what is there, until that is its value.
func (b *tab) fill(label, text string) {
	b.t.Helper()
	b.types(fmt.Sprintf("the field %q", label), fmt.Sprintf("hand.field(%q)", label), text, true)
}

// fillIn types over what is in the field of a selector. What completes names as one types may have another
// value then.
func (b *tab) fillIn(selector, text string) {
	b.t.Helper()
	b.types(selector, fmt.Sprintf("document.querySelector(%q)", selector), text, true)
}

// focus puts the keyboard on what a selector finds, and waits until it stays there.
func (b *tab) focus(selector string) {
	b.t.Helper()
	b.types(selector, fmt.Sprintf("document.querySelector(%q)", selector), "", false)
}

// strike puts the keyboard on what a selector finds and presses a key there.
func (b *tab) strike(selector, key string) {
	b.t.Helper()
	b.strikes("document.querySelector(%q)", key, selector)
}

// strikes is strike for what an expression finds.
func (b *tab) strikes(format, key string, args ...any) {
	b.t.Helper()
	find := fmt.Sprintf(format, args...)
	b.until(find, func(int) string {
		missing, err := try[string](b, fmt.Sprintf("hand.hold(() => %s, false)", find))
		if err != nil {
			return err.Error()
		}
		if missing != "" {
			return missing
		}
		b.do(chromedp.KeyEvent(key))
		stolen, _ := try[string](b, "hand.stolen()") // an error: the key has led to another document
		return stolen
	})
}

// choose sets a control that the keyboard reaches in ways that differ by platform, once it is enabled and
// has that value among its options.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	b.await("hand.choose(document.querySelector(%q), %q)", selector, value)
}

// told waits for a toast with that text that came after the last click, and that was not yet waited for.
// It may be gone again.
func (b *tab) told(text string) {
	b.t.Helper()
	b.await("hand.told(%q)", text)
}

// idle waits until the page has all answers that it asked for, and has drawn them. What it has still to ask
// for because of something else, such as an event, does not count.
func (b *tab) idle() {
	b.t.Helper()
	b.await("hand.idle()")
}

// drags draws with the mouse between the two places that an expression finds, each an element and a point in
// it: once they stand still and nothing else lies there.
func (b *tab) drags(format string, args ...any) {
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
		if at.Missing != "" {
			return at.Missing
		}
		b.do(chromedp.DragAndDropXY(at.Points[0][0], at.Points[0][1], at.Points[1][0], at.Points[1][1]))
		missed, _ := try[string](b, "hand.dropped()")
		return missed
	})
}

// drag draws with the mouse from one hour of a room to another; the edges belong to it.
func (b *tab) drag(fromRoom string, from float64, toRoom string, to float64) {
	b.t.Helper()
	b.drags("[hand.hour(%q, %f), hand.hour(%q, %f)]", fromRoom, from, toRoom, to)
}
