package linkpages

import (
	"strings"
	"testing"
)

// Every language has every text, with the same placeholders.
func TestPageWords(t *testing.T) {
	t.Parallel()
	pages := map[string]func(*words) pageWords{
		"decide":   func(w *words) pageWords { return w.Decide },
		"respond":  func(w *words) pageWords { return w.Respond },
		"offer":    func(w *words) pageWords { return w.Offer },
		"check-in": func(w *words) pageWords { return w.CheckIn },
		"mail":     func(w *words) pageWords { return w.Mail },
	}
	for name, of := range pages {
		want := of(english)
		for _, w := range []*words{german, chinese} {
			got := of(w)
			for state, s := range want.States {
				have := got.States[state]
				if have.Tag == "" || have.Lead == "" {
					t.Errorf("%s: %s: %s: %+v", name, w.Lang, state, have)
				}
				for _, placeholder := range []string{"{who}", "{when}", "{n}"} {
					if strings.Contains(s.Lead, placeholder) != strings.Contains(have.Lead, placeholder) {
						t.Errorf("%s: %s: %s: %s in one of %q and %q only", name, w.Lang, state, placeholder, s.Lead, have.Lead)
					}
				}
			}
			for choice := range want.Buttons {
				if got.Buttons[choice] == "" || (got.Confirm[choice] == "") != (want.Confirm[choice] == "") {
					t.Errorf("%s: %s: %s: %q %q", name, w.Lang, choice, got.Buttons[choice], got.Confirm[choice])
				}
			}
			if (got.Optional == "") != (want.Optional == "") || (got.Changed == "") != (want.Changed == "") {
				t.Errorf("%s: %s: %q %q", name, w.Lang, got.Optional, got.Changed)
			}
		}
		if len(want.Buttons) == 0 || len(want.States) < 3 {
			t.Errorf("%s: %v", name, want)
		}
	}
}
