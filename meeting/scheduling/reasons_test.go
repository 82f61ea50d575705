package scheduling

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
)

// Every language has the same reasons, with the same figures.
func TestReasons_alike(t *testing.T) {
	t.Parallel()
	figures := func(text string) string {
		found := regexp.MustCompile(`\{[a-z]+\}`).FindAllString(text, -1)
		slices.Sort(found)
		return strings.Join(found, " ")
	}
	for _, w := range []*words{german, chinese} {
		if len(w.reasons.texts) != len(english.reasons.texts) || len(w.reasons.periods) != len(english.reasons.periods) {
			t.Errorf("%s: %d texts and %d periods", w.lang, len(w.reasons.texts), len(w.reasons.periods))
		}
		for code, text := range english.reasons.texts {
			if got := figures(w.reasons.texts[code]); got != figures(text) {
				t.Errorf("%s: %s has the figures %s, want %s", w.lang, code, got, figures(text))
			}
		}
	}
}

func TestViolation(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2027, 2, 10, 11, 0, 0, 0, time.UTC)
	for want, c := range map[string]struct {
		words *words
		fault meeting.Fault
		room  string
	}{
		"Turing kann höchstens 30 Tage im Voraus gebucht werden.":                   {german, meeting.Fault{Code: "max_advance", Figures: fault.Figures{RoomID: 1, Limit: "720h"}}, "Turing"},
		"Rooms cannot be booked that far ahead (at most 365 days).":                 {english, meeting.Fault{Code: "max_advance", Figures: fault.Figures{Limit: "8760h"}}, ""},
		"Turing 最多可预订 2 小时。":                                                        {chinese, meeting.Fault{Code: "max_duration", Figures: fault.Figures{RoomID: 1, Limit: "2h"}}, "Turing"},
		"Turing hat 4 Plätze, eingeladen sind 9.":                                   {german, meeting.Fault{Code: "capacity", Figures: fault.Figures{RoomID: 1, Limit: 4, Actual: 9}}, "Turing"},
		"One person can book Turing at most 3 times per week.":                      {english, meeting.Fault{Code: "quota", Figures: fault.Figures{RoomID: 1, Limit: 3, Per: "week"}}, "Turing"},
		"Eine Person kann Turing höchstens 90 Min. buchen, je Tag.":                 {german, meeting.Fault{Code: "quota", Figures: fault.Figures{RoomID: 1, Limit: "1h30m", Per: "day"}}, "Turing"},
		"Turing ist von 10.02.2027, 12:00 bis 10.02.2027, 13:00 geschlossen. Umbau": {german, meeting.Fault{Code: "blackout", Figures: fault.Figures{RoomID: 1, Span: fault.Span{Start: noon, End: noon.Add(time.Hour)}, Reason: "Umbau"}}, "Turing"},
		"must be otherwise.": {german, meeting.Fault{Code: "unheard_of", Message: "must be otherwise"}, ""},
	} {
		if got := c.words.violation(c.fault, c.room, berlin); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
