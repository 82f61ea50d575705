package booking_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
)

func TestCheckInWindowOf(t *testing.T) {
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	hour := clock.Slot{Start: start, End: start.Add(time.Hour)}
	free := meeting.CheckIn{Opens: 15 * time.Minute, Grace: 10 * time.Minute}
	strict := meeting.CheckIn{Required: true, Opens: 5 * time.Minute, Grace: 10 * time.Minute}
	patient := meeting.CheckIn{Required: true, Opens: 30 * time.Minute, Grace: 20 * time.Minute}
	for _, c := range []struct {
		name         string
		rooms        []meeting.CheckIn
		opens, until time.Duration // from the start; 0: never
	}{
		{"nobody has to", []meeting.CheckIn{free}, -15 * time.Minute, 0},
		{"one room asks", []meeting.CheckIn{strict}, -5 * time.Minute, 10 * time.Minute},
		{"the longest grace counts", []meeting.CheckIn{strict, patient}, -30 * time.Minute, 20 * time.Minute},
		{"whichever room comes first", []meeting.CheckIn{patient, strict}, -30 * time.Minute, 20 * time.Minute},
		{"a room that does not ask only opens earlier", []meeting.CheckIn{free, strict}, -15 * time.Minute, 10 * time.Minute},
		{"a grace as long as the meeting", []meeting.CheckIn{{Required: true, Grace: time.Hour}}, 0, 0},
		{"no room is known", nil, 0, 0},
	} {
		want := meeting.CheckInWindow{Opens: start.Add(c.opens)}
		if c.until != 0 {
			want.Until = start.Add(c.until)
		}
		if got := meeting.CheckInWindowOf(hour, c.rooms); got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

// A meeting that has begun is let off or waited for longer, and never asked for more.
func TestCheckInWindow_follow(t *testing.T) {
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	slot := clock.Slot{Start: start, End: start.Add(time.Hour)}
	window := func(grace time.Duration) meeting.CheckInWindow {
		if grace == 0 {
			return meeting.CheckInWindow{Opens: start}
		}
		return meeting.CheckInWindow{Opens: start, Until: start.Add(grace)}
	}
	const none, short, long = 0, 5 * time.Minute, 10 * time.Minute
	for _, c := range []struct{ was, asked, coming, begun time.Duration }{
		{none, short, short, none},
		{long, short, short, long},
		{short, long, long, long},
		{short, none, none, none},
		{short, short, short, short},
	} {
		for at, want := range map[time.Time]time.Duration{start.Add(-time.Microsecond): c.coming, start: c.begun} {
			if got := window(c.was).Follow(window(c.asked), slot, at); got != window(want) {
				t.Errorf("from %v to %v at %v: until %v, want %v", c.was, c.asked, at, got.Until, window(want).Until)
			}
		}
	}
}

func TestRoomFields_checkIn(t *testing.T) {
	w := newWorld(t)
	_, err := w.places.CreateRoom(t.Context(), w.root, places.RoomFields{Name: new("Cell"), CheckInRequired: new(true), CheckInOpens: new(time.Duration(0)), CheckInGrace: new(time.Duration(0))})
	if e, ok := errors.AsType[*meeting.InvalidError](err); !ok || len(e.Faults) != 1 || e.Faults[0].Location != "check_in.grace" {
		t.Errorf("nobody could ever check in: %v", err)
	}
}

// lounge is a room where people must check in within ten minutes.
func (w *world) lounge(t *testing.T) *meeting.Room {
	t.Helper()
	r := w.room(t, places.RoomFields{
		Name: new("Lounge"), BufferAfter: new(5 * time.Minute), ApproverIDs: &[]int64{w.mona.ID},
		CheckInRequired: new(true), CheckInOpens: new(15 * time.Minute), CheckInGrace: new(10 * time.Minute),
	})
	return r
}

func (w *world) message(job string, id meeting.ID) bool {
	_, there := w.queue[delayjob.Message{Job: job, Key: strconv.FormatInt(id, 10)}.ID()]
	return there
}

func TestCheckIn(t *testing.T) {
	for _, c := range []struct {
		name string
		at   time.Duration // from the start
		by   func(*world) meeting.Actor
		want error // kind of
	}{
		{"the organizer, when it opens", -15 * time.Minute, func(w *world) meeting.Actor { return w.ann }, nil},
		{"an attendee, a moment before it is too late", 10*time.Minute - time.Microsecond, func(w *world) meeting.Actor { return w.bob }, nil},
		{"the approver", 0, func(w *world) meeting.Actor { return w.mona }, nil},
		{"an admin", 0, func(w *world) meeting.Actor { return w.root }, nil},
		{"somebody else", 0, func(w *world) meeting.Actor { return w.max }, meeting.ErrForbidden},
		{"too early", -15*time.Minute - time.Microsecond, func(w *world) meeting.Actor { return w.ann }, &meeting.StateError{State: meeting.Confirmed}},
		{"too late", 10 * time.Minute, func(w *world) meeting.Actor { return w.ann }, &meeting.StateError{State: meeting.Released}},
		{"after the end", time.Hour, func(w *world) meeting.Actor { return w.ann }, &meeting.StateError{State: meeting.Released}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			m := w.book(t, w.ann, w.fields(time.Hour, w.lounge(t)))
			if !w.message(meeting.JobNoShow, m.ID) {
				t.Fatal("nothing will release the meeting")
			}
			w.at = m.Slot.Start.Add(c.at)
			got, err := w.CheckIn(t.Context(), c.by(w), m.ID, nil)
			if c.want != nil {
				want, state := c.want.(*meeting.StateError)
				s, is := errors.AsType[*meeting.StateError](err)
				if state != is || state && s.State != want.State || !state && !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if !w.message(meeting.JobNoShow, m.ID) {
					t.Error("nothing will release the meeting any more")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !got.CheckedInAt.Equal(w.at) || w.message(meeting.JobNoShow, m.ID) {
				t.Errorf("checked in at %v; the release still waits: %v", got.CheckedInAt, w.message(meeting.JobNoShow, m.ID))
			}
			again, err := w.CheckIn(t.Context(), w.root, m.ID, nil)
			if err != nil || again.Version != got.Version {
				t.Errorf("a second time: %+v, %v", again, err)
			}
			if want := []meeting.Action{meeting.ActionCreated, meeting.ActionCheckedIn}; !slices.Equal(w.actions(m.ID), want) {
				t.Errorf("history %v, want %v", w.actions(m.ID), want)
			}
			w.at = m.Slot.Start.Add(30 * time.Minute)
			if o, err := outcomeOf(w.ReleaseNoShows(t.Context(), meeting.Ref{ID: m.ID, Version: m.ScheduleVersion})); o != meeting.Done || err != nil {
				t.Errorf("its release: %v, %v", o, err)
			}
		})
	}
}

func TestReleaseNoShow(t *testing.T) {
	w := newWorld(t)
	lounge := w.lounge(t)
	m := w.book(t, w.ann, w.fields(time.Hour, lounge))
	w.notified()
	w.at = m.CheckIn.Until
	if got, err := w.Meeting(t.Context(), w.bob, m.ID); err != nil || got.Status != meeting.Released || got.Occupied != nil {
		t.Errorf("before the job came: %+v, %v", got, err)
	}
	if o, err := outcomeOf(w.ReleaseNoShows(t.Context(), meeting.Ref{ID: m.ID, Version: m.ScheduleVersion + 1})); o != meeting.Stale || err != nil {
		t.Errorf("of another schedule: %v, %v", o, err)
	}
	w.at = w.at.Add(-time.Second) // this clock is behind the engine's
	if o, err := outcomeOf(w.ReleaseNoShows(t.Context(), meeting.Ref{ID: m.ID, Version: m.ScheduleVersion})); o != meeting.Applied || err != nil {
		t.Fatalf("%v, %v", o, err)
	}
	got := w.store.meetings[m.ID]
	if got.Status != meeting.Released || !got.EndedAt.Equal(m.CheckIn.Until) || got.Occupied != nil {
		t.Errorf("released: %+v", got)
	}
	last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
	if last.Action != meeting.ActionReleased || last.Actor != meeting.Timer(meeting.JobNoShow) || last.Reason != meeting.ReasonNoShow {
		t.Errorf("history: %+v", last)
	}
	if notified := w.notified(); !slices.Equal(notified, []string{"released ann@example.org"}) {
		t.Errorf("told %v", notified)
	}
	if w.message(meeting.JobStart, m.ID) || w.message(meeting.JobEnd, m.ID) || w.message(meeting.JobNoShow, m.ID) {
		t.Errorf("still waiting: %v", w.queue)
	}
	if o, err := outcomeOf(w.ReleaseNoShows(t.Context(), meeting.Ref{ID: m.ID, Version: got.ScheduleVersion})); o != meeting.Done || err != nil {
		t.Errorf("again: %v, %v", o, err)
	}
	f := w.fields(30*time.Minute, lounge)
	w.book(t, w.bob, f) // the rest of the slot is free

	// No process ran until its end: that nobody came is recorded, and nobody is notified.
	missed := w.book(t, w.ann, w.fields(5*time.Hour, lounge))
	w.notified()
	w.at = missed.Slot.End.Add(time.Hour)
	if got, err := w.Meeting(t.Context(), w.bob, missed.ID); err != nil || got.Status != meeting.Released {
		t.Errorf("after its end, before the job came: %+v, %v", got, err)
	}
	if o, err := outcomeOf(w.ReleaseNoShows(t.Context(), meeting.Ref{ID: missed.ID, Version: missed.ScheduleVersion})); o != meeting.Applied || err != nil {
		t.Errorf("after its end: %v, %v", o, err)
	}
	if got := w.store.meetings[missed.ID]; got.Status != meeting.Released || len(got.Occupied) != 0 || !slices.Equal(w.actions(missed.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionReleased}) {
		t.Errorf("after its end: %+v, history %v", got, w.actions(missed.ID))
	}
	same(t, "told after its end", w.notified(), nil)
}

// The third time in a row flags a series: its organizer is told how often it was each time, the
// admins once. A date that is called off changes nothing, and one to which somebody comes all.
func TestReleaseNoShow_series(t *testing.T) {
	w := newWorld(t)
	dates := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=10", w.lounge(t))).Meetings
	nobody := func(m *meeting.Meeting, inRow int, also ...string) {
		t.Helper()
		w.at = m.CheckIn.Until
		if o, err := outcomeOf(w.ReleaseNoShows(t.Context(), meeting.Ref{ID: m.ID, Version: w.store.meetings[m.ID].ScheduleVersion})); o != meeting.Applied || err != nil {
			t.Fatalf("%v, %v", o, err)
		}
		for _, n := range w.store.notices {
			same(t, "in a row", n.Facts.NoShows, inRow)
		}
		same(t, "told", w.notified(), append([]string{"released ann@example.org"}, also...))
	}
	nobody(dates[0], 1)
	nobody(dates[1], 2)
	w.at = dates[2].Slot.Start.Add(-time.Hour)
	if _, err := w.Cancel(t.Context(), w.ann, dates[2].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.notified()
	nobody(dates[3], 3, "released root@example.org")
	nobody(dates[4], 4)
	w.at = dates[5].Slot.Start
	if _, err := w.CheckIn(t.Context(), w.bob, dates[5].ID, nil); err != nil {
		t.Fatal(err)
	}
	nobody(dates[6], 1)
}

// A check-in was to the time for which it was made.
func TestCheckIn_movesAway(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(10*time.Minute, w.lounge(t)))
	if _, err := w.CheckIn(t.Context(), w.ann, m.ID, nil); err != nil {
		t.Fatal(err)
	}
	f := w.fields(3*time.Hour, w.desk)
	moved, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Start: f.Start, End: f.End})
	if err != nil {
		t.Fatal(err)
	}
	if !moved.CheckedInAt.IsZero() || !moved.CheckIn.Until.Equal(moved.Slot.Start.Add(10*time.Minute)) || !w.message(meeting.JobNoShow, m.ID) {
		t.Errorf("moved: %+v", moved)
	}
	moved, err = w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{RoomIDs: &[]int64{w.desk.ID}})
	if err != nil || !moved.CheckIn.Until.IsZero() || w.message(meeting.JobNoShow, m.ID) {
		t.Errorf("in a room without check-in: %+v, %v", moved, err)
	}
}

func TestEnd(t *testing.T) {
	w := newWorld(t)
	lounge := w.lounge(t)
	m := w.book(t, w.ann, w.fields(10*time.Minute, lounge))
	if _, err := w.End(t.Context(), w.ann, m.ID, nil); !errors.As(err, new(*meeting.StateError)) {
		t.Errorf("before it began: %v", err)
	}
	w.at = m.Slot.Start.Add(6 * time.Minute) // the job that starts it is behind
	if _, err := w.End(t.Context(), w.bob, m.ID, nil); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("by an attendee: %v", err)
	}
	got, err := w.End(t.Context(), w.ann, m.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != meeting.Ended || !got.EndedAt.Equal(w.at) || !got.Slot.End.Equal(m.Slot.End) {
		t.Errorf("ended: %+v", got)
	}
	if want := w.at.Add(5 * time.Minute); len(got.Occupied) != 1 || !got.Occupied[0].Slot.End.Equal(want) {
		t.Errorf("holds %+v, want it until %v, its buffer", got.Occupied, want)
	}
	if want := []meeting.Action{meeting.ActionCreated, meeting.ActionStarted, meeting.ActionEnded}; !slices.Equal(w.actions(m.ID), want) {
		t.Errorf("history %v, want %v", w.actions(m.ID), want)
	}
	if w.message(meeting.JobEnd, m.ID) || w.message(meeting.JobNoShow, m.ID) {
		t.Errorf("still waiting: %v", w.queue)
	}
	w.book(t, w.bob, w.fields(5*time.Minute, lounge))
	if _, err := w.End(t.Context(), w.ann, m.ID, nil); !errors.As(err, new(*meeting.StateError)) {
		t.Errorf("a second time: %v", err)
	}
}

func TestExtend(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.at = m.Slot.Start.Add(50 * time.Minute)
	extend := func(by meeting.Actor, d time.Duration) (*meeting.Meeting, error) {
		return w.Extend(t.Context(), by, m.ID, nil, booking.Fields{End: new(clock.At(m.Slot.End.Add(d)))})
	}
	for _, d := range []time.Duration{0, -5 * time.Minute} {
		if _, err := extend(w.ann, d); !errors.As(err, new(*meeting.InvalidError)) {
			t.Errorf("by %v: %v", d, err)
		}
	}
	if _, err := extend(w.bob, 15*time.Minute); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("by an attendee: %v", err)
	}
	next := w.book(t, w.bob, w.fields(40*time.Minute, w.desk)) // 30 minutes after the end
	if _, err := extend(w.ann, 31*time.Minute); !errors.As(err, new(*meeting.ConflictError)) {
		t.Errorf("into the next one: %v", err)
	}
	got, err := extend(w.ann, 30*time.Minute)
	if err != nil || !got.Slot.End.Equal(next.Slot.Start) || got.Status != meeting.InProgress || !got.CheckedInAt.Equal(w.at) {
		t.Fatalf("%+v, %v", got, err)
	}
	w.at = got.Slot.End
	if _, err := extend(w.ann, time.Hour); !errors.As(err, new(*meeting.StateError)) {
		t.Errorf("after the end: %v", err)
	}
}

// Who makes a meeting longer while it takes place is there: its room is not given back.
func TestExtend_isACheckIn(t *testing.T) {
	w := newWorld(t)
	lounge := w.lounge(t)
	m := w.book(t, w.ann, w.fields(time.Minute, lounge))
	if _, err := w.Extend(t.Context(), w.ann, m.ID, nil, booking.Fields{End: new(clock.At(m.Slot.End.Add(time.Minute)))}); err != nil {
		t.Fatal(err)
	}
	if !w.message(meeting.JobNoShow, m.ID) {
		t.Error("before it begins nobody is there")
	}
	w.at = m.Slot.Start
	if err := w.door.Extend(t.Context(), lounge.ID, m.ID, 15*time.Minute); err != nil {
		t.Fatal(err)
	}
	if w.message(meeting.JobNoShow, m.ID) || !w.store.meetings[m.ID].CheckedInAt.Equal(w.at) {
		t.Error("its room would be given back")
	}
	same(t, "history", w.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionChanged, meeting.ActionChanged, meeting.ActionCheckedIn})
}

func TestRelease(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.lounge(t)))
	w.notified()
	if _, err := w.Release(t.Context(), w.mona, m.ID, nil, ""); !errors.As(err, new(*meeting.StateError)) {
		t.Errorf("before anybody could be there: %v", err)
	}
	w.at = m.Slot.Start.Add(time.Minute)
	for _, by := range []meeting.Actor{w.ann, w.bob, w.max} {
		if _, err := w.Release(t.Context(), by, m.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("by %s: %v", by.Name, err)
		}
	}
	got, err := w.Release(t.Context(), w.mona, m.ID, nil, "Nobody there")
	if err != nil || got.Status != meeting.Released || got.Occupied != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if notified := w.notified(); !slices.Equal(notified, []string{"released ann@example.org"}) {
		t.Errorf("told %v", notified)
	}
}

func TestNoShowsInRow(t *testing.T) {
	at := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		statuses []meeting.Status // of a date a day each, the last of them today
		want     int
	}{
		{nil, 0},
		{[]meeting.Status{meeting.Released, meeting.Released, meeting.Released}, 3},
		{[]meeting.Status{meeting.Released, meeting.Ended, meeting.Released, meeting.Released}, 2},
		{[]meeting.Status{meeting.Released, meeting.Cancelled, meeting.Released}, 2},
		{[]meeting.Status{meeting.Released, meeting.Released, meeting.InProgress}, 0},
		{[]meeting.Status{meeting.Released, meeting.Released, meeting.Ended}, 0},
	} {
		var ms []*meeting.Meeting
		for i, s := range c.statuses {
			start := at.AddDate(0, 0, i+1-len(c.statuses)).Add(-time.Minute)
			ms = append(ms, &meeting.Meeting{Status: s, Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}})
		}
		ms = append(ms, &meeting.Meeting{Status: meeting.Confirmed, Slot: clock.Slot{Start: at.Add(time.Hour), End: at.Add(2 * time.Hour)}})
		if got := meeting.NoShowsInRow(ms, at); got != c.want {
			t.Errorf("%v: %d, want %d", c.statuses, got, c.want)
		}
	}

	date := func(s meeting.Status, before time.Duration) *meeting.Meeting {
		return &meeting.Meeting{Status: s, Slot: clock.Slot{Start: at.Add(-before), End: at.Add(time.Hour)}, CheckIn: meeting.CheckInWindow{Until: at.Add(10 * time.Minute)}}
	}
	running := date(meeting.InProgress, time.Minute)
	ms := []*meeting.Meeting{date(meeting.Released, 3*time.Hour), date(meeting.Released, 2*time.Hour), running}
	if got := meeting.NoShowsInRow(ms, at); got != 2 {
		t.Errorf("people may still come to the last: %d, want 2", got)
	}
	if got := meeting.NoShowsInRow(append(ms, date(meeting.Released, 0)), at); got != 2 {
		t.Errorf("the date itself is not one before it: %d, want 2", got)
	}
	running.CheckedInAt = at
	if got := meeting.NoShowsInRow(ms, at); got != 0 {
		t.Errorf("somebody came: %d, want 0", got)
	}
}

func TestExtend_rulesAndApproval(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab"), MaxDuration: new(time.Hour)})
	m := w.book(t, w.ann, w.fields(time.Hour, lab))
	later := m.Slot.End.Add(time.Hour)
	f := booking.Fields{End: new(clock.At(later))}
	_, err := w.Extend(t.Context(), w.root, m.ID, nil, f)
	same(t, "broken", violations(t, err), []string{"max_duration"})
	f.Override = &meeting.Override{Reason: "the talk goes on"}
	if _, err := w.Extend(t.Context(), w.ann, m.ID, nil, f); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a member passed over rules: %v", err)
	}
	long, err := w.Extend(t.Context(), w.root, m.ID, nil, f)
	if err != nil || !long.Slot.End.Equal(later) {
		t.Fatalf("%v, %v", long, err)
	}
	es := w.store.history[m.ID]
	same(t, "reason", es[len(es)-1].Reason, "the talk goes on")

	_, err = w.Extend(t.Context(), w.ann, m.ID, nil, booking.Fields{})
	if e, ok := errors.AsType[*meeting.InvalidError](err); !ok || e.Faults[0].Code != "required" {
		t.Errorf("without an end: %v", err)
	}

	b := w.book(t, w.ann, w.fields(time.Hour, w.board))
	if _, err := w.approval.Approve(t.Context(), w.mona, b.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	later = b.Slot.End.Add(time.Hour)
	waits, err := w.Extend(t.Context(), w.ann, b.ID, nil, booking.Fields{End: new(clock.At(later))})
	if err != nil || !waits.Slot.End.Equal(b.Slot.End) || waits.Request == nil || !waits.Request.Change.Slot.End.Equal(later) {
		t.Fatalf("a longer meeting that needs a decision: %+v, %v", waits, err)
	}
}

// While an approver is away their deputy may do at the door what they may.
func TestCheckIn_deputy(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Minute, w.lounge(t)))
	if _, err := w.CheckIn(t.Context(), w.max, m.ID, nil); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager who stands in for nobody: %v", err)
	}
	w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.max.ID}}
	if _, err := w.CheckIn(t.Context(), w.max, m.ID, nil); err != nil {
		t.Errorf("a deputy checked in: %v", err)
	}
	if got, err := w.Release(t.Context(), w.max, m.ID, nil, ""); err != nil || got.Status != meeting.Released {
		t.Errorf("a deputy released: %+v, %v", got, err)
	}
}

// Those of the rooms where it takes place count, not those where it may move to.
func TestCheckIn_moveWaits(t *testing.T) {
	w := newWorld(t)
	lounge := w.lounge(t)
	other := w.room(t, places.RoomFields{Name: new("Other"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.max.ID}})
	m := w.book(t, w.ann, w.fields(10*time.Minute, lounge))
	moved, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{RoomIDs: &[]int64{other.ID}})
	if err != nil || moved.Request == nil {
		t.Fatalf("%+v, %v", moved, err)
	}
	if _, err := w.Release(t.Context(), w.max, m.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("by an approver of the other room: %v", err)
	}
	got, err := w.Release(t.Context(), w.mona, m.ID, nil, "")
	if err != nil || got.Status != meeting.Released {
		t.Errorf("by an approver of its room: %+v, %v", got, err)
	}
	if kept := w.store.meetings[m.ID]; kept.Request != nil || kept.Takes() != nil {
		t.Errorf("it still holds %v, for %+v", kept.Takes(), kept.Request)
	}
}

// Of two meetings in a room the one is expected to which nobody has come; who has looked at one
// checks in to that one.
func TestArriveBy_door(t *testing.T) {
	w := newWorld(t)
	lounge := w.lounge(t)
	door := booking.Arrival{RoomID: lounge.ID}
	seen := func() meeting.ID {
		t.Helper()
		a, err := w.Arrivable(t.Context(), door)
		if err != nil {
			t.Fatal(err)
		}
		if a.Meeting == nil {
			return 0
		}
		return a.Meeting.ID
	}
	same(t, "an empty room", seen(), 0)
	passing := w.book(t, w.ann, w.fields(time.Minute, w.desk))
	w.store.meetings[passing.ID].CheckIn.Opens = w.at
	w.store.meetings[passing.ID].Occupied = append(w.store.meetings[passing.ID].Occupied, meeting.Occupancy{RoomID: lounge.ID, Slot: clock.Slot{Start: w.at, End: w.at.Add(time.Second)}})
	same(t, "a meeting that asks to come here", seen(), 0)
	w.store.meetings[passing.ID].Occupied = nil
	first := w.book(t, w.ann, w.fields(time.Minute, lounge))
	next := w.book(t, w.bob, w.fields(66*time.Minute, lounge)) // behind the buffer
	same(t, "only one is open", seen(), first.ID)
	w.at = next.Slot.Start.Add(-5*time.Minute - time.Second)
	w.store.meetings[first.ID].CheckedInAt = first.Slot.Start
	same(t, "somebody came to the first", seen(), next.ID)
	door.Seen = first.ID
	same(t, "which was seen", seen(), first.ID)

	w.at = first.Slot.End // since the page was shown
	_, err := w.ArriveBy(t.Context(), door)
	if !errors.As(err, new(*meeting.StateError)) {
		t.Errorf("the meeting that was seen is over: %v", err)
	}
	if !w.store.meetings[next.ID].CheckedInAt.IsZero() {
		t.Error("checked in to a meeting that nobody has seen")
	}
	door.Seen = next.ID
	if _, err := w.ArriveBy(t.Context(), door); err != nil || w.store.meetings[next.ID].CheckedInAt.IsZero() {
		t.Errorf("%v", err)
	}
	last := w.store.history[next.ID][len(w.store.history[next.ID])-1]
	same(t, "by", last.Actor, meeting.Actor{Kind: meeting.ActorSystem, Name: "door of Lounge"})
}

// A link that comes too late tells what has become of the meeting.
func TestArriveBy_late(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Minute, w.lounge(t)))
	w.at = m.CheckIn.Until
	a, err := w.ArriveBy(t.Context(), booking.Arrival{MeetingID: m.ID, Email: "guest@example.net"})
	if !errors.As(err, new(*meeting.StateError)) || a.Meeting.Status != meeting.Released {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := w.ArriveBy(t.Context(), booking.Arrival{MeetingID: m.ID, Email: "max@example.org"}); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("of somebody who takes no part: %v", err)
	}
}

// A meeting of which nobody said when people may check in opens with its start.
func TestCheckIn_opensWithTheStart(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.store.meetings[m.ID].CheckIn = meeting.CheckInWindow{}
	w.at = m.Slot.Start.Add(-time.Microsecond)
	if _, err := w.CheckIn(t.Context(), w.ann, m.ID, nil); !errors.As(err, new(*meeting.StateError)) {
		t.Errorf("before it: %v", err)
	}
	w.at = m.Slot.Start
	if _, err := w.CheckIn(t.Context(), w.ann, m.ID, nil); err != nil {
		t.Errorf("with it: %v", err)
	}
}

// A meeting that takes place cannot wait for a decision: who may not decide cannot make it longer.
func TestExtend_takesPlaceWhereSomebodyMustAgree(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.board))
	if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.at = m.Slot.Start.Add(time.Minute)
	later := booking.Fields{End: new(clock.At(m.Slot.End.Add(time.Hour)))}
	_, err := w.Extend(t.Context(), w.ann, m.ID, nil, later)
	same(t, "extended", violations(t, err), []string{booking.ViolationNeedsApproval})
	_, err = w.Update(t.Context(), w.ann, m.ID, nil, later)
	same(t, "changed", violations(t, err), []string{booking.ViolationNeedsApproval})
	if got, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{End: new(clock.At(m.Slot.End.Add(-time.Minute)))}); err != nil {
		t.Errorf("shorter: %+v, %v", got, err)
	}
	if got, err := w.Extend(t.Context(), w.root, m.ID, nil, later); err != nil || !got.Slot.End.Equal(m.Slot.End.Add(time.Hour)) {
		t.Errorf("by an admin: %+v, %v", got, err)
	}

	own := w.book(t, w.mona, w.fields(3*time.Hour, w.board))
	w.at = own.Slot.Start
	later.End = new(clock.At(own.Slot.End.Add(time.Hour)))
	if got, err := w.Extend(t.Context(), w.mona, own.ID, nil, later); err != nil || !got.Slot.End.Equal(own.Slot.End.Add(time.Hour)) {
		t.Errorf("by who may agree: %+v, %v", got, err)
	}
}
