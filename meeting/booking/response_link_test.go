package booking_test

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
)

// The link of a mail that somebody kept tells nothing once they are not one of us any more.
func TestFollowInvitation_ofADisabledUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	bob, guest := booking.Invitation{MeetingID: m.ID, Email: w.bob.Email}, booking.Invitation{MeetingID: m.ID, Email: "guest@example.net"}
	if _, err := w.FollowInvitation(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	w.directory.Directory = absentDirectory{fakeDirectory{{UserID: w.ann.ID, Email: w.ann.Email}}, &w.away}
	if _, err := w.FollowInvitation(t.Context(), bob); !errors.Is(err, meeting.ErrNotFound) {
		t.Errorf("what it leads to: %v", err)
	}
	if err := w.RespondByLink(t.Context(), bob, meeting.Accepted, ""); !errors.Is(err, meeting.ErrNotFound) {
		t.Errorf("answered: %v", err)
	}
	if _, err := w.FollowInvitation(t.Context(), guest); err != nil {
		t.Errorf("a guest: %v", err)
	}
}

// An answer counts for what the reader saw: after a move, a change of rooms or of a date of the
// series it is asked for again.
func TestRespondByLink_toWhatWasSeen(t *testing.T) {
	later := func(w *world, id meeting.ID) {
		m := w.store.meetings[id]
		if _, err := w.Update(t.Context(), w.ann, id, nil, booking.Fields{Start: new(clock.At(m.Slot.Start.Add(time.Hour))), End: new(clock.At(m.Slot.End.Add(time.Hour)))}); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(w *world, id meeting.ID) meeting.Response { return w.store.meetings[id].Attendees[1].Response }
	stale := func(w *world, inv booking.Invitation, id meeting.ID) {
		t.Helper()
		for range 2 {
			if err := w.RespondByLink(t.Context(), inv, meeting.Accepted, ""); !errors.Is(err, booking.ErrSeenOutdated) || answer(w, id) != meeting.NeedsAction {
				t.Errorf("%v, answer %s", err, answer(w, id))
			}
		}
		now, err := w.FollowInvitation(t.Context(), inv)
		if err != nil {
			t.Fatal(err)
		}
		inv.Seen = now.Seen
		if err := w.RespondByLink(t.Context(), inv, meeting.Accepted, ""); err != nil || answer(w, id) != meeting.Accepted {
			t.Errorf("to what is shown now: %v, answer %s", err, answer(w, id))
		}
	}
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	inv := booking.Invitation{MeetingID: m.ID, Email: "guest@example.net", Seen: w.store.meetings[m.ID].ScheduleVersion}
	if seen, err := w.FollowInvitation(t.Context(), inv); err != nil || seen.Seen != inv.Seen {
		t.Fatalf("%+v, %v", seen, err)
	}
	later(w, m.ID)
	stale(w, inv, m.ID)

	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk))
	first := r.Meetings[0].ID
	inv = booking.Invitation{MeetingID: first, SeriesID: r.Series.ID, Email: "guest@example.net", Seen: w.store.series[r.Series.ID].Sequence}
	if seen, err := w.FollowInvitation(t.Context(), inv); err != nil || seen.Seen != inv.Seen {
		t.Fatalf("%+v, %v", seen, err)
	}
	if err := w.RespondByLink(t.Context(), booking.Invitation{MeetingID: first, SeriesID: r.Series.ID, Email: "bob@example.org"}, meeting.Accepted, ""); err != nil {
		t.Fatal(err)
	}
	if seen, err := w.FollowInvitation(t.Context(), inv); err != nil || seen.Seen != inv.Seen {
		t.Errorf("somebody else's answer changes what was seen: %+v, %v", seen, err)
	}
	later(w, r.Meetings[1].ID)
	stale(w, inv, first)
}
