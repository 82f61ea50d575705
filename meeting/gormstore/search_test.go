package gormstore_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/app/database/fold"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/tests/testenv/testdb"
)

func (f *fixture) bookAbout(by meeting.Actor, s clock.Slot, change func(*meeting.Terms)) int64 {
	f.Helper()
	terms := terms(s, f.turing)
	terms.Title, terms.Description = "Meeting", ""
	change(&terms)
	m, err := f.create(terms, by)
	if err != nil {
		f.Fatal(err)
	}
	return m.ID
}

// Each text is searched in pages that compare all meetings, and in pages that compare one and then use
// the index.
func TestSearch_whatTheCallerMaySee(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		day := 0
		next := func() clock.Slot {
			day++
			return clock.Slot{Start: at("09:00").AddDate(0, 0, day), End: at("10:00").AddDate(0, 0, day)}
		}
		value := func(audience meeting.Audience, v any) []meeting.FieldValue {
			return []meeting.FieldValue{{Name: "cost_center", Label: "Costs", Audience: audience, Value: v}}
		}
		described := f.bookAbout(f.anna, next(), func(t *meeting.Terms) { t.Description = "Bring the Größenplan, 50% off" })
		private := f.bookAbout(f.anna, next(), func(t *meeting.Terms) {
			t.Description, t.Visibility, t.Custom = "Größenplan, secret", meeting.Private, value(meeting.AudienceEveryone, "CC-4711")
		})
		forAll := f.bookAbout(f.anna, next(), func(t *meeting.Terms) { t.Custom = value(meeting.AudienceEveryone, `CC-4711 "north"`) })
		forAnna := f.bookAbout(f.anna, next(), func(t *meeting.Terms) { t.Custom = value(meeting.AudienceOrganizer, "CC-4711") })
		number := f.bookAbout(f.ben, next(), func(t *meeting.Terms) { t.Custom = value(meeting.AudienceEveryone, 815.5) })
		yes := f.bookAbout(f.ben, next(), func(t *meeting.Terms) { t.Custom = value(meeting.AudienceEveryone, true) })
		chinese := f.bookAbout(f.ben, next(), func(t *meeting.Terms) { t.Title = "季度会议（北京）" })
		café := f.bookAbout(f.ben, next(), func(t *meeting.Terms) { t.Title = "CAFÉ Ａ" })
		_ = yes

		blind := f.anna
		blind.Blind = true
		for _, c := range []struct {
			name, text string
			by         meeting.Actor
			want       []int64
		}{
			{"a description", "grossenplan", f.ben, nil}, // ß is not ss
			{"a description, accents", "größenplan", f.ben, []int64{described}},
			{"a description, no accents", "GROßENPLAN", f.ben, []int64{described}},
			{"a private description, its organizer", "größenplan", f.anna, []int64{described, private}},
			{"a private description, an admin", "größenplan", f.admin, []int64{described, private}},
			{"a private description, a poor token", "größenplan", blind, []int64{described}},
			{"no pattern", "50%", f.ben, []int64{described}},
			{"no pattern, nothing", "5_%", f.ben, nil},
			{"a field for all", "cc-4711", f.ben, []int64{forAll}},
			{"a field of the organizer", "cc-4711", f.anna, []int64{private, forAll, forAnna}},
			{"a field of the organizer, an admin", "cc-4711", f.admin, []int64{private, forAll, forAnna}},
			{"a field of the organizer, a poor token", "cc-4711", blind, []int64{forAll}},
			{"a field with quotes", `4711 "nor`, f.ben, []int64{forAll}},
			{"a number", "815.5", f.ben, []int64{number}},
			{"yes or no is no text", "true", f.admin, nil},
			{"names of fields", "cost_center", f.admin, nil},
			{"two characters", "会议", f.ben, []int64{chinese}},
			{"one character", "京", f.ben, []int64{chinese}},
			{"two letters", "fé", f.ben, []int64{café}},
			{"full width", "cafe a", f.ben, []int64{café}},
			{"nothing", "zzzz", f.admin, nil},
		} {
			for _, compared := range []int{1, 1000} {
				store := f.store.Scanning(compared)
				var found []int64
				q, p := meeting.MeetingQuery{Text: c.text, Viewer: &c.by, Now: now}, meeting.Page{Limit: 2}
				pages := 0
				for {
					pages++
					page, next, err := store.ListMeetings(t.Context(), q, p)
					if err != nil {
						t.Fatal(c.name, err)
					}
					found = append(found, ids(page)...)
					if p.Cursor = next; next == "" {
						break
					}
				}
				f.want(fmt.Sprintf("%s, comparing %d", c.name, compared), fmt.Sprint(found), fmt.Sprint(c.want))
				if indexed := len([]rune(fold.Text(c.text))) > 2; indexed && pages > 1+len(c.want)/2 {
					t.Errorf("%s, comparing %d: %d pages, so the index was not used", c.name, compared, pages)
				}
			}
		}

		f.change(described, func(m *meeting.Meeting) error { m.Description = "Moved to the Ölgasse"; m.Version++; return nil })
		q := meeting.MeetingQuery{Text: "olgasse", Viewer: &f.ben, Now: now}
		found, _, err := f.store.Scanning(1).ListMeetings(t.Context(), q, meeting.Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		f.want("after a change", ids(found), []int64{described})
		q.From, q.To = at("00:00").AddDate(0, 0, 300), at("00:00").AddDate(0, 0, 301)
		found, _, _ = f.store.Scanning(1).ListMeetings(t.Context(), q, meeting.Page{Limit: 10})
		f.want("in another span", len(found), 0)
	})
}

// A search by the index and one without it find the same.
func TestSearch_indexAgrees(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := rand.New(rand.NewPCG(4, 2))
		words := []string{"Jour", "fixe", "Büro", "buro", "éclair", "100%", "a_b", `c\d`, `"q"`, "会议", "議事録", "Дом", "x"}
		some := func(n int) string {
			var text []string
			for range n {
				text = append(text, words[r.IntN(len(words))])
			}
			return strings.Join(text, " ")
		}
		for i := range 60 {
			start := at("09:00").AddDate(0, 0, i)
			f.bookAbout(f.ben, clock.Slot{Start: start, End: start.Add(time.Hour)}, func(t *meeting.Terms) {
				t.Title, t.Description = some(1), some(r.IntN(3))
				if r.IntN(2) == 0 {
					t.Custom = []meeting.FieldValue{{Name: "n", Label: "N", Audience: meeting.AudienceEveryone, Value: some(2)}}
				}
			})
		}
		for range 80 {
			text := []rune(some(2))
			from := r.IntN(len(text))
			part := strings.TrimSpace(string(text[from:min(len(text), from+1+r.IntN(6))]))
			if part == "" {
				continue
			}
			q := meeting.MeetingQuery{Text: part, Viewer: &f.admin, Now: now}
			want := f.all(q, 100)
			f.store = f.store.Scanning(1)
			got := f.all(q, 100)
			f.store = f.store.Scanning(1000)
			f.want(part, ids(got), ids(want))
		}
	})
}

func TestFold_databaseAgrees(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		r := rand.New(rand.NewPCG(1, 2))
		alphabet := []rune("aZ09 _%\\\"'éÄßøŁĞİığ會議室カタガな한글ДЖΩµﬁＡ％①🙂\u0301\n")
		for range 300 {
			var b strings.Builder
			for range r.IntN(12) {
				b.WriteRune(alphabet[r.IntN(len(alphabet))])
			}
			var got string
			if err := db.Gorm.WithContext(t.Context()).Raw("SELECT search_fold(CAST(? AS text))", b.String()).Scan(&got).Error; err != nil {
				t.Fatal(err)
			}
			if want := fold.Text(b.String()); got != want {
				t.Fatalf("%q is %q, in Go %q", b.String(), got, want)
			}
		}
	})
}
