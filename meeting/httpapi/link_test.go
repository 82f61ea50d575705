package httpapi

import (
	"bytes"
	"strings"
	"testing"

	"punctual/meeting"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{7}, 32)
	links := NewLinks("https://rooms.example.org/", key)
	want := meeting.Link{MeetingID: 1 << 40, Number: 3, UserID: 129}
	token, ok := strings.CutPrefix(links.URL(want), "https://rooms.example.org/decide?token=")
	if got, read := links.read(token); !ok || !read || got != want {
		t.Fatalf("%s: %+v, %v", token, got, read)
	}
	other := NewLinks("", bytes.Repeat([]byte{8}, 32))
	if _, read := other.read(token); read {
		t.Error("a link of another installation was taken")
	}
	for i := range token {
		for _, c := range []byte("Az0_") {
			forged := []byte(token)
			if forged[i] == c {
				continue
			}
			forged[i] = c
			if _, read := links.read(string(forged)); read {
				t.Errorf("forged at %d: %s", i, forged)
			}
		}
	}
	for _, bad := range []string{"", "x", token[:len(token)-1], token + "A", token + "=", strings.Repeat("A", 4000)} {
		if _, read := links.read(bad); read {
			t.Errorf("%q was taken", bad)
		}
	}
}

// Every language says everything.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, w := range []*words{german, chinese} {
		for state, s := range english.States {
			got := w.States[state]
			if got.Tag == "" || got.Lead == "" || strings.Contains(s.Lead, "{who}") != strings.Contains(got.Lead, "{who}") || strings.Contains(s.Lead, "{when}") != strings.Contains(got.Lead, "{when}") {
				t.Errorf("%s: %s: %+v", w.Lang, state, got)
			}
		}
		for label := range english.Labels {
			if w.Labels[label] == "" {
				t.Errorf("%s: no label %s", w.Lang, label)
			}
		}
	}
	for locale, lang := range map[string]string{"": "en", "fr": "en", "zh-Hant-TW": "zh-CN", "de_AT": "de", "fr, de;q=0.8": "de", "EN-gb": "en"} {
		if got := wordsFor(locale).Lang; got != lang {
			t.Errorf("%q: %s, want %s", locale, got, lang)
		}
	}
}
