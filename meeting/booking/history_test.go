package booking_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// What happened while a meeting was private stays hidden from those to whom it was "Busy".
func TestService_historyOfWhatWasPrivate(t *testing.T) {
	w := newWorld(t)
	f := w.fields(time.Hour, w.board)
	f.Visibility = new(meeting.Private)
	m := w.book(t, w.ann, f)
	update := func(f booking.Fields) {
		t.Helper()
		if _, err := w.Update(t.Context(), w.ann, m.ID, nil, f); err != nil {
			t.Fatal(err)
		}
	}
	update(booking.Fields{Title: new("Layoffs"), Attendees: &[]meeting.Person{}})
	if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, "if it must be"); err != nil {
		t.Fatal(err)
	}
	update(booking.Fields{Title: new("Open day"), Visibility: new(meeting.Public)})
	update(booking.Fields{Title: new("Open days")})

	fields := func(by meeting.Actor) (all [][]string) {
		t.Helper()
		entries, _, err := w.History(t.Context(), by, m.ID, meeting.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range entries {
			all = append(all, slices.Sorted(maps.Keys(e.Changes)))
			if known := e.Actor.Name != "" && (e.Actor.ID != 0) && (e.Action != meeting.ActionConfirmed || e.Reason != ""); known != (i == 4 || by.ID != w.max.ID) {
				t.Errorf("%s reads %+v", by.Name, e)
			}
		}
		return all
	}
	whole := [][]string{{"status"}, {"attendees", "title"}, {"status"}, {"title", "visibility"}, {"title"}}
	for _, by := range []meeting.Actor{w.ann, w.mona, w.root} {
		same(t, by.Name+" reads", fields(by), whole)
	}
	same(t, "a stranger reads", fields(w.max), [][]string{{"status"}, nil, {"status"}, {"visibility"}, {"title"}})
}

// Of what is veiled the words of people are left out, and those of a timer stay.
func TestEntry_veiled(t *testing.T) {
	changes := map[string]meeting.Change{"status": {From: meeting.Pending, To: meeting.Cancelled}, "title": {From: "Layoffs", To: "Open day"}, "pending_change": {From: "there"}, "approval.agreed": {To: "Board"}}
	at := time.Date(2027, 2, 10, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		by, want meeting.Actor
		reason   string
	}{
		{meeting.Actor{Kind: meeting.ActorUser, ID: 1, Name: "ann"}, meeting.Actor{Kind: meeting.ActorUser}, ""},
		{meeting.Timer(meeting.JobExpire), meeting.Timer(meeting.JobExpire), "because"},
	} {
		e := meeting.Entry{ID: 1, At: at, Action: meeting.ActionCancelled, Actor: tt.by, Changes: changes, Reason: "because"}
		same(t, "veiled", e.Veiled(), meeting.Entry{ID: 1, At: at, Action: meeting.ActionCancelled, Actor: tt.want, Changes: map[string]meeting.Change{"status": {From: meeting.Pending, To: meeting.Cancelled}}, Reason: tt.reason})
	}
	same(t, "the entry itself", len(changes), 4)
}

// A token for something else shows of private meetings what strangers see, whoever has it.
func TestActor_blind(t *testing.T) {
	w := newWorld(t)
	f := w.fields(time.Hour, w.board)
	f.Visibility = new(meeting.Private)
	m := w.book(t, w.ann, f)
	for _, by := range []meeting.Actor{w.ann, w.bob, w.mona, w.root} {
		by.Blind = true
		seen, err := w.Meeting(t.Context(), by, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, by.Name+" sees", seen.Title, meeting.Busy)
		same(t, by.Name+" sees people", len(seen.Attendees), 0)
	}
	public := w.book(t, w.ann, w.fields(3*time.Hour, w.desk))
	blind := w.root
	blind.Blind = true
	seen, err := w.Meeting(t.Context(), blind, public.ID)
	if err != nil || seen.Title != "Review" || seen.Attendees[0].Phone != "" {
		t.Errorf("of a public one: %+v, %v", seen, err)
	}
}
