package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/places"
	"punctual/meeting/policy"
)

// Of rooms with whatever rules, meetings and blackouts: a room is said to be free for somebody
// exactly if they can book it then, and the reasons are what a booking is refused for.
func TestAvailability_agreesWithBooking(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.search(t, 2*time.Second, func(t *rapid.T, s *search) {
			q := finding.AvailabilityQuery{
				Need:     finding.Need{Persons: rapid.IntRange(0, 5).Draw(t, "persons"), RoomIDs: s.ids()},
				Slot:     s.slot(t),
				OnlyFree: rapid.Bool().Draw(t, "only_free"), IncludeInactive: true,
			}
			found, _, err := s.finding.Availability(f.Context(), s.by, q, meeting.Page{})
			if err != nil {
				t.Fatal(err)
			}
			notified := map[int64]finding.Availability{}
			for _, a := range found {
				notified[a.Room.ID] = a
			}
			for _, room := range s.rooms {
				a, listed := notified[room.ID]
				m, err := s.book(room, q.Slot, q.Persons)
				switch booked := err == nil && m.Status != meeting.Rejected; {
				case q.OnlyFree && listed != booked:
					t.Errorf("%s: listed as free is %v, booking: %v", room.Name, listed, err)
				case q.OnlyFree && !listed:
				case (len(a.Reasons) == 0) != booked:
					t.Errorf("%s: %+v, booking: %v", room.Name, a.Reasons, err)
				case booked && asked(m) != a.NeedsApproval:
					t.Errorf("%s: is %s, needs approval: %v", room.Name, m.Status, a.NeedsApproval)
				default:
					explains(t, a, err)
				}
			}
		})
	})
}

// asked reports whether somebody had to agree, though a time-out at the start may have done so at once.
func asked(m *meeting.Meeting) bool {
	return m.Status == meeting.Pending || m.Approval.Reason == meeting.ReasonTimeout
}

// explains wants the reasons to be those that a booking was refused for.
func explains(t *rapid.T, a finding.Availability, err error) {
	var rules, wanted []string
	var taken, conflicts []clock.Slot
	for _, r := range a.Reasons {
		switch r.Code {
		case meeting.ReasonTaken:
			taken = append(taken, r.Span)
		case finding.ReasonTooSoon:
		default:
			rules = append(rules, r.Code+": "+r.Message)
		}
	}
	if e, ok := errors.AsType[*meeting.PolicyError](err); ok {
		for _, f := range e.Violations {
			wanted = append(wanted, f.Code+": "+f.Message)
		}
	}
	slices.Sort(rules)
	slices.Sort(wanted)
	if !slices.Equal(rules, wanted) {
		t.Errorf("%s: rules %v, a booking breaks %v", a.Room.Name, rules, wanted)
	}
	if e, ok := errors.AsType[*meeting.ConflictError](err); ok {
		for _, o := range e.Conflicts {
			conflicts = append(conflicts, o.Slot)
		}
		if !slices.EqualFunc(taken, conflicts, func(a, b clock.Slot) bool { return a.Start.Equal(b.Start) && a.End.Equal(b.End) }) {
			t.Errorf("%s: taken %v, a booking meets %v", a.Room.Name, taken, conflicts)
		}
	}
}

// Every suggestion can be booked by whom it is made to, and no time on the grid is overlooked
// that is earlier than the first of them.
func TestSuggestions_areBookableAndTheFirst(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.search(t, 2*time.Second, func(t *rapid.T, s *search) {
			n := finding.Need{Persons: rapid.IntRange(0, 5).Draw(t, "persons"), RoomIDs: s.ids()}
			length := rapid.SampledFrom([]time.Duration{15, 30, 40, 60, 120, 600, 1500}).Draw(t, "length") * time.Minute
			span := s.slot(t)
			span.End = span.Start.Add(length + time.Duration(rapid.IntRange(0, 60).Draw(t, "hours"))*time.Hour)
			if !span.End.After(s.at) || span.End.Sub(s.at) < length {
				return
			}
			found, err := s.finding.Suggestions(f.Context(), s.by, n, length, span, rapid.IntRange(1, 20).Draw(t, "limit"))
			if err != nil {
				t.Fatal(err)
			}
			for i, g := range found {
				m, err := s.book(s.room(g.Room.ID), g.Slot, n.Persons)
				if err != nil || m.Status == meeting.Rejected || asked(m) != g.NeedsApproval {
					t.Fatalf("%s at %v: %v %+v", g.Room.Name, g.Slot, err, m)
				}
				if g.Slot.Start.Before(span.Start) || g.Slot.End.After(span.End) || g.Slot.Duration() != length || i > 0 && g.Slot.Start.Before(found[i-1].Slot.Start) {
					t.Errorf("suggestion %d of %v in %v: %v", i, length, span, g.Slot)
				}
			}
			if first, room := s.first(t, n, length, span); room != nil && (len(found) == 0 || found[0].Slot.Start.After(first)) {
				t.Errorf("%s is free at %v; suggested are %+v", room.Name, first, found)
			}
		})
	})
}

// What is suggested where hundreds of rooms fit better and are all taken is what is suggested without
// them.
func TestSuggestions_siftsWhatIsTaken(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		crowd := f.crowd(510)
		f.search(t, 2*time.Second, func(t *rapid.T, s *search) {
			n := finding.Need{Persons: rapid.IntRange(0, 5).Draw(t, "persons"), RoomIDs: s.ids()}
			length := time.Duration(rapid.IntRange(1, 40).Draw(t, "quarters")) * 15 * time.Minute
			span := s.slot(t)
			span.End = span.Start.Add(length + time.Duration(rapid.IntRange(0, 60).Draw(t, "hours"))*time.Hour)
			if !span.End.After(s.at) || span.End.Sub(s.at) < length {
				return
			}
			limit := rapid.IntRange(1, 20).Draw(t, "limit")
			ask := func() []finding.Suggestion {
				found, err := s.finding.Suggestions(f.Context(), s.by, n, length, span, limit)
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			alone := ask()
			before := rapid.SampledFrom([]time.Duration{time.Hour, 72 * time.Hour}).Draw(t, "before")
			f.sql("UPDATE occupancies SET starts_at = ?, ends_at = ? WHERE meeting_id = ?", span.Start.Add(-before), span.End.Add(time.Hour), crowd)
			f.sql("UPDATE rooms SET deleted_at = NULL, active = true, capacity = ? WHERE name = '0'", max(1, n.Persons))
			n.RoomIDs = nil
			if diff := cmp.Diff(alone, ask()); diff != "" {
				t.Errorf("among others (-alone +among them):\n%s", diff)
			}
			f.sql("UPDATE rooms SET capacity = 1, active = false WHERE name = '0'")
		})
	})
}

// crowd makes rooms that are deleted, and a meeting that takes all of them.
func (f *fixture) crowd(n int) meeting.ID {
	f.Helper()
	m := f.book(slot("09:00", "10:00"))
	f.sql(`INSERT INTO rooms (name, active, deleted_at, created_at, updated_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT '0', false, ?, ?, ? FROM n`, n, now, now, now)
	f.sql("INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT m.id, r.id, m.starts_at, m.ends_at FROM meetings AS m, rooms AS r WHERE m.id = ? AND r.name = '0'", m.ID)
	return m.ID
}

// first is when the first of the rooms is free, looking every quarter of an hour.
func (s *search) first(t *rapid.T, n finding.Need, length time.Duration, span clock.Slot) (time.Time, *meeting.Room) {
	q := finding.AvailabilityQuery{Need: n, OnlyFree: true}
	for start := span.Start.Truncate(15 * time.Minute); !start.Add(length).After(span.End); start = start.Add(15 * time.Minute) {
		if start.Before(span.Start) || start.Before(s.at) {
			continue
		}
		q.Slot = clock.Slot{Start: start, End: start.Add(length)}
		free, _, err := s.finding.Availability(s.f.Context(), s.by, q, meeting.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if len(free) > 0 {
			return start, free[0].Room
		}
	}
	return time.Time{}, nil
}

// search is a few rooms, what is booked of them, and somebody who looks for one.
type search struct {
	f       *fixture
	at      time.Time
	service *services
	finding *finding.Service
	rooms   []*meeting.Room
	by      meeting.Actor
}

// search draws such a world again and again, for a while or as often as rapid does.
func (f *fixture) search(t *testing.T, atMost time.Duration, look func(*rapid.T, *search)) {
	dora := f.user("dora@example.org", meeting.Manager)
	f.sql("INSERT INTO groups (id, name, version, created_at, updated_at) VALUES (1, 'crew', 1, ?, ?), (2, 'others', 1, ?, ?)", now, now, now, now)
	f.sql("INSERT INTO group_members (user_id, group_id) VALUES (?, 1), (?, 2)", f.anna.ID, dora.ID)
	over, rounds := time.Now().Add(atMost), 0
	rapid.Check(t, func(t *rapid.T) {
		if time.Now().After(over) && rounds > 0 {
			return // enough was seen; how much depends on the machine
		}
		rounds++
		f.sql("DELETE FROM blackouts")
		f.sql("UPDATE rooms SET deleted_at = updated_at, active = false")
		s := &search{f: f, by: rapid.SampledFrom([]meeting.Actor{f.anna, f.manager, dora, f.admin}).Draw(t, "by")}
		s.at = rapid.SampledFrom([]time.Time{now, time.Date(2027, 3, 26, 13, 7, 0, 123000, time.UTC), time.Date(2027, 10, 29, 22, 50, 30, 0, time.UTC)}).Draw(t, "at")
		settings := meeting.Settings{
			Timezone: "Europe/Berlin", HoldPending: rapid.Bool().Draw(t, "hold"), ApprovalTimeout: 24 * time.Hour,
			OnTimeout: rapid.SampledFrom([]meeting.Status{meeting.Rejected, meeting.Confirmed}).Draw(t, "on_timeout"),
			Limits:    policy.Limits{MaxDuration: 24 * time.Hour, MaxAdvance: 1000 * time.Hour},
		}
		people := deputies{people{f}, []meeting.Absence{{UserID: f.manager.ID, DeputyID: dora.ID}}}
		s.service = newServices(f.store, people, nothing{}, func() meeting.Settings { return settings }, func() time.Time { return s.at }, slog.New(slog.DiscardHandler))
		s.finding = finding.NewService(f.store, s.service, func() meeting.Settings { return settings }, func() time.Time { return s.at })
		for i := range rapid.IntRange(1, 4).Draw(t, "rooms") {
			s.rooms = append(s.rooms, f.room(string(rune('A'+i)), s.draw(t)))
		}
		s.fill(t)
		s.at = s.at.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 7, 26, 50}).Draw(t, "later")) * time.Hour) // no timer runs
		look(t, s)
	})
	t.Logf("%d rounds", rounds)
}

// draw gives a room its rules.
func (s *search) draw(t *rapid.T) func(*meeting.Room) {
	minutes := func(name string, of ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(of).Draw(t, name)) * time.Minute
	}
	return func(r *meeting.Room) {
		r.Capacity = rapid.SampledFrom([]int{0, 2, 4, 9}).Draw(t, "capacity")
		r.Timezone = rapid.SampledFrom([]string{"", "Australia/Lord_Howe", "America/New_York"}).Draw(t, "zone")
		r.Active = rapid.IntRange(0, 9).Draw(t, "active") > 0
		p := &r.Policy
		p.BufferBefore, p.BufferAfter = minutes("before", 0, 0, 10, 15), minutes("after", 0, 0, 5, 60)
		p.MinDuration, p.MaxDuration = minutes("min", 0, 0, 30), minutes("max", 0, 0, 90, 600)
		p.MinNotice, p.MaxAdvance = minutes("notice", 0, 0, 90), minutes("advance", 0, 0, 600, 2880)
		p.Step = minutes("step", 0, 0, 15, 30, 60)
		if rapid.Bool().Draw(t, "hours") {
			p.OpeningHours = rapid.SampledFrom([][]policy.OpeningHours{
				{{Days: []string{"WE", "TH", "FR"}, From: "08:00", To: "18:00"}},
				{{Days: []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, From: "00:00", To: "24:00"}},
				{{Days: []string{"FR", "SA", "SU"}, From: "20:00", To: "04:15"}, {Days: []string{"WE"}, From: "09:00", To: "12:00"}, {Days: []string{"WE"}, From: "11:30", To: "17:00"}},
			}).Draw(t, "opening_hours")
		}
		if rapid.Bool().Draw(t, "check_in") {
			r.CheckIn = meeting.CheckIn{Required: true, Grace: minutes("grace", 0, 5, 40)}
		}
		if rapid.Bool().Draw(t, "limited") {
			p.Quota = &policy.Quota{
				Per:   rapid.SampledFrom([]string{policy.PerDay, policy.PerWeek, policy.PerMonth}).Draw(t, "per"),
				Count: rapid.IntRange(0, 2).Draw(t, "count"), Duration: minutes("quota", 0, 30, 120),
			}
			if p.Quota.Count == 0 && p.Quota.Duration == 0 {
				p.Quota.Count = 1
			}
			for group := range int64(rapid.IntRange(0, 2).Draw(t, "quota_groups")) {
				p.Quota.Groups = append(p.Quota.Groups, policy.GroupQuota{
					GroupID: group + 1, Count: rapid.IntRange(0, 3).Draw(t, "group_count"), Duration: minutes("group_quota", 0, 60, 240),
				})
			}
		}
		if rapid.Bool().Draw(t, "access") {
			groups := func(name string) []int64 { return rapid.SampledFrom([][]int64{nil, {1}, {2}, {1, 2}}).Draw(t, name) }
			r.OwnAccess = &meeting.Access{Book: groups("book"), WithoutApproval: groups("without_approval")}
		}
		if rapid.Bool().Draw(t, "asks") {
			r.Approval.Required = true
			if rapid.Bool().Draw(t, "approver") {
				r.Approval.ApproverIDs = []int64{s.f.manager.ID}
			}
			r.Approval.OnTimeout = rapid.SampledFrom([]meeting.Status{"", meeting.Confirmed, meeting.Rejected}).Draw(t, "room_on_timeout")
		}
	}
}

// fill books some of the rooms, in part by who looks, and closes some for a while.
func (s *search) fill(t *rapid.T) {
	for range rapid.IntRange(0, 12).Draw(t, "meetings") {
		slot := s.slot(t)
		by := rapid.SampledFrom([]meeting.Actor{s.by, s.f.ben}).Draw(t, "organizer")
		_, err := s.service.Book(s.f.Context(), by, fieldsOf(rapid.SampledFrom(s.rooms).Draw(t, "room"), slot, 0))
		_, refused := errors.AsType[*meeting.PolicyError](err)
		_, taken := errors.AsType[*meeting.ConflictError](err)
		if err != nil && !refused && !taken {
			t.Fatal(err)
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "blackouts") {
		slot, room := s.slot(t), rapid.SampledFrom(s.rooms).Draw(t, "closed")
		if !slot.End.After(s.at) {
			continue
		}
		_, _, err := s.service.places.CreateBlackout(s.f.Context(), s.f.admin, places.BlackoutFields{
			RoomID: new(room.ID), Start: new(clock.At(slot.Start)), End: new(clock.At(slot.End)), Reason: new("Paint"),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// slot within three days around now.
func (s *search) slot(t *rapid.T) clock.Slot {
	start := s.at.Truncate(15 * time.Minute).Add(time.Duration(rapid.IntRange(-4, 72*4).Draw(t, "quarter")) * 15 * time.Minute)
	start = start.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 0, 5, 7}).Draw(t, "minute")) * time.Minute)
	if rapid.IntRange(0, 9).Draw(t, "now") == 0 {
		start = s.at
	}
	return clock.Slot{Start: start, End: start.Add(time.Duration(rapid.SampledFrom([]int{1, 2, 4, 4, 8, 40, 97}).Draw(t, "quarters")) * 15 * time.Minute)}
}

func (s *search) ids() []int64 {
	var ids []int64
	for _, r := range s.rooms {
		ids = append(ids, r.ID)
	}
	return ids
}

func (s *search) room(id int64) *meeting.Room {
	return s.rooms[slices.IndexFunc(s.rooms, func(r *meeting.Room) bool { return r.ID == id })]
}

func fieldsOf(r *meeting.Room, slot clock.Slot, persons int) booking.Fields {
	invited := []meeting.Person{}
	for i := range persons {
		invited = append(invited, meeting.Person{Email: fmt.Sprintf("guest%d@example.net", i)})
	}
	return booking.Fields{
		Title: new("Drawn"), RoomIDs: &[]int64{r.ID}, Attendees: &invited,
		Start: new(clock.At(slot.Start)), End: new(clock.At(slot.End)),
	}
}

// book tries it for who looks, and leaves nothing in the way.
func (s *search) book(r *meeting.Room, slot clock.Slot, persons int) (*meeting.Meeting, error) {
	m, err := s.service.Book(s.f.Context(), s.by, fieldsOf(r, slot, persons))
	if err == nil {
		s.f.sql("UPDATE meetings SET status = 'cancelled' WHERE id = ?", m.ID)
		s.f.sql("DELETE FROM occupancies WHERE meeting_id = ?", m.ID)
	}
	return m, err
}

// deputies are people of whom some are away.
type deputies struct {
	people
	away []meeting.Absence
}

func (d deputies) Absences(context.Context, time.Time) ([]meeting.Absence, error) { return d.away, nil }
