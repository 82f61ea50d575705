package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/gormstore"
	"punctual/meeting/itip"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/scheduling"
	"punctual/meeting/series"
)

// mailroom answers calendar messages on a store. Turing and Hopper have addresses, and so has their
// site. turing@, hopper@ and any@ are at rooms.example.org.
type mailroom struct {
	*fixture
	at       time.Time
	meetings *services
	service  *scheduling.Service
	settings scheduling.Settings
}

type guests struct{ users }

func (guests) Guest(context.Context, string, string) (meeting.Person, error) {
	return meeting.Person{}, nil
}

// ourUID is the UID of a meeting or series.
func ourUID(meetingID, seriesID int64) string {
	if seriesID != 0 {
		return fmt.Sprintf("series-%d@ours", seriesID)
	}
	return fmt.Sprintf("meeting-%d@ours", meetingID)
}

func newMailroom(f *fixture) *mailroom {
	f.Helper()
	r := &mailroom{fixture: f, at: now, settings: scheduling.Settings{Domain: "rooms.example.org", BeyondWindow: scheduling.Trim, MaxAdvance: 365 * 24 * time.Hour}}
	conf := func() meeting.Settings {
		return meeting.Settings{Timezone: "Europe/Berlin", HoldPending: true, ReplyDomain: "rooms.example.org", Limits: policy.Limits{MaxOccurrences: 400, MaxDuration: 24 * time.Hour, MaxAdvance: 365 * 24 * time.Hour}}
	}
	at := func() time.Time { return r.at }
	r.meetings = newServices(f.store, users{f: f}, nothing{}, conf, at, slog.New(slog.DiscardHandler))
	r.service = scheduling.NewService(scheduling.Deps{
		Meetings: r.meetings.Service, Series: r.meetings.series, Finding: finding.NewService(f.store, r.meetings, conf, at), Store: f.store, People: guests{users{f: f}}, Scheduler: nothing{},
		UID: ourUID, Settings: func() scheduling.Settings { return r.settings }, Now: at, Log: slog.New(slog.DiscardHandler),
	})
	site, err := r.meetings.places.CreateSite(f.Context(), f.admin, places.SiteFields{Name: new("Berlin"), Address: new("any")})
	if err != nil {
		f.Fatal(err)
	}
	for _, room := range []*meeting.Room{f.turing, f.hopper} {
		_, err := r.meetings.places.UpdateRoom(f.Context(), f.admin, room.ID, nil, places.RoomFields{Address: new(strings.ToLower(room.Name)), SiteID: &site.ID})
		if err != nil {
			f.Fatal(err)
		}
	}
	return r
}

// calendar is a message about an event with these lines; its start is hours after now.
func calendarMessage(method, uid string, sequence, hours int, more ...string) string {
	start := now.Add(time.Duration(hours) * time.Hour)
	lines := []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN", "METHOD:" + method, "BEGIN:VEVENT", "UID:" + uid, fmt.Sprintf("SEQUENCE:%d", sequence),
		"DTSTAMP:20270201T000000Z", "SUMMARY:Review", "ORGANIZER;CN=Anna:mailto:anna@example.org",
		"ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:ben@example.org", "ATTENDEE;CUTYPE=ROOM:mailto:turing@rooms.example.org",
		"DTSTART:" + start.Format("20060102T150405Z"), "DTEND:" + start.Add(time.Hour).Format("20060102T150405Z"),
	}
	return strings.Join(append(append(lines, more...), "END:VEVENT", "END:VCALENDAR", ""), "\r\n")
}

// receive has a message processed that was mailed to a room.
func (r *mailroom) receive(room, ics string) *scheduling.Outcome {
	r.Helper()
	return r.receiveFrom("anna@example.org", room, ics)
}

func (r *mailroom) receiveFrom(sender, room, ics string) *scheduling.Outcome {
	r.Helper()
	calendar, err := itip.Read(strings.NewReader(ics), itip.DefaultLimits)
	if err != nil {
		r.Fatal(err)
	}
	out, err := r.service.Process(r.Context(), scheduling.Message{
		Via: meeting.OriginMail, Recipient: room + "@rooms.example.org", From: sender, Calendar: calendar, ICS: []byte(ics), MessageID: "<1@example.org>", Received: r.at,
	})
	if err != nil {
		r.Fatal(err)
	}
	return out
}

// summary of an outcome: its state, and each answer.
func summary(o *scheduling.Outcome) string {
	text := string(o.State)
	for _, a := range o.Answers {
		text += " " + a.Address
		if a.RecurrenceID != "" {
			text += "/" + a.RecurrenceID
		}
		text += "=" + string(a.Status)
		if a.Reason != "" {
			text += "(" + a.Reason + ")"
		}
	}
	return text
}

func (r *mailroom) want(want, room, ics string) *scheduling.Outcome {
	r.Helper()
	out := r.receive(room, ics)
	if diff := cmp.Diff(want, summary(out)); diff != "" {
		r.Errorf("%s%+v", diff, out)
	}
	return out
}

// booked are the meetings that take place, each with hours after now and its rooms.
func (r *mailroom) booked() string {
	r.Helper()
	ms, _, err := r.meetings.Meetings(r.Context(), r.admin, meeting.MeetingQuery{Statuses: []meeting.Status{meeting.Pending, meeting.Confirmed}}, meeting.Page{Limit: 100})
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, m := range ms {
		all = append(all, fmt.Sprintf("%s %s %g", m.Title, strings.Join(m.RoomNames, "+"), m.Slot.Start.Sub(now).Hours()))
	}
	return strings.Join(all, ", ")
}

// bookedOf are the dates of an event that take place.
func (r *mailroom) bookedOf(uid string) string {
	r.Helper()
	known, err := r.store.KnownEvent(r.Context(), uid, "anna@example.org")
	if err != nil {
		r.Fatal(err)
	}
	ms, _, err := r.meetings.Meetings(r.Context(), r.admin, meeting.MeetingQuery{SeriesID: known.SeriesID, Statuses: []meeting.Status{meeting.Confirmed}}, meeting.Page{Limit: 100})
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, m := range ms {
		all = append(all, fmt.Sprintf("%g %s", m.Slot.Start.Sub(now).Hours(), strings.Join(m.RoomNames, "+")))
	}
	return strings.Join(all, ", ")
}

func (r *mailroom) wantBooked(want string) {
	r.Helper()
	if diff := cmp.Diff(want, r.booked()); diff != "" {
		r.Error(diff)
	}
}

func TestScheduling_oneDate(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		out := r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2))
		r.wantBooked("Review Turing 2")
		item, err := r.meetings.CalendarItem(f.Context(), f.ben, out.MeetingIDs[0])
		if err != nil || item.UID != "a" || item.Sequence != 0 {
			t.Errorf("in a calendar it is %+v, %v", item, err)
		}
		m := f.read(out.MeetingIDs[0])
		if m.Foreign != meeting.OriginMail || len(m.Attendees) != 1 || m.Attendees[0].Email != "ben@example.org" || len(m.Reminders) > 0 || m.Organizer.UserID != f.anna.ID {
			t.Errorf("%+v", m)
		}
		if n := f.count("told"); n != 1 {
			t.Errorf("%d notices, want the reply alone", n)
		}
		r.want("duplicate turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2))
		r.want("done turing=DECLINED(room_conflict)", "turing", calendarMessage("REQUEST", "b", 0, 2))
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 1, 3))
		r.want("outdated", "turing", calendarMessage("REQUEST", "a", 0, 2))
		r.wantBooked("Review Turing 3")
		r.want("done hopper=ACCEPTED", "hopper", calendarMessage("REQUEST", "a", 1, 3))
		r.wantBooked("Review Turing+Hopper 3")
		r.want("done any=DECLINED(no_room)", "any", calendarMessage("REQUEST", "c", 0, 3))
		r.want("done any=ACCEPTED", "any", calendarMessage("REQUEST", "c", 1, 4))
		r.want("done", "turing", calendarMessage("CANCEL", "a", 2, 3))
		r.wantBooked("Review Hopper 3, Review Hopper 4")
		var withdrawn []string // answers that would come after the cancellation
		if err := f.db.Gorm.WithContext(f.Context()).Table("told").Where("withdrawn").Order("id").Pluck("substr(dedupe_key, 1, 16)", &withdrawn).Error; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"reply:a:turing:-", "reply:a:turing:-"}, withdrawn); diff != "" {
			t.Error(diff)
		}
		// The address of a site may name features.
		if _, err := r.meetings.places.UpdateRoom(f.Context(), f.admin, f.hopper.ID, nil, places.RoomFields{Features: &[]string{"Video Conference", "TV"}}); err != nil {
			t.Fatal(err)
		}
		tv := "any+tv+video-conference"
		if out := r.want("done "+tv+"=ACCEPTED", tv, calendarMessage("REQUEST", "d", 0, 8)); out.Answers[0].RoomID != f.hopper.ID || out.Answers[0].Mail.From != tv+"@rooms.example.org" {
			t.Errorf("%+v", out.Answers[0])
		}
		if out := r.want("done "+tv+"=DECLINED(no_room)", tv, calendarMessage("REQUEST", "e", 0, 8)); out.Answers[0].Text != "No room that is free at this time has: TV, Video Conference." || len(out.Answers[0].Alternatives) > 0 {
			t.Errorf("%+v", out.Answers[0])
		}
		r.want("done any+piano=DECLINED(no_room)", "any+piano", calendarMessage("REQUEST", "f", 0, 10, "RRULE:FREQ=DAILY;COUNT=2"))
		r.want("done", tv, calendarMessage("CANCEL", "d", 1, 8))
		r.want("done", "hopper", calendarMessage("CANCEL", "a", 2, 3))
		r.wantBooked("Review Hopper 4")
		r.want("outdated", "turing", calendarMessage("REQUEST", "a", 1, 3))
		r.want("done", "turing", calendarMessage("CANCEL", "never", 2, 3))
		r.want("duplicate", "turing", calendarMessage("REQUEST", "never", 2, 3))
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "never", 3, 3))
		r.want("done", "turing", calendarMessage("REQUEST", "never", 4, 3, "STATUS:CANCELLED")) // a program that cancels in this way
		r.wantBooked("Review Hopper 4")
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "never", 5, 3, "STATUS:CONFIRMED"))

		// A meeting that moves to a time that is taken loses its slot.
		r.want("done hopper=DECLINED(room_conflict)", "hopper", strings.ReplaceAll(calendarMessage("REQUEST", "d", 0, 4), "turing", "hopper"))
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "e", 0, 6))
		out = r.want("done turing=DECLINED(room_conflict)", "turing", calendarMessage("REQUEST", "e", 1, 3))
		r.wantBooked("Review Turing 3, Review Hopper 4")
		if len(out.Answers[0].Alternatives) != 3 || !strings.Contains(out.Answers[0].Mail.Calendar, "SEQUENCE:1\r\n") {
			t.Errorf("%+v\n%s", out.Answers[0], out.Answers[0].Mail.Calendar)
		}
	})
}

// Whoever acts for an organizer has their access to rooms but does not decide for them, and history names both.
func TestScheduling_sentBy(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		f.sql("INSERT INTO groups (id, name, version, created_at, updated_at) VALUES (1, 'board', 1, ?, ?)", now, now)
		access := &meeting.Access{Book: []int64{1}}
		if _, err := r.meetings.places.UpdateRoom(t.Context(), f.admin, f.turing.ID, nil, places.RoomFields{Access: &access}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.meetings.places.UpdateRoom(t.Context(), f.admin, f.hopper.ID, nil, places.RoomFields{ApprovalRequired: new(true)}); err != nil {
			t.Fatal(err)
		}
		message := func(method, uid string, sequence int, organizer string) string {
			return strings.ReplaceAll(calendarMessage(method, uid, sequence, 2), "ORGANIZER;CN=Anna:mailto:anna@example.org", "ORGANIZER;"+organizer)
		}
		const own, forAda = "CN=Ada:mailto:ada@example.org", `SENT-BY="mailto:ben@example.org":mailto:ada@example.org`
		want := func(what, want string, o *scheduling.Outcome) {
			t.Helper()
			if got := summary(o); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		want("for an admin", "done turing=ACCEPTED", r.receiveFrom("ben@example.org", "turing", message("REQUEST", "a", 0, forAda)))
		want("by the admin", "done turing=ACCEPTED", r.receiveFrom("ada@example.org", "turing", message("REQUEST", "a", 2, own)))
		hopper := func(text string) string { return strings.ReplaceAll(text, "turing", "hopper") }
		out := r.receiveFrom("ben@example.org", "hopper", hopper(message("REQUEST", "b", 0, forAda)))
		want("with approval", "done hopper=TENTATIVE", out)
		if m := f.read(out.MeetingIDs[0]); m.Organizer.UserID != f.admin.ID || m.Status != meeting.Pending {
			t.Errorf("%+v", m)
		}
		want("cancelled", "done", r.receiveFrom("ben@example.org", "hopper", hopper(message("CANCEL", "b", 1, forAda))))
		entries, _, err := r.meetings.History(t.Context(), f.admin, out.MeetingIDs[0], meeting.Page{Limit: 10})
		if err != nil || len(entries) != 2 || entries[1].Action != meeting.ActionCancelled {
			t.Fatalf("%+v, %v", entries, err)
		}
		for _, e := range entries {
			if e.Actor.ID != f.ben.ID || e.Changes["acted_for"].To != f.admin.Name {
				t.Errorf("%s by %+v, %+v", e.Action, e.Actor, e.Changes)
			}
		}
	})
}

// TestScheduling_cancelledByRequest: a REQUEST with STATUS:CANCELLED cancels, as some programs send it.
func TestScheduling_cancelledByRequest(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2))
		r.want("done", "turing", calendarMessage("REQUEST", "a", 1, 2, "STATUS:CANCELLED"))
		r.wantBooked("")
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "b", 0, 2, "RRULE:FREQ=DAILY;COUNT=3"))
		second := now.Add(26 * time.Hour).Format("20060102T150405Z")
		r.want("done", "turing", calendarMessage("REQUEST", "b", 1, 26, "RECURRENCE-ID:"+second, "STATUS:CANCELLED"))
		r.wantBooked("Review Turing 2, Review Turing 50")
	})
}

// TestScheduling_unreadable: what an organizer changes in a way that cannot be read is declined and freed, and does
// not stand in the way of later changes.
func TestScheduling_unreadable(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		const unreadable = "DTSTART;TZID=Mars/Olympus:20270301T100000"
		broken := func(uid string, sequence, hours int, more ...string) string {
			start := "DTSTART:" + now.Add(time.Duration(hours)*time.Hour).Format("20060102T150405Z")
			return strings.Replace(calendarMessage("REQUEST", uid, sequence, hours, more...), start, unreadable, 1)
		}
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2))
		r.want("done turing=DECLINED(invalid)", "turing", broken("a", 1, 2))
		r.wantBooked("")
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 2, 4))
		r.wantBooked("Review Turing 4")

		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "b", 0, 6, "RRULE:FREQ=DAILY;COUNT=3"))
		second := now.Add(30 * time.Hour).Format("20060102T150405Z")
		r.want("done turing/"+second+"=DECLINED(invalid)", "turing", broken("b", 0, 30, "RECURRENCE-ID:"+second))
		r.wantBooked("Review Turing 4, Review Turing 6, Review Turing 54")
		r.want("done turing=ACCEPTED", "turing", strings.Replace(calendarMessage("REQUEST", "b", 1, 6, "RRULE:FREQ=DAILY;COUNT=3"), "Review", "Changed", 1))
		r.wantBooked("Review Turing 4, Changed Turing 6, Changed Turing 30, Changed Turing 54")
	})
}

// settle has the job run that tells calendars what changed.
func (r *mailroom) settle() {
	r.Helper()
	changes, err := r.store.Changed(r.Context(), r.at.Add(time.Hour), 0, 100)
	for _, c := range changes {
		if err == nil {
			err = r.service.Settle(r.Context(), c)
		}
	}
	if err == nil {
		changes, err = r.store.Changed(r.Context(), r.at.Add(time.Hour), 0, 100)
	}
	if err != nil || len(changes) > 0 {
		r.Fatal(changes, err)
	}
}

// answers are the latest of each address.
func (r *mailroom) answers(uid string) string {
	r.Helper()
	known, err := r.store.KnownEvent(r.Context(), uid, "anna@example.org")
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, a := range known.Answers {
		text := a.Address + "=" + string(a.Status)
		if a.RecurrenceID != "" {
			text = a.RecurrenceID + " " + text
		}
		all = append(all, strings.TrimSpace(text+" "+a.Text))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func (r *mailroom) wantAnswers(uid, want string) {
	r.Helper()
	r.settle()
	if diff := cmp.Diff(want, r.answers(uid)); diff != "" {
		r.Error(diff)
	}
}

func TestScheduling_decidedLater(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		if _, err := r.meetings.places.UpdateRoom(f.Context(), f.admin, f.turing.ID, nil, places.RoomFields{ApprovalRequired: new(true)}); err != nil {
			t.Fatal(err)
		}
		id := r.want("done turing=TENTATIVE", "turing", calendarMessage("REQUEST", "a", 0, 2)).MeetingIDs[0]
		r.wantAnswers("a", "turing=TENTATIVE")
		if _, err := r.meetings.approval.Approve(f.Context(), f.admin, id, nil, ""); err != nil {
			t.Fatal(err)
		}
		r.wantAnswers("a", "turing=ACCEPTED")
		r.want("done turing=TENTATIVE", "turing", calendarMessage("REQUEST", "a", 1, 3)) // waits where it was
		if _, err := r.meetings.approval.Reject(f.Context(), f.admin, id, nil, "too late"); err != nil {
			t.Fatal(err)
		}
		r.wantAnswers("a", "turing=DECLINED The meeting was cancelled.")
		r.wantBooked("")

		id = r.want("done turing=TENTATIVE", "turing", calendarMessage("REQUEST", "b", 0, 2)).MeetingIDs[0]
		if _, err := r.meetings.approval.Reject(f.Context(), f.admin, id, nil, "not today"); err != nil {
			t.Fatal(err)
		}
		r.wantAnswers("b", "turing=DECLINED The request was rejected.\nnot today")

		r.want("done hopper=ACCEPTED", "hopper", calendarMessage("REQUEST", "c", 0, 2))
		id = r.want("done turing=TENTATIVE", "turing", calendarMessage("REQUEST", "c", 0, 2)).MeetingIDs[0]
		_, err := r.meetings.Update(f.Context(), f.anna, id, nil, booking.Fields{Title: new("Other")})
		if _, foreign := errors.AsType[*meeting.ForeignError](err); !foreign {
			t.Errorf("another title: %v", err)
		}
		if _, err := r.meetings.Update(f.Context(), f.admin, id, nil, booking.Fields{RoomIDs: &[]int64{f.hopper.ID}}); err != nil {
			t.Fatal(err)
		}
		r.wantAnswers("c", "hopper=ACCEPTED; turing=DECLINED The room is no longer available.")
		if _, err := r.meetings.Cancel(f.Context(), f.admin, id, nil, "a leak"); err != nil {
			t.Fatal(err)
		}
		r.wantAnswers("c", "hopper=DECLINED The meeting was cancelled.\na leak; turing=DECLINED The room is no longer available.")
	})
}

func TestScheduling_series(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		daily := "RRULE:FREQ=DAILY;COUNT=4"
		out := r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2, daily))
		if out.SeriesID == 0 {
			t.Errorf("%+v", out)
		}
		r.wantBooked("Review Turing 2, Review Turing 26, Review Turing 50, Review Turing 74")
		r.want("duplicate turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2, daily))
		first, _, err := r.meetings.Meetings(f.Context(), r.admin, meeting.MeetingQuery{SeriesID: out.SeriesID}, meeting.Page{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		item, err := r.meetings.CalendarItem(f.Context(), f.ben, first[0].ID)
		if err != nil || item.UID != "a" || item.ReplyDomain != "" || item.SeriesID != out.SeriesID {
			t.Errorf("in a calendar it is %+v, %v", item, err)
		}

		// One date moves, one is cancelled, and one gets another title.
		second := "RECURRENCE-ID:20270211T100000Z"
		r.want("done turing/20270211T100000Z=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 1, 28, second))
		r.wantBooked("Review Turing 2, Review Turing 28, Review Turing 50, Review Turing 74")
		r.want("done", "turing", calendarMessage("CANCEL", "a", 1, 50, "RECURRENCE-ID:20270212T100000Z"))
		r.wantBooked("Review Turing 2, Review Turing 28, Review Turing 74")
		r.want("outdated", "turing", calendarMessage("REQUEST", "a", 0, 50, "RECURRENCE-ID:20270212T100000Z"))
		r.want("done turing/20270212T100000Z=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 2, 50, "RECURRENCE-ID:20270212T100000Z"))
		r.wantBooked("Review Turing 2, Review Turing 28, Review Turing 50, Review Turing 74")
		r.want("done turing=ACCEPTED", "turing", strings.Replace(calendarMessage("REQUEST", "a", 3, 2, daily, "EXDATE:20270213T100000Z"), "Review", "Standup", 1))
		r.wantBooked("Standup Turing 2, Review Turing 28, Review Turing 50")

		// Another time of day: the exceptions before fall.
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 4, 3, daily))
		r.wantBooked("Review Turing 3, Review Turing 27, Review Turing 51, Review Turing 75")

		// Partly taken.
		r.want("done turing=DECLINED(room_conflict)", "turing", calendarMessage("REQUEST", "b", 0, 27, "RRULE:FREQ=WEEKLY;COUNT=3"))
		r.settings.Percent, r.settings.Count = 50, 1
		r.want("done turing=ACCEPTED turing/20270211T110000Z=DECLINED(room_conflict)", "turing", calendarMessage("REQUEST", "b", 1, 27, "RRULE:FREQ=WEEKLY;COUNT=3"))
		r.want("done", "turing", calendarMessage("CANCEL", "a", 5, 3))
		r.wantBooked("Review Turing 195, Review Turing 363")

		// An event without an end.
		r.want("done hopper=ACCEPTED", "hopper", calendarMessage("REQUEST", "c", 0, 2, "RRULE:FREQ=MONTHLY"))
		r.settings.BeyondWindow = scheduling.Decline
		r.want("done hopper=DECLINED(max_advance)", "hopper", calendarMessage("REQUEST", "c", 1, 2, "RRULE:FREQ=MONTHLY"))
		r.wantBooked("Review Turing 195, Review Turing 363")

		// A date is added, and cancelled.
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "e", 0, 10, "RRULE:FREQ=DAILY;COUNT=2"))
		r.want("done turing/20270214T180000Z=ACCEPTED", "turing", calendarMessage("ADD", "e", 1, 106))
		r.wantBooked("Review Turing 10, Review Turing 34, Review Turing 106, Review Turing 195, Review Turing 363")
		r.want("refused", "turing", calendarMessage("ADD", "e", 2, 130, "RRULE:FREQ=DAILY;COUNT=2"))
		r.want("done", "turing", calendarMessage("CANCEL", "e", 2, 106, "RECURRENCE-ID:20270214T180000Z"))
		r.wantBooked("Review Turing 10, Review Turing 34, Review Turing 195, Review Turing 363")
		r.want("done", "turing", calendarMessage("CANCEL", "e", 3, 10))

		// A date that becomes known before its series.
		r.want("done turing/20270211T100000Z=ACCEPTED", "turing", calendarMessage("REQUEST", "d", 0, 28, second))
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "d", 0, 2, daily))
		r.wantBooked("Review Turing 2, Review Turing 28, Review Turing 50, Review Turing 74, Review Turing 195, Review Turing 363")
	})
}

// withDate adds the event of another message to a message.
func withDate(message, date string) string {
	_, event, _ := strings.Cut(date, "METHOD:REQUEST\r\n")
	return strings.Replace(message, "END:VCALENDAR\r\n", event, 1)
}

// A series that gets another rule keeps the meetings of the dates that stay, and nobody is told that the organizer's own
// change took a room away. Nobody else can book the room while it changes.
func TestScheduling_patternChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		r.settings.Percent, r.settings.Count = 50, 2
		ids := func(uid string) map[float64]meeting.ID { // by hours after now
			t.Helper()
			known, err := f.store.KnownEvent(f.Context(), uid, "anna@example.org")
			if err != nil {
				t.Fatal(err)
			}
			found := map[float64]meeting.ID{}
			ms, _, err := r.meetings.Meetings(f.Context(), r.admin, meeting.MeetingQuery{Statuses: []meeting.Status{meeting.Confirmed}}, meeting.Page{Limit: 100})
			for _, m := range ms {
				if m.ID == known.MeetingID || m.SeriesID != 0 && m.SeriesID == known.SeriesID {
					found[m.Slot.Start.Sub(now).Hours()] = m.ID
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		daily := func(n int) string { return fmt.Sprint("RRULE:FREQ=DAILY;COUNT=", n) }
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2, daily(4)))
		was := ids("a")
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 1, 2, daily(6)))
		now6 := ids("a")
		for at, id := range was {
			if now6[at] != id {
				t.Errorf("longer: the date at %g is meeting %d, and was %d", at, now6[at], id)
			}
		}
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 2, 3, daily(6)))
		moved := ids("a")
		for at, id := range now6 {
			if moved[at+1] != id {
				t.Errorf("later: the date at %g is meeting %d, and was %d", at+1, moved[at+1], id)
			}
		}
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 3, 3, daily(2), "EXDATE:20270211T110000Z"))
		r.wantBooked("Review Turing 3")
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 4, 3, daily(3)))
		r.wantBooked("Review Turing 3, Review Turing 27, Review Turing 51")
		r.wantAnswers("a", "turing=ACCEPTED")

		// At the new time one date is taken. It declines, and its former time is free.
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "b", 0, 29))
		r.want("done turing=ACCEPTED turing/20270211T130000Z=DECLINED(room_conflict)", "turing", calendarMessage("REQUEST", "a", 5, 5, daily(3)))
		r.wantBooked("Review Turing 5, Review Turing 29, Review Turing 53")
		if ids("a")[5] != moved[3] || len(ids("b")) != 1 {
			t.Errorf("%v, and %v", ids("a"), ids("b"))
		}
		// A date that has its own time is judged by that.
		r.want("done turing=ACCEPTED turing/20270211T130000Z=ACCEPTED", "turing", withDate(calendarMessage("REQUEST", "a", 6, 5, daily(4)), calendarMessage("REQUEST", "a", 6, 31, "RECURRENCE-ID:20270211T130000Z")))
		r.wantBooked("Review Turing 5, Review Turing 29, Review Turing 31, Review Turing 53, Review Turing 77")

		// Dates that are over do not matter, but one that was moved out of the past does. A series that becomes a single
		// event, and the other way round, says no more than that it is accepted.
		r.at = now.Add(30 * time.Hour)
		was = ids("a")
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 7, 5, daily(6)))
		if got := ids("a"); got[31] != was[31] || got[53] != was[53] || got[77] != was[77] || got[125] == 0 {
			t.Errorf("%v, and before %v", got, was)
		}
		was = ids("a")
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 8, 53))
		r.wantBooked("Review Turing 53")
		if got := ids("a"); got[53] != was[53] {
			t.Errorf("once: %v, and before %v", got, was)
		}
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 9, 53, daily(2)))
		r.wantBooked("Review Turing 53, Review Turing 77")
		if got := ids("a"); got[53] != was[53] {
			t.Errorf("again a series: %v, and before %v", got, was)
		}
		r.settle()
		r.wantBooked("Review Turing 53, Review Turing 77")
		r.settle()
		if got := r.answers("a"); strings.Contains(got, "cancelled") {
			t.Error(got)
		}
	})
}

// A single event that begins to repeat, moves and no longer repeats keeps its meeting, and so the links to it.
func TestScheduling_repeats(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		r.settings.Percent, r.settings.Count = 50, 1
		first := r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2)).MeetingIDs[0]
		wantFirst := func(when, booked string, hours float64) {
			t.Helper()
			r.settle()
			r.wantBooked(booked)
			m, err := r.meetings.Meeting(f.Context(), f.admin, first)
			if err != nil || m.Status != meeting.Confirmed || m.Slot.Start.Sub(now).Hours() != hours || m.Foreign != meeting.OriginMail {
				t.Errorf("%s: %+v, %v", when, m, err)
			}
			if id, origin, err := f.store.EventOf(f.Context(), first); id != "a" || origin != "anna@example.org" || err != nil {
				t.Errorf("%s: the event is %q %q, %v", when, id, origin, err)
			}
		}
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "b", 0, 26)) // the second date is taken
		own := calendarMessage("REQUEST", "a", 1, 51, "RECURRENCE-ID:20270212T100000Z")
		r.want("done turing=ACCEPTED turing/20270211T100000Z=DECLINED(room_conflict) turing/20270212T100000Z=ACCEPTED", "turing",
			withDate(calendarMessage("REQUEST", "a", 1, 2, "RRULE:FREQ=DAILY;COUNT=4"), own))
		wantFirst("repeats", "Review Turing 2, Review Turing 26, Review Turing 51, Review Turing 74", 2)
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 2, 4))
		wantFirst("once", "Review Turing 4, Review Turing 26", 4)
		r.want("done turing=DECLINED(room_conflict)", "turing", calendarMessage("REQUEST", "a", 3, 26))
		r.settle()
		r.wantBooked("Review Turing 26")
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 4, 5))
		r.wantBooked("Review Turing 5, Review Turing 26")
		r.want("done", "turing", calendarMessage("CANCEL", "a", 5, 5))
		r.settle()
		r.wantBooked("Review Turing 26")
	})
}

func TestScheduling_extends(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		r.settings.BeyondWindow, r.settings.MaxAdvance = scheduling.Extend, 15*24*time.Hour
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 0, 2, "RRULE:FREQ=WEEKLY"))
		r.wantBooked("Review Turing 2, Review Turing 170, Review Turing 338")
		r.settings.Percent, r.settings.Count = 100, 100
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "b", 0, 506)) // in the way of the fourth date
		r.at = r.at.Add(14 * 24 * time.Hour)
		due, err := f.store.Extended(f.Context(), r.at, 0, 10)
		if err != nil || len(due) != 1 {
			t.Fatal(due, err)
		}
		for range 2 { // the second run finds nothing to do
			if err := r.service.Roll(f.Context(), due[0]); err != nil {
				t.Fatal(err)
			}
		}
		r.wantBooked("Review Turing 338, Review Turing 506, Review Turing 674")
		if got := r.answers("a"); !strings.HasPrefix(got, "20270303T100000Z turing=DECLINED Turing is taken") || !strings.HasSuffix(got, "; turing=ACCEPTED") {
			t.Error(got)
		}
		if due, err = f.store.Extended(f.Context(), r.at.Add(25*time.Hour), 0, 10); err != nil || len(due) != 1 {
			t.Error(due, err)
		}
	})
}

// Two processes that receive invitations for one slot accept one of them.
func TestScheduling_race(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		other := *r
		other.service = scheduling.NewService(scheduling.Deps{
			Meetings: r.meetings.Service, Series: r.meetings.series, Finding: r.service.Finding, Store: gormstore.New(f.db.Gorm, outbox{}), People: r.service.People, Scheduler: nothing{},
			Settings: r.service.Settings, Now: r.service.Now, Log: r.service.Log,
		})
		const invitations = 40
		results := make([]string, invitations)
		var group sync.WaitGroup
		for i := range results {
			group.Go(func() {
				at := []*mailroom{r, &other}[i%2]
				results[i] = summary(at.receive("turing", calendarMessage("REQUEST", fmt.Sprint("race-", i), 0, 2)))
			})
		}
		group.Wait()
		count := map[string]int{}
		for _, result := range results {
			count[result]++
		}
		if count["done turing=ACCEPTED"] != 1 || count["done turing=DECLINED(room_conflict)"] != invitations-1 {
			t.Error(count)
		}
		if n := f.count("told"); n != invitations {
			t.Errorf("%d replies", n)
		}
	})
}

// reply is the response of a calendar program, mailed to an address of the mailroom by the attendee ben.
func (r *mailroom) reply(want, to, uid, status string, sequence int, stamp, start string, more ...string) {
	r.Helper()
	method := "REPLY"
	if status == "COUNTER" {
		method, status = status, "TENTATIVE"
	}
	lines := []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN", "METHOD:" + method, "BEGIN:VEVENT", "UID:" + uid, fmt.Sprintf("SEQUENCE:%d", sequence),
		"DTSTAMP:" + stamp, "ATTENDEE;PARTSTAT=" + status + ":mailto:Ben@example.org",
	}
	if start != "" {
		lines = append(lines, "DTSTART:"+start)
	}
	ics := strings.Join(append(append(lines, more...), "END:VEVENT", "END:VCALENDAR", ""), "\r\n")
	calendar, err := itip.Read(strings.NewReader(ics), itip.DefaultLimits)
	if err != nil {
		r.Fatal(err)
	}
	out, err := r.service.Process(r.Context(), scheduling.Message{
		Via: meeting.OriginMail, Recipient: to + "@rooms.example.org", From: "ben@example.org", Calendar: calendar, ICS: []byte(ics), Received: r.at,
	})
	if err != nil {
		r.Fatal(err)
	}
	got := string(out.State)
	if out.Reason != "" {
		got += " " + out.Reason
	}
	if got != want {
		r.Errorf("%s, want %s", got, want)
	}
}

// wantResponses of ben, date by date.
func (r *mailroom) wantResponses(want string, ids ...meeting.ID) {
	r.Helper()
	var all []string
	for _, id := range ids {
		a := r.read(id).Attendees[0]
		all = append(all, strings.TrimSpace(string(a.Response)+" "+a.Comment))
	}
	if got := strings.Join(all, "; "); got != want {
		r.Errorf("%s, want %s", got, want)
	}
}

// Responses by mail to invitations of this installation: the newest of each attendee counts, by date.
func TestScheduling_responses(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		start := now.Add(2 * time.Hour)
		fields := booking.Fields{
			RoomIDs: &[]int64{f.turing.ID}, Title: new("Review"), Start: new(clock.At(start)), End: new(clock.At(start.Add(time.Hour))),
			Attendees: &[]meeting.Person{{Email: "ben@example.org"}},
		}
		m, err := r.meetings.Book(f.Context(), f.anna, fields)
		if err != nil {
			t.Fatal(err)
		}
		to, at := fmt.Sprint("meeting-", m.ID), start.Format("20060102T150405Z")
		uid := to + "@ours"
		if m.ReplyDomain != "rooms.example.org" || f.read(m.ID).ReplyDomain != m.ReplyDomain {
			t.Errorf("replies go to %q", m.ReplyDomain)
		}
		before := f.count("told")
		r.reply("done", to, uid, "TENTATIVE", 1, "20270201T100000Z", at, "COMMENT:perhaps\\, late")
		r.wantResponses("tentative perhaps, late", m.ID)
		r.reply("duplicate", to, uid, "TENTATIVE", 1, "20270201T100000Z", at)
		r.reply("outdated", to, uid, "DECLINED", 1, "20270201T090000Z", at)
		r.reply("outdated", to, uid, "DECLINED", 0, "20270201T110000Z", at)
		r.reply("done", to, uid, "ACCEPTED", 1, "20270201T110000Z", "") // as Outlook does, without more
		r.wantResponses("accepted", m.ID)
		if n := f.count("told"); n != before {
			t.Errorf("%d notices about that", n-before)
		}
		r.reply("done", to, uid, "COUNTER", 1, "20270201T120000Z", start.Add(2*time.Hour).Format("20060102T150405Z"), "DTEND:"+start.Add(3*time.Hour).Format("20060102T150405Z"))
		if a := f.read(m.ID).Attendees[0]; a.Response != meeting.Tentative || !strings.HasPrefix(a.Comment, "Schlägt vor: 10.02.2027, 13:00") {
			t.Errorf("a counter proposal: %+v", a)
		}
		r.reply("done", to, uid, "DELEGATED;DELEGATED-TO=\"mailto:eve@example.net\"", 1, "20270201T130000Z", at)
		r.wantResponses("declined Delegiert an eve@example.net.", m.ID)
		if n := f.count("told"); n != before+1 {
			t.Errorf("%d notices about who declined, want 1", n-before)
		}
		r.reply("outdated moved", to, uid, "ACCEPTED", 1, "20270201T140000Z", start.Add(time.Hour).Format("20060102T150405Z"))
		r.reply("refused unknown_status", to, uid, "IN-PROCESS", 1, "20270201T140000Z", at)
		r.reply("refused unknown_meeting", to, "meeting-1@elsewhere", "ACCEPTED", 1, "20270201T140000Z", at)
		r.reply("refused unknown_meeting", "meeting-999", uid, "ACCEPTED", 1, "20270201T140000Z", at)
		r.reply("ignored method", "turing", uid, "ACCEPTED", 1, "20270201T140000Z", at)
		if _, err := r.meetings.Update(f.Context(), f.anna, m.ID, nil, booking.Fields{Attendees: &[]meeting.Person{{Email: "eve@example.net"}}}); err != nil {
			t.Fatal(err)
		}
		r.reply("refused not_invited", to, uid, "ACCEPTED", 1, "20270201T140000Z", at)

		// A series: all dates, and one of them. A date that was answered since keeps its answer.
		fields.Start, fields.End = new(clock.At(start.Add(24*time.Hour))), new(clock.At(start.Add(25*time.Hour)))
		made, err := r.meetings.series.Book(f.Context(), f.anna, series.Fields{Fields: fields, Rule: new("FREQ=DAILY;COUNT=3"), OnConflict: meeting.FailOnConflict})
		if err != nil {
			t.Fatal(err)
		}
		var dates []meeting.ID
		for _, m := range made.Meetings {
			dates = append(dates, m.ID)
		}
		to = fmt.Sprint("series-", made.Series.ID)
		uid = to + "@ours"
		first, second := start.Add(24*time.Hour).Format("20060102T150405Z"), start.Add(48*time.Hour).Format("20060102T150405Z")
		r.reply("done", to, uid, "ACCEPTED", 1, "20270201T100000Z", first)
		r.reply("done", to, uid, "DECLINED", 1, "20270201T120000Z", "", "RECURRENCE-ID:"+second)
		r.wantResponses("accepted; declined; accepted", dates...)
		r.reply("done", to, uid, "TENTATIVE", 1, "20270201T110000Z", first, "COMMENT:all of them")
		r.wantResponses("tentative all of them; declined; tentative all of them", dates...)
		r.reply("outdated", to, uid, "ACCEPTED", 1, "20270201T103000Z", second, "RECURRENCE-ID:"+second)
		r.reply("refused unknown_date", to, uid, "ACCEPTED", 1, "20270201T130000Z", "", "RECURRENCE-ID:20270201T000000Z")
		if r.read(dates[0]).ReplyDomain != "rooms.example.org" || made.Series.ReplyDomain != "rooms.example.org" {
			t.Error("the dates of a series have no address for replies")
		}

		// A meeting that becomes a series keeps its address and its UID.
		fields.Start, fields.End = new(clock.At(start.Add(240*time.Hour))), new(clock.At(start.Add(241*time.Hour)))
		if m, err = r.meetings.Book(f.Context(), f.anna, fields); err != nil {
			t.Fatal(err)
		}
		if made, err = r.meetings.series.Repeat(f.Context(), f.anna, m.ID, nil, series.Fields{Rule: new("FREQ=DAILY;COUNT=2"), OnConflict: meeting.FailOnConflict}); err != nil {
			t.Fatal(err)
		}
		to = fmt.Sprint("meeting-", m.ID)
		r.reply("done", to, to+"@ours", "ACCEPTED", 3, "20270201T100000Z", "")
		r.wantResponses("accepted; accepted", made.Meetings[0].ID, made.Meetings[1].ID)
	})
}

// Of several rooms of a series each answers for itself, and what is booked stays what it is.
func TestScheduling_severalRooms(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newMailroom(f)
		daily := "RRULE:FREQ=DAILY;COUNT=4"
		r.settings.Percent, r.settings.Count = 25, 1
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "other", 0, 26))
		id := r.want("done turing=ACCEPTED turing/20270211T100000Z=DECLINED(room_conflict)", "turing", calendarMessage("REQUEST", "a", 0, 2, daily)).SeriesID
		r.wantBooked("Review Turing 2, Review Turing 26, Review Turing 50, Review Turing 74")
		if got := r.want("done hopper=ACCEPTED", "hopper", calendarMessage("REQUEST", "a", 0, 2, daily)).SeriesID; got != id {
			t.Errorf("another series, %d", got)
		}
		r.wantBooked("Review Turing+Hopper 2, Review Turing 26, Review Hopper 26, Review Turing+Hopper 50, Review Turing+Hopper 74")

		// One room leaves a date, and comes back.
		third := "RECURRENCE-ID:20270212T100000Z"
		r.want("done", "turing", calendarMessage("CANCEL", "a", 1, 50, third))
		r.wantBooked("Review Turing+Hopper 2, Review Turing 26, Review Hopper 26, Review Hopper 50, Review Turing+Hopper 74")
		r.want("done turing/20270212T100000Z=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 2, 50, third))
		r.wantBooked("Review Turing+Hopper 2, Review Turing 26, Review Hopper 26, Review Turing+Hopper 50, Review Turing+Hopper 74")

		// A room is invited to one date alone, instead of another one.
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "e", 0, 8, daily))
		r.want("done", "turing", calendarMessage("CANCEL", "e", 1, 32, "RECURRENCE-ID:20270211T160000Z"))
		r.want("done hopper/20270211T160000Z=ACCEPTED", "hopper", calendarMessage("REQUEST", "e", 1, 32, "RECURRENCE-ID:20270211T160000Z"))
		if got := r.bookedOf("e"); got != "8 Turing, 32 Hopper, 56 Turing, 80 Turing" {
			t.Error(got)
		}
		r.want("done", "turing", calendarMessage("CANCEL", "e", 2, 8))
		r.want("done", "hopper", calendarMessage("CANCEL", "e", 2, 32, "RECURRENCE-ID:20270211T160000Z"))

		// A date moves to a time when one of them is taken.
		r.want("done hopper=ACCEPTED", "hopper", calendarMessage("REQUEST", "third", 0, 76))
		r.want("done turing/20270213T100000Z=ACCEPTED", "turing", calendarMessage("REQUEST", "a", 3, 76, "RECURRENCE-ID:20270213T100000Z"))
		r.wantBooked("Review Turing+Hopper 2, Review Turing 26, Review Hopper 26, Review Turing+Hopper 50, Review Turing 76, Review Hopper 76")
		r.want("done hopper/20270213T100000Z=DECLINED(room_conflict)", "hopper", calendarMessage("REQUEST", "a", 3, 76, "RECURRENCE-ID:20270213T100000Z"))

		// One room is taken too often; the other is booked at all dates that are left to it.
		r.want("done hopper=ACCEPTED", "hopper", calendarMessage("REQUEST", "b", 0, 5, daily))
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "c", 0, 5, daily))
		r.want("done hopper=DECLINED(room_conflict)", "hopper", calendarMessage("REQUEST", "c", 0, 5, daily))
		r.want("done", "hopper", calendarMessage("CANCEL", "b", 1, 5))
		r.want("done", "turing", calendarMessage("CANCEL", "c", 1, 5))
		r.want("done", "hopper", calendarMessage("CANCEL", "a", 4, 2))
		r.want("outdated", "hopper", calendarMessage("REQUEST", "a", 3, 50, third)) // of a date, before that
		r.wantBooked("Review Turing 2, Review Turing 26, Review Turing 50, Review Turing 76, Review Hopper 76")

		// Any room of the site is one that is free on all dates. It stays the same.
		r.settings.Percent, r.settings.Count = 0, 0
		r.want("done hopper=ACCEPTED", "hopper", calendarMessage("REQUEST", "busy", 0, 36))
		r.want("done any=ACCEPTED", "any", calendarMessage("REQUEST", "f", 0, 12, daily))
		if got := r.bookedOf("f"); got != "12 Turing, 36 Turing, 60 Turing, 84 Turing" {
			t.Error(got)
		}
		r.want("done", "hopper", calendarMessage("CANCEL", "busy", 1, 36))
		r.want("done any=ACCEPTED", "any", calendarMessage("REQUEST", "f", 1, 13, daily))
		if got := r.bookedOf("f"); got != "13 Turing, 37 Turing, 61 Turing, 85 Turing" {
			t.Error(got)
		}
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "busy", 2, 39))
		r.want("done any=ACCEPTED", "any", calendarMessage("REQUEST", "f", 2, 15, daily))
		if got := r.bookedOf("f"); got != "15 Hopper, 39 Hopper, 63 Hopper, 87 Hopper" {
			t.Error(got)
		}
		r.want("done", "any", calendarMessage("CANCEL", "f", 3, 15))
		r.want("done", "turing", calendarMessage("CANCEL", "busy", 3, 39))

		// Reasons are for people.
		if _, err := r.meetings.places.UpdateRoom(f.Context(), f.admin, f.hopper.ID, nil, places.RoomFields{MaxDuration: new(30 * time.Minute)}); err != nil {
			t.Fatal(err)
		}
		out := r.want("done hopper=DECLINED(max_duration)", "hopper", calendarMessage("REQUEST", "d", 0, 10))
		if out.Answers[0].Text != "Hopper can be booked for at most 30 min." {
			t.Errorf("%q", out.Answers[0].Text)
		}
	})
}
