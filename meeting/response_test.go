package meeting

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting/clock"
)

var (
	answerStart = time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	guest       = Actor{Kind: ActorUser, Name: "Guest", Email: "Guest@example.org"}
	alan        = Actor{Kind: ActorUser, ID: 2, Name: "Alan", Email: "alan@example.org"}
)

func invitedTo(status Status) *Meeting {
	return &Meeting{
		ID: 7, Title: "Design review", Slot: clock.Slot{Start: answerStart, End: answerStart.Add(time.Hour)}, Status: status, Version: 1,
		Organizer: Person{UserID: 1, Email: "ada@example.org", Name: "Ada"},
		Attendees: []Attendee{
			{Person: Person{UserID: 2, Email: "alan@example.org"}, Response: NeedsAction}, {Person: Person{Email: "guest@example.org"}, Response: NeedsAction},
		},
	}
}

func TestMeeting_Respond(t *testing.T) {
	t.Parallel()
	before := answerStart.Add(-time.Hour)
	m := invitedTo(Confirmed)
	shared := m.Attendees
	for _, tt := range []struct {
		by      Actor
		r       Response
		comment string
		changed bool
		mails   int
	}{
		{alan, Accepted, "", true, 0},
		{alan, Accepted, "", false, 0},
		{alan, Accepted, "with pleasure", true, 0},
		{guest, Tentative, "", true, 0},
		{guest, Declined, "on a train", true, 1},
		{guest, Declined, "on a boat", true, 0}, // said so already
	} {
		m.Notices, m.History = nil, nil
		changed, err := m.Respond(tt.r, tt.comment, tt.by, before)
		if err != nil || changed != tt.changed || len(m.Notices) != tt.mails || len(m.History) != map[bool]int{true: 1}[tt.changed] {
			t.Errorf("%s answers %s: changed %v, %d mails, %d entries, %v", tt.by.Name, tt.r, changed, len(m.Notices), len(m.History), err)
		}
		for _, n := range m.Notices {
			if n.To.Email != "ada@example.org" || n.Kind != NoticeDeclined || n.Facts.By != "Guest" || n.Facts.Comment != tt.comment {
				t.Errorf("told %+v", n)
			}
		}
		for _, e := range m.History {
			if e.Action != ActionResponded || e.Reason != "" || e.Actor.Email != tt.by.Email {
				t.Errorf("noted %+v", e)
			}
		}
	}
	if m.Attendees[0].Response != Accepted || m.Attendees[1].Comment != "on a boat" || shared[0].Response != NeedsAction {
		t.Errorf("answers %+v, of the copy before %+v", m.Attendees, shared)
	}

	if _, err := m.Respond(Accepted, "", Actor{Kind: ActorUser, ID: 9, Email: "eve@example.org", Role: Admin}, before); !errors.Is(err, ErrForbidden) {
		t.Errorf("an admin who is not invited answers: %v", err)
	}
	for status, at := range map[Status]time.Time{Pending: before, Cancelled: before, Confirmed: answerStart.Add(2 * time.Hour)} {
		if _, err := invitedTo(status).Respond(Accepted, "", alan, at); !isState(err) {
			t.Errorf("%s at %v: %v", status, at, err)
		}
	}
	if _, err := invitedTo(Confirmed).Respond(Declined, "", alan, answerStart.Add(time.Minute)); err != nil {
		t.Errorf("while it takes place: %v", err)
	}
}

func isState(err error) bool { _, ok := errors.AsType[*StateError](err); return ok }

// A time outside the one that people answered to asks them again; who moved it knows.
func TestMeeting_askAnew(t *testing.T) {
	t.Parallel()
	was := clock.Slot{Start: answerStart, End: answerStart.Add(time.Hour)}
	for _, tt := range []struct {
		name  string
		to    clock.Slot
		after time.Duration // of the start
		again bool
	}{
		{"an hour later", clock.Slot{Start: was.Start.Add(time.Hour), End: was.End.Add(time.Hour)}, -time.Hour, true},
		{"a little earlier", clock.Slot{Start: was.Start.Add(-time.Minute), End: was.End}, -time.Hour, true},
		{"longer", clock.Slot{Start: was.Start, End: was.End.Add(time.Minute)}, -time.Hour, true},
		{"begins late", clock.Slot{Start: was.Start.Add(10 * time.Minute), End: was.End}, -time.Hour, false},
		{"shorter", clock.Slot{Start: was.Start, End: was.End.Add(-time.Minute)}, -time.Hour, false},
		{"goes on for longer", clock.Slot{Start: was.Start, End: was.End.Add(time.Minute)}, time.Minute, false},
	} {
		m := invitedTo(Confirmed)
		m.Attendees[0].Response, m.Attendees[1].Response, m.Attendees[1].Comment = Accepted, Declined, "no"
		m.Slot = tt.to
		m.requestResponses(was, alan, was.Start.Add(tt.after))
		if m.Attendees[0].Response != Accepted {
			t.Errorf("%s: who moved it is asked again", tt.name)
		}
		if again := m.Attendees[1].Response == NeedsAction && m.Attendees[1].Comment == ""; again != tt.again {
			t.Errorf("%s: asked again: %v, want %v", tt.name, again, tt.again)
		}
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	a, b := invitedTo(Confirmed), invitedTo(Confirmed)
	a.Attendees[0].Response, b.Attendees[0].Response = Accepted, Accepted
	a.Attendees[1].Response, b.Attendees[1].Response = Declined, Accepted
	got := WithResponses(a.Attendees, []*Meeting{a, b})
	if got[0].Response != Accepted || got[1].Response != NeedsAction {
		t.Errorf("of all dates: %+v", got)
	}
	all := a.Attendees
	a.Attendees = a.Attendees[:1] // who came later was not there yet
	if got := WithResponses(all, []*Meeting{a, b, b}); got[1].Response != Accepted {
		t.Errorf("of the dates that one is invited to: %+v", got)
	}
}
