package booking_test

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

// bookFor are the world's fields for somebody else.
func (w *world) bookFor(email string, in time.Duration, rooms ...*meeting.Room) booking.Fields {
	f := w.fields(in, rooms...)
	f.Organizer = &booking.OrganizerRef{Email: email}
	return f
}

func TestService_booksForSomebodyElse(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.root, w.bookFor(" Ann@Example.org ", time.Hour, w.desk))
	same(t, "organizer", m.Organizer.UserID, w.ann.ID)
	same(t, "notified", w.notified(), []string{"invitation ann@example.org", "invitation bob@example.org", "invitation guest@example.net"})
	entry := w.store.history[m.ID][0]
	same(t, "booked by", entry.Actor.Name, "root")
	same(t, "booked for", entry.Changes["organizer"], meeting.Change{To: "ann@example.org"})
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Title: new("Mine now")}); err != nil {
		t.Errorf("the organizer may not change it: %v", err)
	}

	byID := w.fields(2*time.Hour, w.desk)
	byID.Organizer = &booking.OrganizerRef{UserID: w.ann.ID}
	same(t, "by ID", w.book(t, w.root, byID).Organizer.UserID, w.ann.ID)
	own := w.fields(3*time.Hour, w.desk)
	own.Organizer = &booking.OrganizerRef{UserID: w.ann.ID}
	same(t, "changes of an own booking", len(w.store.history[w.book(t, w.ann, own).ID][0].Changes), 1) // the status

	for name, o := range map[string]booking.OrganizerRef{
		"organizer_id unknown_user":    {UserID: 4711},
		"organizer_email unknown_user": {Email: "nobody@example.org"},
	} {
		f := w.fields(4*time.Hour, w.desk)
		f.Organizer = &o
		_, err := w.Book(t.Context(), w.root, f)
		invalid, _ := errors.AsType[*meeting.InvalidError](err)
		if invalid == nil || codes(invalid.Faults)[0] != name {
			t.Errorf("%+v: %v, want %s", o, err, name)
		}
	}
	_, err := w.waitlist.Join(t.Context(), w.root, w.bookFor(w.ann.Email, time.Hour, w.desk), nil)
	if invalid, _ := errors.AsType[*meeting.InvalidError](err); invalid == nil {
		t.Errorf("a waiting list entry for somebody else: %v", err)
	}
}

// Managers book for others where they approve every room.
func TestService_managersBookTheirRoomsForOthers(t *testing.T) {
	w := newWorld(t)
	same(t, "organizer", w.book(t, w.mona, w.bookFor(w.ann.Email, time.Hour, w.board)).Organizer.UserID, w.ann.ID)
	for name, c := range map[string]struct {
		by    meeting.Actor
		rooms []*meeting.Room
	}{
		"a member":                     {w.bob, []*meeting.Room{w.desk}},
		"a manager elsewhere":          {w.max, []*meeting.Room{w.board}},
		"a manager of one of two":      {w.mona, []*meeting.Room{w.board, w.desk}},
		"a member, of an unknown user": {w.bob, []*meeting.Room{w.desk}},
	} {
		if _, err := w.Book(t.Context(), c.by, w.bookFor(w.ann.Email, 5*time.Hour, c.rooms...)); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("%s: %v, want forbidden", name, err)
		}
	}
}

// A request names both. Approved, it invites as usual.
func TestService_requestsForSomebodyElse(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.max.ID}, SecondIDs: &[]int64{w.mona.ID}})
	m := w.book(t, w.mona, w.bookFor(w.ann.Email, time.Hour, lab))
	same(t, "status", m.Status, meeting.Pending)
	same(t, "requested by", w.store.notices[0].Facts.BookedBy, "mona")
	same(t, "requested for", w.store.notices[0].Facts.Organizer.Name, "ann")
	same(t, "notified", w.notified(), []string{"approval_request max@example.org"})
	if _, err := w.Update(t.Context(), w.root, m.ID, nil, booking.Fields{Organizer: &booking.OrganizerRef{UserID: w.bob.ID}}); err != nil {
		t.Fatal(err)
	}
	same(t, "notified of a request that was handed over", w.notified(), []string(nil))
	if _, err := w.approval.Approve(t.Context(), w.root, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	same(t, "notified of the approval", w.notified(), []string{"decision bob@example.org", "invitation bob@example.org", "invitation guest@example.net"})
}

func TestService_handsOver(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.board))
	if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.notified()
	to := func(a meeting.Actor) booking.Fields {
		return booking.Fields{Organizer: &booking.OrganizerRef{UserID: a.ID}}
	}
	for name, by := range map[string]meeting.Actor{"its organizer": w.ann, "a stranger": w.bob, "a manager elsewhere": w.max} {
		if _, err := w.Update(t.Context(), by, m.ID, nil, to(w.bob)); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("%s: %v, want forbidden", name, err)
		}
	}
	more := to(w.bob)
	more.Title = new("Other")
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, more); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager changes the title, too: %v", err)
	}
	got, err := w.Update(t.Context(), w.mona, m.ID, nil, to(w.bob))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "organizer", got.Organizer.UserID, w.bob.ID)
	same(t, "status", got.Status, meeting.Confirmed)
	same(t, "notified", w.notified(), []string{"change ann@example.org", "change guest@example.net", "invitation bob@example.org"})
	h := w.store.history[m.ID]
	same(t, "history", h[len(h)-1].Changes["organizer"], meeting.Change{From: "ann@example.org", To: "bob@example.org"})
	version := got.Version
	if got, err = w.Update(t.Context(), w.bob, m.ID, nil, to(w.bob)); err != nil || got.Version != version {
		t.Errorf("the same organizer again: version %d, %v", got.Version, err)
	}
}

// Quotas count for the organizer, whoever books.
func TestService_quotasOfTheOrganizer(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab"), Quota: &policy.Quota{Per: policy.PerDay, Count: 1}})
	w.book(t, w.root, w.bookFor(w.ann.Email, time.Hour, lab))
	_, err := w.Book(t.Context(), w.ann, w.fields(2*time.Hour, lab))
	same(t, "her own", violations(t, err), []string{"quota"})
	_, err = w.Book(t.Context(), w.root, w.bookFor(w.ann.Email, 2*time.Hour, lab))
	same(t, "for her", violations(t, err), []string{"quota"})
	own := w.book(t, w.root, w.fields(3*time.Hour, lab)) // has a quota of their own
	_, err = w.Update(t.Context(), w.root, own.ID, nil, booking.Fields{Organizer: &booking.OrganizerRef{UserID: w.ann.ID}})
	same(t, "handed over", violations(t, err), []string{"quota"})
	over := w.bookFor(w.ann.Email, 4*time.Hour, lab)
	over.Override = &meeting.Override{Reason: "exception"}
	if _, err := w.Book(t.Context(), w.root, over); err != nil {
		t.Errorf("an override: %v", err)
	}
	series := w.weekly("FREQ=DAILY;COUNT=2", lab)
	series.Organizer = &booking.OrganizerRef{UserID: w.bob.ID}
	series.Start, series.End = w.fields(24*time.Hour, lab).Start, w.fields(24*time.Hour, lab).End
	w.bookSeries(t, w.root, series)
	_, err = w.Book(t.Context(), w.bob, w.fields(26*time.Hour, lab))
	same(t, "after a series for him", violations(t, err), []string{"quota"})
}

func TestSeries_forSomebodyElse(t *testing.T) {
	w := newWorld(t)
	f := w.weekly("FREQ=WEEKLY;COUNT=3", w.desk)
	f.Organizer = &booking.OrganizerRef{Email: w.ann.Email}
	if _, err := w.series.Preview(t.Context(), w.bob, f); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a member previews: %v", err)
	}
	r, err := w.series.Book(t.Context(), w.root, f)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "organizer", r.Series.Organizer.UserID, w.ann.ID)
	same(t, "of a date", r.Meetings[2].Organizer.UserID, w.ann.ID)
	same(t, "notified", w.notified(), []string{"invitation ann@example.org", "invitation bob@example.org", "invitation guest@example.net"})

	if _, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Fields: booking.Fields{Organizer: &booking.OrganizerRef{UserID: w.max.ID}}}); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("the organizer hands it over: %v", err)
	}
	if _, err := w.Update(t.Context(), w.root, r.Meetings[1].ID, nil, booking.Fields{Organizer: &booking.OrganizerRef{UserID: w.mona.ID}}); err != nil {
		t.Fatal(err)
	}
	w.notified()
	changed, err := w.series.Update(t.Context(), w.root, r.Series.ID, nil, series.Fields{Fields: booking.Fields{Organizer: &booking.OrganizerRef{UserID: w.max.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "organizer", changed.Series.Organizer.UserID, w.max.ID)
	ms, _ := w.store.SeriesMeetings(t.Context(), r.Series.ID)
	var organizers []string
	for _, m := range ms {
		organizers = append(organizers, m.Organizer.Name)
	}
	same(t, "of the dates", organizers, []string{"max", "mona", "max"}) // one was changed individually
	same(t, "notified", w.notified(), []string{"change ann@example.org", "change bob@example.org", "change guest@example.net", "invitation max@example.org"})
}
