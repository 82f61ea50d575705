package linkpages

import (
	"bytes"
	"embed"
	"encoding/json"
	"strings"
)

//go:embed words
var wordFiles embed.FS

// words are the texts of all pages in one language, from words/<language>.json.
type words struct {
	Lang     string // BCP 47
	Comma    string
	Space    string // between a date and a time
	Weekdays [7]string
	Comment  string // label of the text field
	Taken    string
	Rules    string
	OnBehalf string `json:"on_behalf"` // {who} decided on behalf of {whom}
	Dates    string // number of dates of a series: {n}
	LastDate string `json:"last_date"` // its last date: {when}
	TooLong  string `json:"too_long"`
	Labels   map[string]string
	Decide   pageWords
	Respond  pageWords
	Offer    pageWords
	CheckIn  pageWords `json:"check_in"`
	Mail     pageWords

	Subscription pageWords
	Kinds        map[string]string // names of groups of mails
}

type pageWords struct {
	Buttons  map[string]string // by choice
	Confirm  map[string]string // by choice: nothing has been sent yet
	Optional string            // about the comment
	Changed  string            // the page was outdated
	Headline string            // of a page that is not about a meeting
	Switched map[string]string // on and off
	States   map[string]stateWords
}

// stateWords are the texts of one state. The lead contains {who}, {when} and, for a series, {n}.
type stateWords struct{ Tag, Lead string }

var english, german, chinese = loadWords("en"), loadWords("de"), loadWords("zh-CN")

func loadWords(lang string) *words {
	text, err := wordFiles.ReadFile("words/" + lang + ".json")
	if err != nil {
		panic(err) // embedded in the program
	}
	w := new(words)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(w); err != nil {
		panic(err)
	}
	return w
}

// wordsFor returns the language nearest to what a person prefers, by default English.
func wordsFor(locale string) *words {
	for wish := range strings.SplitSeq(strings.ToLower(locale), ",") {
		switch lang := strings.TrimSpace(wish); {
		case strings.HasPrefix(lang, "zh"):
			return chinese
		case strings.HasPrefix(lang, "de"):
			return german
		case strings.HasPrefix(lang, "en"):
			return english
		}
	}
	return english
}
