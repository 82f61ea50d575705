package meeting

import (
	"reflect"
	"testing"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Nobody learns from a filter or the list whose private meeting it is.
func TestMeeting_View_tellsNoPeople(t *testing.T) {
	w := newWorld(t)
	f := w.fields(time.Hour, w.desk)
	f.Visibility = new(Private)
	m := w.book(t, w.ann, f)
	m.SeriesID, m.OriginalStart, m.Approval.DecidedBy = 3, w.at, w.ann.ID
	got := m.View(w.max, nil)
	if got.Organizer != (Person{}) || got.SeriesID != 0 || !got.OriginalStart.IsZero() || got.Approval.DecidedBy != 0 || got.Title != Busy {
		t.Errorf("a stranger sees %+v", got)
	}
}

// A stranger sees of a private meeting when and where it is, and nothing that was said.
func TestMeeting_View_isBusy(t *testing.T) {
	at := utc(t, "2027-02-10T09:00")
	slot := clock.Slot{Start: at, End: at.Add(time.Hour)}
	m := &Meeting{
		ID: 7, Title: "Layoffs", Description: "who leaves", Slot: slot, Timezone: "UTC", Organizer: Person{UserID: 1, Name: "Ann"}, RoomIDs: []int64{1}, RoomNames: []string{"Desk"},
		Attendees: []Attendee{{Person: Person{Email: "guest@example.net"}}}, Reminders: []Reminder{{Before: BeforeStart}}, Visibility: Private, Status: Confirmed,
		Approval: Approval{Required: true, DecidedAt: at, DecidedBy: 1, Comment: "if it must be", Agreed: []Agreement{{Name: "Mona"}}, Decision: &Decision{Name: "Mona"}},
		Request:  &Request{Change: &PendingChange{RoomIDs: []int64{2}}}, SeriesID: 3, OriginalStart: at, Version: 2,
	}
	want := &Meeting{
		ID: 7, Title: Busy, Slot: slot, Timezone: "UTC", RoomIDs: []int64{1}, RoomNames: []string{"Desk"}, Visibility: Private, Status: Confirmed,
		Approval: Approval{Required: true, DecidedAt: at}, Version: 2,
	}
	for name, by := range map[string]Actor{
		"nobody": {}, "a member": {Kind: ActorUser, ID: 9, Email: "x@example.org", Role: Member},
		"who has no account and is not invited": {Kind: ActorUser, Email: "other@example.net"},
		"who has neither":                       {Kind: ActorUser},
		"with a token for something else":       {Kind: ActorUser, ID: 1, Role: Admin, Blind: true},
	} {
		if got := m.View(by, nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%s sees %+v", name, got)
		}
	}
	guest := Actor{Kind: ActorUser, Email: "Guest@example.net"}
	same(t, "a guest without an account", m.View(guest, nil).Title, "Layoffs")
}

// Where a meeting is to move somebody decides who has to see on what; as long as they do.
func TestActor_MaySee_whereItIsToMove(t *testing.T) {
	manager := Actor{Kind: ActorUser, ID: 3, Role: Manager}
	here, there := &Room{Room: policy.Room{ID: 1}}, &Room{Room: policy.Room{ID: 2}, Approval: RoomApproval{ApproverIDs: []int64{3}}}
	rooms := []*Room{here, there}
	m := &Meeting{Visibility: Private, RoomIDs: []int64{1}}
	same(t, "before", manager.MaySee(m, rooms), false)
	m.Request = &Request{}
	same(t, "while the meeting itself is asked for", manager.MaySee(m, rooms), false)
	m.Request.Change = &PendingChange{RoomIDs: []int64{2}}
	same(t, "while it is to move there", manager.MaySee(m, rooms), true)
	same(t, "another manager", Actor{Kind: ActorUser, ID: 4, Role: Manager}.MaySee(m, rooms), false)
	same(t, "a member whom the room names", Actor{Kind: ActorUser, ID: 3, Role: Member}.MaySee(m, rooms), false)
	here.Approval.ApproverIDs, m.Request.Change.RoomIDs = []int64{3}, []int64{5}
	same(t, "of the room in which it is", manager.MaySee(m, rooms), true)
}
