package booking_test

import (
	"reflect"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Nobody learns from a filter or the list whose private meeting it is.
func TestMeeting_View_tellsNoPeople(t *testing.T) {
	w := newWorld(t)
	f := w.fields(time.Hour, w.desk)
	f.Visibility = new(meeting.Private)
	m := w.book(t, w.ann, f)
	m.SeriesID, m.OriginalStart, m.Approval.DecidedBy = 3, w.at, w.ann.ID
	got := m.View(w.max, nil)
	if got.Organizer != (meeting.Person{}) || got.SeriesID != 0 || !got.OriginalStart.IsZero() || got.Approval.DecidedBy != 0 || got.Title != meeting.Busy {
		t.Errorf("a stranger sees %+v", got)
	}
}

// A stranger sees of a private meeting when and where it is, and nothing that was said.
func TestMeeting_View_isBusy(t *testing.T) {
	at := utc(t, "2027-02-10T09:00")
	slot := clock.Slot{Start: at, End: at.Add(time.Hour)}
	m := &meeting.Meeting{
		ID: 7, Title: "Layoffs", Description: "who leaves", Slot: slot, Timezone: "UTC", Organizer: meeting.Person{UserID: 1, Name: "Ann"}, RoomIDs: []int64{1}, RoomNames: []string{"Desk"},
		Attendees: []meeting.Attendee{{Person: meeting.Person{Email: "guest@example.net"}}}, Reminders: []meeting.Reminder{{Before: meeting.BeforeStart}}, Visibility: meeting.Private, Status: meeting.Confirmed,
		Approval: meeting.Approval{Required: true, DecidedAt: at, DecidedBy: 1, Comment: "if it must be", Agreed: []meeting.Agreement{{Name: "Mona"}}, Decision: &meeting.Decision{Name: "Mona"}},
		Request:  &meeting.Request{Change: &meeting.PendingChange{RoomIDs: []int64{2}}}, SeriesID: 3, OriginalStart: at, Version: 2,
	}
	want := &meeting.Meeting{
		ID: 7, Title: meeting.Busy, Slot: slot, Timezone: "UTC", RoomIDs: []int64{1}, RoomNames: []string{"Desk"}, Visibility: meeting.Private, Status: meeting.Confirmed,
		Approval: meeting.Approval{Required: true, DecidedAt: at}, Version: 2,
	}
	for name, by := range map[string]meeting.Actor{
		"nobody": {}, "a member": {Kind: meeting.ActorUser, ID: 9, Email: "x@example.org", Role: meeting.Member},
		"who has no account and is not invited": {Kind: meeting.ActorUser, Email: "other@example.net"},
		"who has neither":                       {Kind: meeting.ActorUser},
		"with a token for something else":       {Kind: meeting.ActorUser, ID: 1, Role: meeting.Admin, Blind: true},
	} {
		if got := m.View(by, nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%s sees %+v", name, got)
		}
	}
	guest := meeting.Actor{Kind: meeting.ActorUser, Email: "Guest@example.net"}
	same(t, "a guest without an account", m.View(guest, nil).Title, "Layoffs")
}

// Where a meeting is to move somebody decides who has to see on what; as long as they do.
func TestActor_MaySee_whereItIsToMove(t *testing.T) {
	manager := meeting.Actor{Kind: meeting.ActorUser, ID: 3, Role: meeting.Manager}
	here, there := &meeting.Room{Room: policy.Room{ID: 1}}, &meeting.Room{Room: policy.Room{ID: 2}, Approval: meeting.RoomApproval{ApproverIDs: []int64{3}}}
	rooms := []*meeting.Room{here, there}
	m := &meeting.Meeting{Visibility: meeting.Private, RoomIDs: []int64{1}}
	same(t, "before", manager.MaySee(m, rooms), false)
	m.Request = &meeting.Request{}
	same(t, "while the meeting itself is asked for", manager.MaySee(m, rooms), false)
	m.Request.Change = &meeting.PendingChange{RoomIDs: []int64{2}}
	same(t, "while it is to move there", manager.MaySee(m, rooms), true)
	same(t, "another manager", meeting.Actor{Kind: meeting.ActorUser, ID: 4, Role: meeting.Manager}.MaySee(m, rooms), false)
	same(t, "a member whom the room names", meeting.Actor{Kind: meeting.ActorUser, ID: 3, Role: meeting.Member}.MaySee(m, rooms), false)
	here.Approval.ApproverIDs, m.Request.Change.RoomIDs = []int64{3}, []int64{5}
	same(t, "of the room in which it is", manager.MaySee(m, rooms), true)
}
