package gormstore_test

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// TestWait_delegates: a delegate joins, accepts and leaves for a user. Both are named, and nobody else may.
func TestWait_delegates(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		l := newLine(f)
		l.settings.Offer = 30 * time.Minute
		waits, s := l.svc.waitlist, slot("10:00", "11:00")
		taken := f.book(s, f.turing)
		fields := wish(s, f.turing)
		fields.Organizer = &booking.OrganizerRef{UserID: f.anna.ID}
		refused := func(what string, by meeting.Actor, fields booking.Fields, location string) {
			t.Helper()
			var invalid *meeting.InvalidError
			if _, err := waits.Join(ctx, by, fields, nil); !errors.As(err, &invalid) || invalid.Faults[0].Location != location || invalid.Faults[0].Code != "not_allowed" {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("no delegate", f.ben, fields, "organizer_id")
		refused("an admin who is no delegate", f.admin, fields, "organizer_id")
		ben := f.ben
		ben.ActsFor = &[]meeting.ActsFor{{UserID: f.anna.ID, Role: meeting.Member}}
		private := fields
		private.Visibility = new(meeting.Private)
		refused("private", ben, private, "visibility")

		l.settings.Limits.MaxWaits = 1
		w, err := waits.Join(ctx, ben, fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w.Person.UserID != f.anna.ID || w.JoinedBy.UserID != f.ben.ID || w.JoinedBy.Name != f.ben.Name {
			t.Errorf("%+v waits by %+v, want Anna by Ben", w.Person, w.JoinedBy)
		}
		var over *meeting.PolicyError
		if _, err := waits.Join(ctx, ben, fields, nil); !errors.As(err, &over) {
			t.Errorf("beyond what Anna may join: %v", err)
		}
		l.settings.Limits.MaxWaits = 0
		own, err := waits.Join(ctx, f.anna, private, nil) // organizer_id may name oneself
		if err != nil || own.JoinedBy.UserID != 0 {
			t.Fatalf("%+v, %v", own, err)
		}
		for by, want := range map[*meeting.Actor]int{&ben: 1, &f.ben: 0, &f.anna: 2} { // not the private one
			if ws, _, err := waits.Waits(ctx, *by, meeting.WaitQuery{UserID: f.anna.ID}, meeting.Page{}); err != nil || len(ws) != want {
				t.Errorf("%d entries, %v, want %d", len(ws), err, want)
			}
		}
		if err := waits.Leave(ctx, ben, own.ID, nil); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("left a private one: %v", err)
		}

		l.cancel(taken)
		l.look()
		if _, err := waits.Accept(ctx, f.ben, w.ID, nil); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("accepted as no delegate any more: %v", err)
		}
		got, err := waits.Accept(ctx, ben, w.ID, nil)
		if err != nil || got.State != meeting.Booked {
			t.Fatalf("%+v, %v", got, err)
		}
		m := f.read(got.MeetingID)
		if m.Organizer.UserID != f.anna.ID || m.BookedBy.UserID != f.ben.ID {
			t.Errorf("organizer %+v, booked by %+v", m.Organizer, m.BookedBy)
		}
		h, _, err := f.store.History(ctx, m.ID, meeting.Page{})
		if err != nil || h[0].Actor.ID != f.ben.ID || h[0].Changes["acted_for"].To != f.anna.Name || h[0].Reason != meeting.ReasonWaitingList {
			t.Errorf("history %+v, %v", h, err)
		}
		f.want("mails to Anna that it is booked", f.notified(meeting.NoticeWaitlistBooked), int64(1))
		f.want("further mails", f.notified(meeting.NoticeInvitation), int64(0))

		// A place that a delegate leaves, and one that is served by itself.
		left, err := waits.Join(ctx, ben, fields, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := waits.Leave(ctx, ben, left.ID, nil); err != nil {
			t.Fatal(err)
		}
		l.settings.Offer = 0
		later := wish(slot("14:00", "15:00"), f.turing)
		later.Organizer = fields.Organizer
		served, err := waits.Join(ctx, ben, later, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.look()
		if m := f.read(l.wantState("served", served, meeting.Booked).MeetingID); m.BookedBy.UserID != f.ben.ID || m.Organizer.UserID != f.anna.ID {
			t.Errorf("organizer %+v, booked by %+v", m.Organizer, m.BookedBy)
		}
	})
}
