package tests

import (
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// undoing is a server whose users can undo a change for some time.
func undoing(t *testing.T, on setup, length string) (*testenv.ServerInstance, *testenv.MailServer) {
	t.Helper()
	on.Mail = testenv.Mail(t)
	on.Env = append(on.Env, "PUNCTUAL_BOOKING_UNDO="+length)
	return testenv.Server(t, on.Config), on.Mail
}

var grace = with{"attendees": []any{with{"email": "grace@example.net", "name": "Grace"}}}

// TestUndo_meetings: each change of a meeting can be undone, and nobody is mailed about it.
func TestUndo_meetings(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server, mail := undoing(t, on, "5m")
		admin := server.Admin(t)
		boss, alice := admin.NewUser(t, "Boss", "manager"), admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Turing")
		board := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "30m"}})
		hour := func(n int, in testenv.Room) with {
			return testenv.Booking(inSeconds(n*3600), inSeconds(n*3600+1800), []int64{in.ID}, grace, with{"reminders": []any{reminder("start", time.Minute, "email")}})
		}
		undo := func(by *testenv.Client, m testenv.Meeting, status string) testenv.Meeting {
			t.Helper()
			if m.UndoUntil == nil || m.UndoUntil.Before(time.Now()) {
				t.Errorf("meeting %d can be undone until %v", m.ID, m.UndoUntil)
			}
			var was testenv.Meeting
			by.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/undo", m.ID), nil, &was)
			if was.Status != status || was.Version <= m.Version || was.UndoUntil != nil {
				t.Errorf("undone: %+v, want %s", was, status)
			}
			h := by.History(t, m.ID)
			if last := h[len(h)-1]; last.Reason != "undone" || last.Actor.ID != by.User.ID {
				t.Errorf("history ends with %+v", last)
			}
			by.WantProblem(t, http.StatusConflict, "undo_expired", http.MethodPost, at("/meetings/%d/undo", m.ID), nil)
			return was
		}
		post := func(by *testenv.Client, m testenv.Meeting, verb string) testenv.Meeting {
			t.Helper()
			var got testenv.Meeting
			by.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/%s", m.ID, verb), with{}, &got)
			return got
		}

		undo(alice, alice.Book(t, hour(1, room)), "cancelled")
		m := alice.Book(t, hour(1, room)) // it is free again
		for _, other := range []*testenv.Client{boss, admin} {
			other.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/meetings/%d/undo", m.ID), nil)
		}

		var moved testenv.Meeting
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"start": inSeconds(5 * 3600), "end": inSeconds(6 * 3600), "title": "Other"}, &moved)
		boss.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/meetings/%d/undo", m.ID), nil)
		alice.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPost, at("/meetings/%d/undo", m.ID), nil, testenv.Header("If-Match", `"1"`))
		back := undo(alice, moved, "confirmed")
		if !back.Start.Equal(m.Start) || back.Title != m.Title {
			t.Errorf("moved back to %v as %s, want %v", back.Start, back.Title, m.Start)
		}

		// A meeting that was cancelled twice, and both times by mistake.
		for range 2 {
			back = undo(alice, post(alice, m, "cancel"), "confirmed")
			if len(back.Attendees) != 1 || !back.Start.Equal(m.Start) {
				t.Errorf("restored %+v", back)
			}
		}
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", hour(1, room))

		// Whoever took the room meanwhile keeps it; what changed since stays.
		cancelled := post(alice, m, "cancel")
		boss.Book(t, hour(1, room))
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, at("/meetings/%d/undo", cancelled.ID), nil)
		m = alice.Book(t, hour(4, room))
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"title": "Mine"}, nil)
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"title": "The admin's"}, nil)
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/meetings/%d/undo", m.ID), nil)

		m = alice.Book(t, testenv.Booking(inSeconds(9*3600), inSeconds(10*3600), []int64{room.ID}, with{"attendees": []any{with{"email": "boss@example.org"}}}))
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"title": "Mine"}, nil)
		boss.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/respond", m.ID), with{"response": "accepted"}, nil)
		alice.WantProblem(t, http.StatusConflict, "changed_since", http.MethodPost, at("/meetings/%d/undo", m.ID), nil)

		for _, verb := range []string{"approve", "reject"} {
			asked := alice.Book(t, hour(7, board))
			was := undo(boss, post(boss, asked, verb), "pending")
			if was.Approval.Deadline == nil || !was.Approval.Deadline.Equal(*asked.Approval.Deadline) || was.Approval.DecidedAt != nil {
				t.Errorf("%s undone: %+v", verb, was.Approval)
			}
			post(boss, asked, verb)
			boss.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/undo", asked.ID), nil, nil)
			undo(alice, post(alice, asked, "cancel"), "pending")
			post(alice, asked, "cancel")
		}
		time.Sleep(time.Second) // for what must not come
		if got := mail.Counts(); len(got) > 0 {
			t.Errorf("mailed %v", got)
		}
		for _, n := range testenv.All[testenv.Notification](t, admin, "/notifications") {
			if n.LastError == "the change was undone" && n.State != "superseded" {
				t.Errorf("undone, but %+v", n)
			}
		}
	})
}

// TestUndo_series: a change of a series can be undone with all its dates.
func TestUndo_series(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server, mail := undoing(t, on, "5m")
		admin := server.Admin(t)
		boss, alice := admin.NewUser(t, "Boss", "manager"), admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Turing")
		board := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "30m"}})
		weekly := func(in testenv.Room, hour int) with {
			start := monday(1).Add(time.Duration(hour) * time.Hour)
			return testenv.Booking(start, start.Add(time.Hour), []int64{in.ID}, grace, with{"timezone": "Europe/Berlin", "rrule": "FREQ=WEEKLY;COUNT=4"})
		}
		book := func(body with) seriesAnswer {
			t.Helper()
			var s seriesAnswer
			alice.Want(t, http.StatusCreated, http.MethodPost, "/series", body, &s)
			return s
		}
		// undo also compares the dates with those before the change; none: all are cancelled.
		undo := func(by *testenv.Client, s seriesAnswer, before ...seriesMeeting) {
			t.Helper()
			id := s.Series.ID
			if s.Previous != nil {
				id = s.Previous.ID
			}
			if s.UndoUntil == nil {
				t.Error("it cannot be undone")
			}
			by.Want(t, http.StatusOK, http.MethodPost, at("/series/%d/undo", id), nil, nil)
			by.WantProblem(t, http.StatusConflict, "undo_expired", http.MethodPost, at("/series/%d/undo", id), nil)
			for _, was := range before {
				m := alice.Meeting(t, was.ID)
				if m.Status != was.Status || !m.Start.Equal(was.Start) || m.Title != was.Title || len(m.Attendees) != len(was.Attendees) {
					t.Errorf("undone %+v, want %+v", m, was)
				}
			}
			if ms := testenv.All[seriesMeeting](t, alice, at("/meetings?series_id=%d&status=pending,confirmed", id)); len(ms) != len(before) {
				t.Errorf("%d dates after the undo, want %d", len(ms), len(before))
			}
		}
		undo(alice, book(weekly(room, 0)))

		s := book(weekly(room, 0)) // its dates are free again
		path := at("/series/%d", s.Series.ID)
		var got seriesAnswer
		for range 2 {
			alice.Want(t, http.StatusOK, http.MethodPost, path+"/cancel", with{}, &got)
			undo(alice, got, s.Meetings...)
		}
		got = seriesAnswer{}
		alice.Want(t, http.StatusOK, http.MethodPatch, path, with{"title": "Other", "attendees": []any{}}, &got)
		undo(alice, got, s.Meetings...)
		got = seriesAnswer{}
		alice.Want(t, http.StatusOK, http.MethodPatch, path, with{"scope": "following", "from": s.Meetings[2].OriginalStart, "start": s.Meetings[2].Start.Add(2 * time.Hour), "end": s.Meetings[2].End.Add(2 * time.Hour)}, &got)
		if got.Previous == nil {
			t.Fatalf("not split: %+v", got)
		}
		undo(alice, got, s.Meetings...)

		// A date is a meeting: it is cancelled, added again, and each can be undone.
		date := at("/meetings/%d", s.Meetings[1].ID)
		alice.Want(t, http.StatusOK, http.MethodPost, date+"/cancel", with{}, nil)
		alice.Want(t, http.StatusOK, http.MethodPost, date+"/undo", nil, nil)
		alice.Want(t, http.StatusOK, http.MethodPost, date+"/cancel", with{}, nil)
		var added testenv.Meeting
		alice.Want(t, http.StatusCreated, http.MethodPost, path+"/dates", with{"original_start": s.Meetings[1].OriginalStart}, &added)
		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/undo", added.ID), nil, nil)
		alice.Want(t, http.StatusCreated, http.MethodPost, path+"/dates", with{"original_start": s.Meetings[1].OriginalStart}, &added)
		if h := alice.History(t, added.ID); added.Status != "confirmed" || len(h) != 1 {
			t.Errorf("added again: %+v", added)
		}

		asked := book(weekly(board, 4))
		for _, verb := range []string{"approve", "reject"} {
			got = seriesAnswer{}
			boss.Want(t, http.StatusOK, http.MethodPost, at("/series/%d/%s", asked.Series.ID, verb), with{}, &got)
			alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/series/%d/undo", asked.Series.ID), nil)
			undo(boss, got, asked.Meetings...)
		}
		time.Sleep(time.Second) // for what must not come
		if got := mail.Counts(); len(got) > 0 {
			t.Errorf("mailed %v", got)
		}
	})
}

// TestUndo_mailsWait: what a change notifies people of goes out once it can no longer be undone, even
// if the program is killed meanwhile.
func TestUndo_mailsWait(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server, mail := undoing(t, on, "3s")
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		m := admin.Book(t, testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID}, grace))
		server.Kill()
		early := len(mail.Messages())
		if time.Now().Before(*m.UndoUntil) && early > 0 {
			t.Errorf("%d mails before %v", early, m.UndoUntil)
		}
		server.Start(t)
		eventually(t, m.UndoUntil.Add(slack), "invited", func() bool { return len(mail.Where("grace@example.net", "invitation")) == 1 })
		if now := time.Now(); now.Before(*m.UndoUntil) {
			t.Errorf("invited at %v, before %v", now, m.UndoUntil)
		}
		admin.WantProblem(t, http.StatusConflict, "undo_expired", http.MethodPost, at("/meetings/%d/undo", m.ID), nil)
		if got := admin.Meeting(t, m.ID); got.Status != "confirmed" {
			t.Errorf("it is %s", got.Status)
		}
		wantNothingTwice(t, mail)
	})
}

// TestUndo_off: with booking.undo 0s, mails go out at once and nothing can be undone.
func TestUndo_off(t *testing.T) {
	t.Parallel()
	var on setup
	server, mail := undoing(t, on, "0s")
	admin := server.Admin(t)
	m := admin.Book(t, testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{admin.NewRoom(t, "Turing").ID}, grace))
	if m.UndoUntil != nil {
		t.Errorf("it can be undone until %v", m.UndoUntil)
	}
	admin.WantProblem(t, http.StatusConflict, "undo_expired", http.MethodPost, at("/meetings/%d/undo", m.ID), nil)
	eventually(t, time.Now().Add(slack), "invited", func() bool { return len(mail.Where("grace@example.net", "invitation")) == 1 })
}
