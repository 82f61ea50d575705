package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"punctual/app"
	"punctual/meeting"
	"punctual/meeting/mailroom"
	"punctual/meeting/places"
)

// TestMailroom: a mail is tried, listed, shown and released by commands.
func TestMailroom(t *testing.T) {
	install(t)
	settings := "mailroom:\n  domain: rooms.example.org\n  trust: { authserv_ids: [mx.example.org] }\n"
	if err := os.WriteFile("config.yaml", []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	const eml = "From: ada@example.org\r\nTo: turing@rooms.example.org\r\nSubject: Review\r\nContent-Type: text/calendar; method=REQUEST\r\n\r\n" +
		"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20270101T000000Z\r\nDTSTART:20270210T090000Z\r\nDTEND:20270210T100000Z\r\n" +
		"ORGANIZER:mailto:ada@example.org\r\nATTENDEE:mailto:turing@rooms.example.org\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	c := &cli{stderr: io.Discard, configFile: "config.yaml"}
	err := c.withApplication(t.Context(), func(a *app.Application) error {
		rooms, _, err := a.Meetings().Rooms(t.Context(), meeting.RoomQuery{}, meeting.Page{Limit: 10})
		if err != nil {
			return err
		}
		address := "turing"
		for _, r := range rooms {
			if r.Name == "Turing" {
				if _, err := a.Places().UpdateRoom(t.Context(), meeting.Actor{Kind: meeting.ActorSystem}, r.ID, nil, places.RoomFields{Address: &address}); err != nil {
					return err
				}
			}
		}
		_, err = a.Mailroom().Receive(t.Context(), mailroom.Envelope{Source: mailroom.LMTP, Sender: "ada@example.org", Recipients: []string{"turing@rooms.example.org"}}, []byte(eml))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args []string
		want string // in what it prints, or in its error
	}{
		{[]string{"test", "-"}, "turing ACCEPTED"},
		{[]string{"test", "-"}, "unauthenticated (quarantined)"},
		{[]string{"test", "-", "--recipient", "nobody@rooms.example.org"}, "names no address"},
		{[]string{"list", "--state", "quarantined"}, "turing@rooms.example.org"},
		{[]string{"list", "--state", "lost"}, "must be one of"},
		{[]string{"show", "1"}, "Subject: Review"},
		{[]string{"show", "7"}, "there is no mail 7"},
		{[]string{"retry", "x"}, "is not the ID of a mail"},
		{[]string{"retry", "1"}, "Mail 1 will be processed"},
		{[]string{"retry", "1"}, "mail 1 is new"},
	} {
		out, err := runCommand(t, eml, append([]string{"mailroom"}, step.args...)...)
		if err != nil {
			out += err.Error()
		}
		if !strings.Contains(out, step.want) {
			t.Errorf("%v: %s, want %q", step.args, out, step.want)
		}
	}
}
