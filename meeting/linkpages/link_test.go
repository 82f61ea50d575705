package linkpages

import (
	"strings"
	"testing"
	"time"

	"punctual/account/signing"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/waitlist"
	"punctual/notify"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	links := NewLinks("https://rooms.example.org/", signing.NewRing(signing.NewKey(1)))
	want := meeting.Link{MeetingID: 1 << 40, Number: 3, UserID: 129}
	token, ok := strings.CutPrefix(links.URL(want), "https://rooms.example.org/decide?token=")
	if got, read := links.read(token); !ok || !read || got != want {
		t.Fatalf("%s: %+v, %v", token, got, read)
	}
	other := NewLinks("", signing.NewRing(signing.NewKey(1)))
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

// A link is for what it was made for, and no other.
func TestAnswerLinks(t *testing.T) {
	t.Parallel()
	links := NewLinks("https://rooms.example.org", signing.NewRing(signing.NewKey(1)))
	invitation, offer := booking.Invitation{MeetingID: 12, SeriesID: 3, Email: "a@example.org", Seen: 5}, waitlist.Offer{WaitID: 12, UserID: 3}
	_, token, _ := strings.Cut(links.InvitationURL(invitation), "/respond?token=")
	if got, ok := links.readInvitation(token); !ok || got != invitation {
		t.Errorf("an invitation: %+v, %v", got, ok)
	}
	if _, ok := links.readOffer(token); ok {
		t.Error("an invitation passes for an offer")
	}
	released := links.seal(forInvitationBefore, append([]byte{12, 3}, invitation.Email...))
	invitation.Seen = 0
	if got, ok := links.readInvitation(released); !ok || got != invitation {
		t.Errorf("an invitation of an earlier release: %+v, %v", got, ok)
	}
	if _, ok := links.readArrival(token); ok {
		t.Error("an invitation passes for a check-in")
	}
	_, token, _ = strings.Cut(links.OfferURL(offer), "/offer?token=")
	if got, ok := links.readOffer(token); !ok || got != offer {
		t.Errorf("an offer: %+v, %v", got, ok)
	}
	for _, read := range []bool{
		func() bool { _, ok := links.readInvitation(token); return ok }(),
		func() bool { _, ok := links.read(token); return ok }(),
	} {
		if read {
			t.Error("an offer passes for something else")
		}
	}
}

// A link to choose mails is for one reader, and no other link passes for one.
func TestMailsURL(t *testing.T) {
	t.Parallel()
	links := NewLinks("https://rooms.example.org", signing.NewRing(signing.NewKey(1)))
	for _, want := range []Reader{{UserID: 7, Kind: "decision"}, {Email: "g@example.org", Kind: "reminder"}} {
		_, token, _ := strings.Cut(links.MailsURL(want), "/choose-mails?token=")
		if got, ok := links.readReader(token); !ok || got != want {
			t.Errorf("%+v, %v; want %+v", got, ok, want)
		}
		if _, ok := links.readInvitation(token); ok {
			t.Errorf("the link of %+v passes for an invitation", want)
		}
	}
	for _, nobody := range []Reader{{}, {UserID: 7, Email: "g@example.org"}} {
		_, token, _ := strings.Cut(links.MailsURL(nobody), "/choose-mails?token=")
		if got, ok := links.readReader(token); ok {
			t.Errorf("a link for nobody: %+v", got)
		}
	}
	_, token, _ := strings.Cut(links.InvitationURL(booking.Invitation{MeetingID: 12, Email: "a@example.org"}), "/respond?token=")
	if _, ok := links.readReader(token); ok {
		t.Error("an invitation passes for a choice of mails")
	}
}

// Every language says everything.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, w := range []*words{german, chinese} {
		for state, s := range english.Decide.States {
			got := w.Decide.States[state]
			if got.Tag == "" || got.Lead == "" || strings.Contains(s.Lead, "{who}") != strings.Contains(got.Lead, "{who}") || strings.Contains(s.Lead, "{when}") != strings.Contains(got.Lead, "{when}") ||
				strings.Contains(s.Lead, "{n}") != strings.Contains(got.Lead, "{n}") {
				t.Errorf("%s: %s: %+v", w.Lang, state, got)
			}
		}
		if !strings.Contains(w.Dates, "{n}") || !strings.Contains(w.LastDate, "{when}") {
			t.Errorf("%s: %s %s", w.Lang, w.Dates, w.LastDate)
		}
		for label := range english.Labels {
			if w.Labels[label] == "" {
				t.Errorf("%s: no label %s", w.Lang, label)
			}
		}
	}
	for _, w := range []*words{english, german, chinese} {
		for _, k := range append(notify.Choosable(), notify.DigestMail, "invitations") {
			if w.Kinds[string(k)] == "" {
				t.Errorf("%s: no name for mails of kind %s", w.Lang, k)
			}
		}
	}
	for locale, lang := range map[string]string{"": "en", "fr": "en", "zh-Hant-TW": "zh-CN", "de_AT": "de", "fr, de;q=0.8": "de", "EN-gb": "en"} {
		if got := wordsFor(locale).Lang; got != lang {
			t.Errorf("%q: %s, want %s", locale, got, lang)
		}
	}
}

// A link that decides on a series tells on how many dates, and which.
func TestViewOf_series(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 25, 9, 0, 0, 0, time.UTC)
	var dates []clock.Slot
	for i := range 8 {
		at := start.AddDate(0, 0, 7*i)
		dates = append(dates, clock.Slot{Start: at, End: at.Add(time.Hour)})
	}
	m := &meeting.Meeting{Title: "Board", Slot: dates[0], Timezone: "Europe/Berlin", Organizer: meeting.Person{Name: "Ann"}, Request: &meeting.Request{Deadline: start}}
	linked := &meeting.Linked{State: meeting.LinkOpen, Meeting: m, Dates: dates}
	v := viewOf(linked, "token", "")
	if !strings.Contains(v.Lead, "Ann has requested a room for 8 dates") {
		t.Error(v.Lead)
	}
	if rows := v.Rows[1]; rows.Label != "Dates" || len(rows.Lines) != 8 || rows.Lines[0] != "8 dates:" || rows.Lines[1] != "Thu, Mar 25, 2027, 10:00" || rows.Lines[7] != "… the last one on Thu, May 13, 2027, 11:00" {
		t.Errorf("%q", rows)
	}
	linked.Dates = nil
	if v := viewOf(linked, "token", ""); strings.Contains(v.Lead, "series") || v.Rows[1].Label != "Where" && v.Rows[1].Label != "Decide by" {
		t.Errorf("a single meeting: %q %+v", v.Lead, v.Rows)
	}
}
