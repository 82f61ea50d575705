package booking_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// state asserts a StateError.
func state(t *testing.T, err error, want meeting.Status) {
	t.Helper()
	if e, ok := errors.AsType[*meeting.StateError](err); !ok || e.State != want {
		t.Errorf("got %v, want a StateError of %s", err, want)
	}
}

func codes(fs []meeting.Fault) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Location+" "+f.Code)
	}
	return out
}

func TestService_booksAndTells(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))

	same(t, "status", m.Status, meeting.Confirmed)
	same(t, "timezone", m.Timezone, "Europe/Berlin")
	same(t, "rooms", m.RoomNames, []string{"Desk"})
	same(t, "history", w.actions(m.ID), []meeting.Action{meeting.ActionCreated})
	same(t, "told", w.notified(), []string{"invitation bob@example.org", "invitation guest@example.net"})
	bob := m.Attendees[0]
	if bob.UserID != w.bob.ID || bob.Name != "bob" || bob.Phone != "" || bob.Role != "" {
		t.Errorf("attendee was not completed from the directory: %+v", bob)
	}
	for id, due := range map[string]time.Duration{
		"meeting.start:103":            time.Hour,
		"meeting.end:103":              2 * time.Hour,
		"meeting.remind:103:start:900": 45 * time.Minute,
		"notify.email:104":             0,
		"notify.email:105":             0,
	} {
		if got, ok := w.queue[id]; !ok || !got.Due.Equal(w.at.Add(due)) {
			t.Errorf("%s: %v, want due in %v", id, got, due)
		}
	}
}

func TestService_tellsAllFaultsAtOnce(t *testing.T) {
	w := newWorld(t)
	f := booking.Fields{
		Title:       new("  "),
		Description: new("bell\a"),
		RoomIDs:     &[]int64{w.desk.ID, 999, w.desk.ID},
		Start:       new(clock.Parse("2027-03-28T02:30:00")), // Berlin skips it
		End:         new(clock.Parse("soon")),
		Timezone:    new("Europe/Berlin"),
		Attendees:   &[]meeting.Person{{Email: "a@example.org"}, {Email: "A@example.org"}, {Email: "nobody", Phone: "12"}, {Name: "x\ny"}},
		Reminders: &[]meeting.Reminder{
			{Before: "middle", Offset: -time.Second, Channels: []meeting.Channel{"pigeon"}},
			{Before: meeting.BeforeEnd, Offset: 1500 * time.Millisecond},
		},
		Visibility: new(meeting.Visibility("secret")),
		Faults:     []meeting.Fault{{Location: "colour", Code: "unknown_field"}, {Location: "attendees[3].name", Code: "invalid_type"}},
	}
	_, err := w.Book(t.Context(), w.ann, f)
	e, ok := errors.AsType[*meeting.InvalidError](err)
	if !ok {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	same(t, "faults", codes(e.Faults), []string{
		"colour unknown_field",
		"attendees[3].name invalid_type",
		"title too_short",
		"description control_character",
		"visibility unknown_value",
		"room_ids[1] unknown_room",
		"room_ids[2] duplicate",
		"start nonexistent_time",
		"end invalid_time",
		"attendees[1].email duplicate",
		"attendees[2].email invalid_email",
		"attendees[2].phone invalid_phone",
		"attendees[3].email required",
		"reminders[0].before unknown_value",
		"reminders[0].offset negative",
		"reminders[0].channels[0] unknown_value",
		"reminders[1].offset not_whole_seconds",
		"reminders[1].channels too_few",
	})
	if len(w.store.meetings) > 0 {
		t.Error("something was written")
	}
}

func TestService_refusesThePast(t *testing.T) {
	w := newWorld(t)
	w.book(t, w.ann, w.fields(-30*time.Second, w.desk)) // within the tolerance
	for _, by := range []meeting.Actor{w.ann, w.root} {
		_, err := w.Book(t.Context(), by, w.fields(-2*time.Minute, w.board))
		e, ok := errors.AsType[*meeting.PolicyError](err)
		if !ok || !slices.Equal(codes(e.Violations), []string{"start in_past"}) {
			t.Errorf("%s: got %v", by.Name, err)
		}
	}
}

func TestService_takesAllRoomsOrNone(t *testing.T) {
	w := newWorld(t)
	other := w.room(t, places.RoomFields{Name: new("Other"), BufferBefore: new(10 * time.Minute), BufferAfter: new(5 * time.Minute)})
	w.book(t, w.ann, w.fields(time.Hour, other))

	_, err := w.Book(t.Context(), w.bob, w.fields(time.Hour+30*time.Minute, w.desk, other))
	e, ok := errors.AsType[*meeting.ConflictError](err)
	if !ok {
		t.Fatalf("got %v, want a ConflictError", err)
	}
	same(t, "conflicts", e.Conflicts, []meeting.Occupancy{{RoomID: other.ID, Slot: clock.Slot{Start: w.at.Add(50 * time.Minute), End: w.at.Add(2*time.Hour + 5*time.Minute)}}})
	w.book(t, w.bob, w.fields(time.Hour, w.desk))
}

func TestService_approval(t *testing.T) {
	tests := []struct {
		name     string
		decide   func(*world, meeting.ID) (*meeting.Meeting, error)
		want     meeting.Status
		notified []string
	}{
		{"approved by the room's approver", func(w *world, id meeting.ID) (*meeting.Meeting, error) {
			return w.approval.Approve(context.Background(), w.mona, id, nil, "fine")
		}, meeting.Confirmed, []string{"decision ann@example.org", "invitation bob@example.org", "invitation guest@example.net"}},
		{"approved by an admin", func(w *world, id meeting.ID) (*meeting.Meeting, error) {
			return w.approval.Approve(context.Background(), w.root, id, nil, "")
		}, meeting.Confirmed, []string{"decision ann@example.org", "invitation bob@example.org", "invitation guest@example.net"}},
		{"rejected", func(w *world, id meeting.ID) (*meeting.Meeting, error) {
			return w.approval.Reject(context.Background(), w.mona, id, nil, "no")
		}, meeting.Rejected, []string{"decision ann@example.org"}},
		{"cancelled meanwhile", func(w *world, id meeting.ID) (*meeting.Meeting, error) {
			return w.Cancel(context.Background(), w.ann, id, nil, "")
		}, meeting.Cancelled, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			m := w.book(t, w.ann, w.fields(48*time.Hour, w.board, w.desk))
			same(t, "status", m.Status, meeting.Pending)
			same(t, "deadline", m.Approval.Deadline, w.at.Add(24*time.Hour))
			same(t, "told", w.notified(), []string{"approval_request mona@example.org"})
			if _, err := w.approval.Approve(t.Context(), w.ann, m.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) {
				t.Errorf("a member approved: %v", err)
			}
			if _, err := w.approval.Approve(t.Context(), w.max, m.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) {
				t.Errorf("a manager of other rooms approved: %v", err)
			}
			m, err := tt.decide(w, m.ID)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "status", m.Status, tt.want)
			same(t, "told", w.notified(), tt.notified)
			if _, queued := w.queue["approval.expire:103"]; queued {
				t.Error("the time-out still waits")
			}
			_, err = w.approval.Reject(t.Context(), w.root, m.ID, nil, "")
			state(t, err, tt.want)
		})
	}
}

func TestService_whoMayDecideHasDecided(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.mona, w.fields(time.Hour, w.board))
	same(t, "status", m.Status, meeting.Confirmed)
	same(t, "decided by", m.Approval.DecidedBy, w.mona.ID)
	same(t, "history", w.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionConfirmed})

	// Mona decides for one of two rooms alone, and has agreed to that by booking.
	vault := w.room(t, places.RoomFields{Name: new("Vault"), ApprovalRequired: new(true)})
	w.notified()
	m = w.book(t, w.mona, w.fields(5*time.Hour, w.board, vault))
	same(t, "status", m.Status, meeting.Pending)
	same(t, "told", w.notified(), []string{"approval_request root@example.org"})
	same(t, "agreed", m.Request.Agreed, []meeting.Agreement{{Level: 1, UserID: w.mona.ID, Name: "mona", At: w.at, RoomIDs: []int64{w.board.ID}}})
	_, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
	state(t, err, meeting.Pending)
}

func TestService_requestTimesOut(t *testing.T) {
	tests := []struct {
		name       string
		onTimeout  meeting.Status
		hold       bool
		taken      bool // by somebody else, meanwhile
		want, read meeting.Status
	}{
		{"rejected", "", true, false, meeting.Rejected, meeting.Rejected},
		{"approved", meeting.Confirmed, true, false, meeting.Confirmed, meeting.Confirmed},
		{"approved, and the room is free", meeting.Confirmed, false, false, meeting.Confirmed, meeting.Pending},
		{"approved, but the room is taken", meeting.Confirmed, false, true, meeting.Rejected, meeting.Pending},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.OnTimeout, w.settings.HoldPending = tt.onTimeout, tt.hold
			m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
			if tt.taken {
				w.book(t, w.mona, w.fields(48*time.Hour, w.board))
			}
			w.notified()
			w.at = m.Approval.Deadline
			read, err := w.Meeting(t.Context(), w.ann, m.ID)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "read before the job", read.Status, tt.read)

			ref := meeting.Ref{ID: m.ID, Version: m.ScheduleVersion}
			outcome, err := outcomeOf(w.ExpireApprovals(t.Context(), ref))
			if err != nil || outcome != meeting.Applied {
				t.Fatalf("got %v, %v", outcome, err)
			}
			read, _ = w.Meeting(t.Context(), w.ann, m.ID)
			same(t, "status", read.Status, tt.want)
			same(t, "reason", read.Approval.Reason, meeting.ReasonTimeout)
			same(t, "told the organizer", w.notified()[0], "decision ann@example.org")
			if last := w.store.history[m.ID]; last[len(last)-1].Actor != meeting.Timer(meeting.JobExpire) {
				t.Errorf("history says %+v", last[len(last)-1])
			}
			if outcome, err := outcomeOf(w.ExpireApprovals(t.Context(), ref)); err != nil || outcome == meeting.Applied {
				t.Errorf("a second time: %v, %v", outcome, err)
			}
		})
	}
}

func TestService_approvingTakesTheRoom(t *testing.T) {
	w := newWorld(t)
	w.settings.HoldPending = false
	a, b := w.book(t, w.ann, w.fields(time.Hour, w.board)), w.book(t, w.bob, w.fields(time.Hour, w.board))
	if _, err := w.approval.Approve(t.Context(), w.mona, a.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	_, err := w.approval.Approve(t.Context(), w.mona, b.ID, nil, "")
	if _, ok := errors.AsType[*meeting.ConflictError](err); !ok {
		t.Errorf("got %v, want a ConflictError", err)
	}
	b, _ = w.Meeting(t.Context(), w.bob, b.ID)
	same(t, "status", b.Status, meeting.Pending)
}

func TestService_update(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.notified()

	t.Run("nothing new, no new version", func(t *testing.T) {
		again, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Title: new("Review"), Attendees: &[]meeting.Person{{Email: "bob@example.org"}, {Email: "guest@example.net", Name: "Guest"}}})
		if err != nil || again.Version != 2 { // the spelling of Bob's address
			t.Errorf("version %d, %v", again.Version, err)
		}
		again, err = w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Title: new("Review ")})
		if err != nil || again.Version != 2 {
			t.Errorf("version %d, %v", again.Version, err)
		}
		same(t, "told", w.notified(), nil)
	})
	t.Run("not by others, not on an old version", func(t *testing.T) {
		if _, err := w.Update(t.Context(), w.bob, m.ID, nil, booking.Fields{Title: new("X")}); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("got %v", err)
		}
		_, err := w.Update(t.Context(), w.ann, m.ID, new(int64(1)), booking.Fields{Title: new("X")})
		if e, ok := errors.AsType[*meeting.VersionError](err); !ok || e.Current != 2 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("moved", func(t *testing.T) {
		moved, err := w.Update(t.Context(), w.root, m.ID, new(int64(2)), booking.Fields{
			Start: new(clock.Parse("2027-02-10T15:00:00")), End: new(clock.Parse("2027-02-10T16:00")),
			Attendees: &[]meeting.Person{{Email: "bob@example.org"}, {Email: "new@example.net"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "start", moved.Slot.Start, w.at.Add(2*time.Hour)) // Berlin's 15:00
		same(t, "told", w.notified(), []string{
			"cancellation guest@example.net", "change ann@example.org", "change bob@example.org", "invitation new@example.net",
		})
		if got := w.queue["meeting.start:103"]; got.Version != 2 || !got.Due.Equal(moved.Slot.Start) {
			t.Errorf("queued %+v", got)
		}
		last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
		if last.Action != meeting.ActionChanged || last.Changes["start"].To != moved.Slot.Start || last.Actor.ID != w.root.ID {
			t.Errorf("history says %+v", last)
		}
	})
	t.Run("reminders", func(t *testing.T) {
		changed, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Reminders: &[]meeting.Reminder{}})
		if err != nil || len(changed.Reminders) != 0 || changed.DefaultReminders {
			t.Errorf("%+v, %v", changed, err)
		}
		if _, ok := w.queue["meeting.remind:103:start:900"]; ok {
			t.Error("the old reminder still waits")
		}
		changed, err = w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{DefaultReminders: true})
		if err != nil || len(changed.Reminders) != 1 || !changed.DefaultReminders {
			t.Errorf("%+v, %v", changed, err)
		}
	})
	t.Run("while it takes place only the end moves", func(t *testing.T) {
		w.at = w.at.Add(2*time.Hour + 10*time.Minute)
		_, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Start: new(clock.Parse("2027-02-10T14:30:00Z"))})
		state(t, err, meeting.InProgress)
		_, err = w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{End: new(clock.Parse("2027-02-10T14:05:00Z"))})
		if e, ok := errors.AsType[*meeting.PolicyError](err); !ok || codes(e.Violations)[0] != "end in_past" {
			t.Errorf("got %v", err)
		}
		longer, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{End: new(clock.Parse("2027-02-10T16:00:00Z"))})
		if err != nil || longer.Status != meeting.InProgress || !longer.Occupied[0].Slot.End.Equal(longer.Slot.End) {
			t.Errorf("%+v, %v", longer, err)
		}
		_, err = w.Cancel(t.Context(), w.ann, m.ID, nil, "")
		state(t, err, meeting.InProgress)
	})
	t.Run("never once it is over", func(t *testing.T) {
		w.at = w.at.Add(2 * time.Hour)
		_, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Title: new("X")})
		state(t, err, meeting.Ended)
		_, err = w.Cancel(t.Context(), w.ann, m.ID, nil, "")
		state(t, err, meeting.Ended)
	})
}

func TestService_movingIntoApproval(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.notified()
	m, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{RoomIDs: &[]int64{w.board.ID}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, meeting.Confirmed)
	same(t, "rooms", m.RoomIDs, []int64{w.desk.ID})
	same(t, "where to", m.Request.Change.RoomIDs, []int64{w.board.ID})
	same(t, "deadline", m.Request.Deadline, m.Slot.Start)
	same(t, "told", w.notified(), []string{"approval_request mona@example.org"})
	for _, id := range []string{"meeting.start:103", "meeting.end:103", "meeting.remind:103:start:900", "approval.expire:103"} {
		if _, waits := w.queue[id]; !waits {
			t.Errorf("%s does not wait", id)
		}
	}
	m, err = w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "rooms", m.RoomIDs, []int64{w.board.ID})
	same(t, "told", w.notified(), []string{"change bob@example.org", "change guest@example.net", "decision ann@example.org"})
	same(t, "history", w.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionChanged, meeting.ActionChanged})

	// Whoever may decide moves it without asking.
	m, err = w.Update(t.Context(), w.root, m.ID, nil, booking.Fields{End: new(clock.At(m.Slot.End.Add(time.Hour)))})
	if err != nil || m.Status != meeting.Confirmed || m.Approval.DecidedBy != w.root.ID {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestService_cancelTellsTheInvited(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.notified()
	m, err := w.Cancel(t.Context(), w.root, m.ID, nil, "fire drill")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, meeting.Cancelled)
	if reason := w.store.notices[0].Facts.Reason; reason != "fire drill" {
		t.Errorf("reason %q", reason)
	}
	same(t, "told", w.notified(), []string{"cancellation ann@example.org", "cancellation bob@example.org", "cancellation guest@example.net"})
	w.book(t, w.bob, w.fields(time.Hour, w.desk)) // the slot is free
}

func TestService_privateIsBusyToOthers(t *testing.T) {
	w := newWorld(t)
	f := w.fields(time.Hour, w.board)
	f.Visibility, f.Attendees = new(meeting.Private), &[]meeting.Person{{Email: "guest@example.net"}}
	m := w.book(t, w.ann, f)
	for _, tt := range []struct {
		by   meeting.Actor
		sees bool
	}{
		{w.ann, true}, {w.bob, false}, {w.mona, true}, {w.max, false}, {w.root, true},
		{meeting.Actor{Kind: meeting.ActorUser, ID: 9, Email: "Guest@example.net", Role: meeting.Member}, true},
	} {
		got, err := w.Meeting(t.Context(), tt.by, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		if sees := got.Title == "Review" && len(got.Attendees) == 1; sees != tt.sees {
			t.Errorf("%s sees %+v", tt.by.Name, got)
		}
		_, _, err = w.History(t.Context(), tt.by, m.ID, meeting.Page{Limit: 10})
		if tt.sees != (err == nil) {
			t.Errorf("%s: history: %v", tt.by.Name, err)
		}
		busy, err := w.FreeBusy(t.Context(), tt.by, w.board.ID, clock.Slot{Start: w.at, End: w.at.Add(24 * time.Hour)})
		if err != nil || len(busy) != 1 || (busy[0].Meeting.Title == "Review") != tt.sees {
			t.Errorf("%s: free-busy: %v, %v", tt.by.Name, busy, err)
		}
	}
	if w.store.meetings[m.ID].Title != "Review" {
		t.Error("the view changed the meeting")
	}
}

func TestService_phonesAreNotForEverybody(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	for _, tt := range []struct {
		by   meeting.Actor
		sees bool
	}{{w.ann, false}, {w.bob, true}, {w.max, false}, {w.root, true}} { // a user's; ann organizes
		got, err := w.Meeting(t.Context(), tt.by, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		if sees := got.Attendees[0].Phone != ""; sees != tt.sees {
			t.Errorf("%s sees %q", tt.by.Name, got.Attendees[0].Phone)
		}
	}
}

// A preview writes nothing and notifies nobody, so it must not answer who is in the directory.
func TestService_previewLooksNobodyUp(t *testing.T) {
	w := newWorld(t)
	f := series.Fields{Fields: w.fields(time.Hour, w.desk), Rule: new("FREQ=DAILY;COUNT=2")}
	r, err := w.series.Preview(t.Context(), w.ann, f)
	if err != nil || len(r.Meetings) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, m := range r.Meetings {
		for i, a := range m.Attendees {
			if asked := (*f.Attendees)[i]; a.Person != asked {
				t.Errorf("asked for %+v, previewed %+v", asked, a.Person)
			}
		}
	}
	booked, err := w.series.Book(t.Context(), w.ann, f)
	if err != nil || booked.Meetings[0].Attendees[0].UserID != w.bob.ID {
		t.Fatalf("%+v, %v", booked, err)
	}
	later := series.Fields{Fields: booking.Fields{Title: new("Moved"), Attendees: &[]meeting.Person{{Email: "bob@example.org"}, {Email: "max@example.org"}}}, Scope: meeting.ScopeAll}
	r, err = w.series.PreviewUpdate(t.Context(), w.ann, booked.Series.ID, nil, later)
	if err != nil || len(r.Meetings) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	bob, max := r.Meetings[0].Attendees[0], r.Meetings[0].Attendees[1]
	if bob.UserID != w.bob.ID || max.UserID != 0 || max.Name != "" {
		t.Errorf("invited before: %+v, not yet: %+v", bob, max)
	}
}

func TestService_rooms(t *testing.T) {
	w := newWorld(t)
	site, err := w.places.CreateSite(t.Context(), w.root, places.SiteFields{Name: new("Kyiv"), Timezone: new("Europe/Kyiv")})
	if err != nil {
		t.Fatal(err)
	}
	r := w.room(t, places.RoomFields{Name: new("Own"), SiteID: &site.ID})
	same(t, "zone", r.Zone, "Europe/Kyiv")

	if _, err := w.places.UpdateRoom(t.Context(), w.mona, r.ID, nil, places.RoomFields{Name: new("Hers")}); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("got %v", err)
	}
	again, err := w.places.UpdateRoom(t.Context(), w.root, r.ID, new(int64(1)), places.RoomFields{Name: new("Own"), Features: &[]string{}})
	if err != nil || again.Version > 2 {
		t.Errorf("%+v, %v", again, err)
	}

	_, err = w.places.UpdateRoom(t.Context(), w.root, r.ID, nil, places.RoomFields{
		Name: new(""), SiteID: new(int64(77)), Capacity: new(-1), Features: &[]string{"video", "video"}, Timezone: new("Mars"),
		ApproverIDs: &[]int64{w.mona.ID, w.ann.ID, 77}, ApprovalTimeout: new(time.Millisecond),
		OpeningHours: &[]policy.OpeningHours{{Days: []string{"MO", "XX"}, From: "8:00", To: "24:01"}, {From: "09:00", To: "09:00"}},
		MinDuration:  new(2 * time.Hour), MaxDuration: new(time.Hour), Quota: &policy.Quota{Per: "year"},
	})
	e, ok := errors.AsType[*meeting.InvalidError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	same(t, "faults", codes(e.Faults), []string{
		"name too_short",
		"site_id unknown_site",
		"capacity out_of_range",
		"features[1] duplicate",
		"timezone unknown_timezone",
		"approval.timeout not_whole_seconds",
		"approval.approver_ids[1] not_a_manager",
		"approval.approver_ids[2] unknown_user",
		"policy.opening_hours[0].days[1] unknown_value",
		"policy.opening_hours[0].from invalid_time",
		"policy.opening_hours[0].to invalid_time",
		"policy.opening_hours[1].days too_few",
		"policy.opening_hours[1].to not_after_from",
		"policy.min_duration contradiction",
		"policy.quota.per unknown_value",
		"policy.quota.count required",
	})
}
