package render

import (
	"strings"
	"testing"

	"punctual/notify"
)

func TestIdentity(t *testing.T) {
	i := Identity{Domain: "new", FormerDomain: "old", FormerMeeting: 7, FormerSeries: 3}
	for got, want := range map[string]string{
		i.meeting(7): "meeting-7@old", i.meeting(8): "meeting-8@new", i.series(3): "series-3@old", i.series(4): "series-4@new",
		Identity{}.meeting(1): "meeting-1@localhost",
	} {
		if got != want {
			t.Errorf("UID %s, want %s", got, want)
		}
	}
}

// Events whose responses arrive here by mail name an address of their own as organizer, with the same local
// part as their UID, and the organizer among those who come.
func TestRenderer_repliesArriveHere(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	for want, change := range map[string]func(*notify.Facts){
		"meeting-42": func(*notify.Facts) {},
		"series-9":   func(f *notify.Facts) { f.SeriesID = 9 },
		"meeting-12": func(f *notify.Facts) { f.SeriesID, f.SeriesFirst = 9, 12 },
	} {
		n := sample(notify.Invitation, "en")
		n.Facts.Attendees = append(n.Facts.Attendees, n.Facts.Organizer)
		n.Facts.ReplyDomain = "rooms.example.org"
		change(&n.Facts)
		text, _ := r.calendar(n)
		text = strings.ReplaceAll(text, "\r\n ", "")
		for _, line := range []string{
			`ORGANIZER;CN="Grace Hopper":mailto:` + want + "@rooms.example.org\r\n", "UID:" + want + "@",
			`;CUTYPE=INDIVIDUAL;PARTSTAT=ACCEPTED;ROLE=CHAIR:mailto:grace@example.org`,
		} {
			if !strings.Contains(text, line) {
				t.Errorf("no %s in\n%s", line, text)
			}
		}
		if strings.Count(text, "mailto:grace@example.org") != 1 {
			t.Errorf("the organizer comes twice:\n%s", text)
		}
	}
}

// Organizers who want their own meetings by mail read that they booked them. Without an address of the
// meeting, nobody invites themselves: calendars just show it.
func TestRenderer_ownMeetings(t *testing.T) {
	t.Parallel()
	r := newRenderer(t)
	for locale, want := range map[string]string{"en": "You booked this meeting.", "de": "Sie haben diese Besprechung gebucht.", "zh-CN": "您预订了本次会议。"} {
		n := sample(notify.Invitation, locale)
		n.To.Name, n.To.Address, n.Facts.By = n.Facts.Organizer.Name, n.Facts.Organizer.Email, n.Facts.Organizer.Name
		m, err := r.Mail(n, n.CreatedAt)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(m.Text, want) || m.Method != "PUBLISH" {
			t.Errorf("%s, %s:\n%s", locale, m.Method, m.Text)
		}
		n.Facts.ReplyDomain = "rooms.example.org"
		if m, err = r.Mail(n, n.CreatedAt); err != nil || m.Method != "REQUEST" {
			t.Errorf("with an address of the meeting: %s, %v", m.Method, err)
		}
		n.Kind = notify.Change
		if m, err = r.Mail(n, n.CreatedAt); err != nil || strings.Contains(m.Text, n.To.Name+" changed") {
			t.Errorf("about their own change: %v\n%s", err, m.Text)
		}
	}
}

func TestOwnUID(t *testing.T) {
	t.Parallel()
	r := &Renderer{uids: Identity{Domain: "new", FormerDomain: "old", FormerMeeting: 7, FormerSeries: 3}}
	for uid, want := range map[string]bool{
		"meeting-8@new": true, "meeting-7@old": true, "series-4@new": true, "series-3@old": true,
		"meeting-7@new": false, "meeting-8@old": false, "meeting-8@other": false, "meeting-x@new": false, "8@new": false, "": false,
	} {
		if got := r.OwnUID(uid); got != want {
			t.Errorf("%q: %v", uid, got)
		}
	}
}
