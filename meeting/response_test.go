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
		m.notices, m.history = nil, nil
		changed, err := m.Respond(tt.r, tt.comment, tt.by, before)
		if err != nil || changed != tt.changed || len(m.notices) != tt.mails || len(m.history) != map[bool]int{true: 1}[tt.changed] {
			t.Errorf("%s answers %s: changed %v, %d mails, %d entries, %v", tt.by.Name, tt.r, changed, len(m.notices), len(m.history), err)
		}
		for _, n := range m.notices {
			if n.To.Email != "ada@example.org" || n.Kind != NoticeDeclined || n.Facts.By != "Guest" || n.Facts.Comment != tt.comment {
				t.Errorf("told %+v", n)
			}
		}
		for _, e := range m.history {
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
	got := responses(a.Attendees, []*Meeting{a, b})
	if got[0].Response != Accepted || got[1].Response != NeedsAction {
		t.Errorf("of all dates: %+v", got)
	}
	all := a.Attendees
	a.Attendees = a.Attendees[:1] // who came later was not there yet
	if got := responses(all, []*Meeting{a, b, b}); got[1].Response != Accepted {
		t.Errorf("of the dates that one is invited to: %+v", got)
	}
}

// The link of a mail that somebody kept tells nothing once they are not one of us any more.
func TestFollowInvitation_ofADisabledUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	bob, guest := Invitation{MeetingID: m.ID, Email: w.bob.Email}, Invitation{MeetingID: m.ID, Email: "guest@example.net"}
	if _, err := w.FollowInvitation(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	w.directory = absentDirectory{fakeDirectory{{UserID: w.ann.ID, Email: w.ann.Email}}, &w.away}
	if _, err := w.FollowInvitation(t.Context(), bob); !errors.Is(err, ErrNotFound) {
		t.Errorf("what it leads to: %v", err)
	}
	if err := w.RespondByLink(t.Context(), bob, Accepted, ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("answered: %v", err)
	}
	if _, err := w.FollowInvitation(t.Context(), guest); err != nil {
		t.Errorf("a guest: %v", err)
	}
}

// An answer counts for what the reader saw: after a move, a change of rooms or of a date of the
// series it is asked for again.
func TestRespondByLink_toWhatWasSeen(t *testing.T) {
	later := func(w *world, id ID) {
		m := w.store.meetings[id]
		if _, err := w.Update(t.Context(), w.ann, id, nil, Fields{Start: new(clock.At(m.Slot.Start.Add(time.Hour))), End: new(clock.At(m.Slot.End.Add(time.Hour)))}); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(w *world, id ID) Response { return w.store.meetings[id].Attendees[1].Response }
	stale := func(w *world, inv Invitation, id ID) {
		t.Helper()
		for range 2 {
			if err := w.RespondByLink(t.Context(), inv, Accepted, ""); !errors.Is(err, ErrSeenOutdated) || answer(w, id) != NeedsAction {
				t.Errorf("%v, answer %s", err, answer(w, id))
			}
		}
		now, err := w.FollowInvitation(t.Context(), inv)
		if err != nil {
			t.Fatal(err)
		}
		inv.Seen = now.Seen
		if err := w.RespondByLink(t.Context(), inv, Accepted, ""); err != nil || answer(w, id) != Accepted {
			t.Errorf("to what is shown now: %v, answer %s", err, answer(w, id))
		}
	}
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	inv := Invitation{MeetingID: m.ID, Email: "guest@example.net", Seen: w.store.meetings[m.ID].ScheduleVersion}
	if seen, err := w.FollowInvitation(t.Context(), inv); err != nil || seen.Seen != inv.Seen {
		t.Fatalf("%+v, %v", seen, err)
	}
	later(w, m.ID)
	stale(w, inv, m.ID)

	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk))
	first := r.Meetings[0].ID
	inv = Invitation{MeetingID: first, SeriesID: r.Series.ID, Email: "guest@example.net", Seen: w.store.series[r.Series.ID].Sequence}
	if seen, err := w.FollowInvitation(t.Context(), inv); err != nil || seen.Seen != inv.Seen {
		t.Fatalf("%+v, %v", seen, err)
	}
	if err := w.RespondByLink(t.Context(), Invitation{MeetingID: first, SeriesID: r.Series.ID, Email: "bob@example.org"}, Accepted, ""); err != nil {
		t.Fatal(err)
	}
	if seen, err := w.FollowInvitation(t.Context(), inv); err != nil || seen.Seen != inv.Seen {
		t.Errorf("somebody else's answer changes what was seen: %+v, %v", seen, err)
	}
	later(w, r.Meetings[1].ID)
	stale(w, inv, first)
}
