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
	"punctual/meeting/finding"
	"punctual/meeting/gormstore"
	"punctual/meeting/itip"
	"punctual/meeting/policy"
	"punctual/meeting/scheduling"
)

// mailroom answers calendar messages on a store. Turing and Hopper have addresses, and so has their
// site. turing@, hopper@ and any@ are at rooms.example.org.
type mailroom struct {
	*fixture
	at       time.Time
	meetings *meeting.Service
	service  *scheduling.Service
	settings scheduling.Settings
}

type guests struct{ users }

func (guests) Guest(context.Context, string, string) (meeting.Person, error) {
	return meeting.Person{}, nil
}

func newMailroom(f *fixture) *mailroom {
	f.Helper()
	r := &mailroom{fixture: f, at: now, settings: scheduling.Settings{Domain: "rooms.example.org", BeyondWindow: scheduling.Trim, MaxAdvance: 365 * 24 * time.Hour}}
	conf := func() meeting.Settings {
		return meeting.Settings{Timezone: "Europe/Berlin", HoldPending: true, Limits: policy.Limits{MaxOccurrences: 400, MaxDuration: 24 * time.Hour, MaxAdvance: 365 * 24 * time.Hour}}
	}
	clock := func() time.Time { return r.at }
	r.meetings = meeting.NewService(f.store, users{f: f}, nothing{}, conf, clock, slog.New(slog.DiscardHandler))
	r.service = scheduling.NewService(scheduling.Deps{
		Meetings: r.meetings, Finding: finding.NewService(f.store, r.meetings, conf, clock), Store: f.store, People: guests{users{f: f}}, Scheduler: nothing{},
		Settings: func() scheduling.Settings { return r.settings }, Now: clock, Log: slog.New(slog.DiscardHandler),
	})
	site, err := r.meetings.CreateSite(f.Context(), f.admin, meeting.SiteFields{Name: new("Berlin"), Address: new("any")})
	if err != nil {
		f.Fatal(err)
	}
	for _, room := range []*meeting.Room{f.turing, f.hopper} {
		_, err := r.meetings.UpdateRoom(f.Context(), f.admin, room.ID, nil, meeting.RoomFields{Address: new(strings.ToLower(room.Name)), SiteID: &site.ID})
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
	calendar, err := itip.Read(strings.NewReader(ics), itip.DefaultLimits)
	if err != nil {
		r.Fatal(err)
	}
	out, err := r.service.Process(r.Context(), scheduling.Message{
		Via: meeting.OriginMail, Recipient: room + "@rooms.example.org", From: "anna@example.org", Calendar: calendar, ICS: []byte(ics), MessageID: "<1@example.org>", Received: r.at,
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
		r.want("done", "hopper", calendarMessage("CANCEL", "a", 2, 3))
		r.wantBooked("Review Hopper 4")
		r.want("outdated", "turing", calendarMessage("REQUEST", "a", 1, 3))
		r.want("done", "turing", calendarMessage("CANCEL", "never", 2, 3))
		r.want("duplicate", "turing", calendarMessage("REQUEST", "never", 2, 3))
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "never", 3, 3))

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
		if _, err := r.meetings.UpdateRoom(f.Context(), f.admin, f.turing.ID, nil, meeting.RoomFields{ApprovalRequired: new(true)}); err != nil {
			t.Fatal(err)
		}
		id := r.want("done turing=TENTATIVE", "turing", calendarMessage("REQUEST", "a", 0, 2)).MeetingIDs[0]
		r.wantAnswers("a", "turing=TENTATIVE")
		if _, err := r.meetings.Approve(f.Context(), f.admin, id, nil, ""); err != nil {
			t.Fatal(err)
		}
		r.wantAnswers("a", "turing=ACCEPTED")
		r.want("done turing=TENTATIVE", "turing", calendarMessage("REQUEST", "a", 1, 3)) // waits where it was
		if _, err := r.meetings.Reject(f.Context(), f.admin, id, nil, "too late"); err != nil {
			t.Fatal(err)
		}
		r.wantAnswers("a", "turing=DECLINED The meeting was cancelled.")
		r.wantBooked("")

		id = r.want("done turing=TENTATIVE", "turing", calendarMessage("REQUEST", "b", 0, 2)).MeetingIDs[0]
		if _, err := r.meetings.Reject(f.Context(), f.admin, id, nil, "not today"); err != nil {
			t.Fatal(err)
		}
		r.wantAnswers("b", "turing=DECLINED The request was rejected.\nnot today")

		r.want("done hopper=ACCEPTED", "hopper", calendarMessage("REQUEST", "c", 0, 2))
		id = r.want("done turing=TENTATIVE", "turing", calendarMessage("REQUEST", "c", 0, 2)).MeetingIDs[0]
		_, err := r.meetings.Update(f.Context(), f.anna, id, nil, meeting.Fields{Title: new("Other")})
		if _, foreign := errors.AsType[*meeting.ForeignError](err); !foreign {
			t.Errorf("another title: %v", err)
		}
		if _, err := r.meetings.Update(f.Context(), f.admin, id, nil, meeting.Fields{RoomIDs: &[]int64{f.hopper.ID}}); err != nil {
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

		// A date that becomes known before its series.
		r.want("done turing/20270211T100000Z=ACCEPTED", "turing", calendarMessage("REQUEST", "d", 0, 28, second))
		r.want("done turing=ACCEPTED", "turing", calendarMessage("REQUEST", "d", 0, 2, daily))
		r.wantBooked("Review Turing 2, Review Turing 28, Review Turing 50, Review Turing 74, Review Turing 195, Review Turing 363")
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
			Meetings: r.meetings, Finding: r.service.Finding, Store: gormstore.New(f.db.Gorm, outbox{}), People: r.service.People, Scheduler: nothing{},
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
