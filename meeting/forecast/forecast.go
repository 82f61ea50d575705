// Package forecast shows admins how changed settings would affect booked meetings.
package forecast

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/policy"
)

// Forecast holds how changed settings would affect booked meetings, by the start of the meetings.
type Forecast struct {
	Looked    int // current and future meetings that were compared
	Reminders []ReminderMove
	Requests  []RequestOutlook
	Refusals  []Refusal
	Totals    Totals // including those left out above
}

// Totals is how many there are of each kind.
type Totals struct{ Reminders, Requests, Refusals int }

// addUpTo counts item and adds it to list as long as that has fewer than limit.
func addUpTo[T any](list *[]T, total *int, limit int, item T) {
	if *total++; len(*list) < limit {
		*list = append(*list, item)
	}
}

// ReminderMove is a reminder that would be sent at another time, on other channels, or not at all.
// Meetings with reminders of their own keep them.
type ReminderMove struct {
	Meeting  *meeting.Meeting
	Before   meeting.Anchor
	From, To time.Time         // when it would be sent; zero From: a new one; zero To: removed
	Channels []meeting.Channel // new channels; of a removed reminder, its old ones
	TooLate  bool              // To has passed: it would not be sent
}

// RequestOutlook is a request that would have another time-out under the new settings. It keeps the
// deadline and the outcome that its approvers were notified of.
type RequestOutlook struct {
	Meeting  *meeting.Meeting
	Deadline time.Time      // kept from when it was made
	Anew     time.Time      // if it were made under the new settings
	Outcome  meeting.Status // of a time-out, kept from when it was made
	AnewTo   meeting.Status // if it were made under the new settings
}

// Refusal is a meeting that the current settings allow and the new ones would reject. It stays
// booked, but a change of its time must obey the new rules.
type Refusal struct {
	Meeting *meeting.Meeting
	Faults  []meeting.Fault
}

// Store is the persistence that a forecast needs.
type Store interface {
	ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error)
	ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error)
}

// Service compares new settings with those in force.
type Service struct {
	store    Store
	settings func() meeting.Settings
	now      func() time.Time
}

// NewService returns a service; settings returns those in force.
func NewService(store Store, settings func() meeting.Settings, now func() time.Time) *Service {
	return &Service{store: store, settings: settings, now: now}
}

// Forecast returns how new settings would affect current and future meetings. It writes nothing. It
// returns the first of each kind, at most limit, and counts the others. Only admins may call it.
func (s *Service) Forecast(ctx context.Context, by meeting.Actor, next meeting.Settings, limit int) (*Forecast, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	at := s.now().UTC()
	f := &forecaster{old: s.settings(), next: next, limit: limit, at: at, by: by, dates: map[int64]int{}}
	if err := s.readRooms(ctx, f); err != nil {
		return nil, err
	}
	q := meeting.MeetingQuery{From: at, Statuses: []meeting.Status{meeting.Pending, meeting.Confirmed, meeting.InProgress}, Now: at}
	for p := (meeting.Page{Limit: 500}); ; {
		ms, cursor, err := s.store.ListMeetings(ctx, q, p)
		if err != nil {
			return nil, fmt.Errorf("forecast: %w", err)
		}
		for _, m := range ms {
			f.compare(m)
		}
		if cursor == "" {
			return &f.Forecast, nil
		}
		p.Cursor = cursor
	}
}

// readRooms reads all rooms, as they are and as they would be.
func (s *Service) readRooms(ctx context.Context, f *forecaster) error {
	f.rooms = map[int64][2]*meeting.Room{}
	for p := (meeting.Page{Limit: 500}); ; {
		rooms, cursor, err := s.store.ListRooms(ctx, meeting.RoomQuery{IncludeInactive: true}, p)
		if err != nil {
			return fmt.Errorf("forecast: %w", err)
		}
		for _, r := range rooms {
			now, then := *r, *r
			if r.Zone == "" {
				now.Zone, then.Zone = cmp.Or(f.old.Timezone, "UTC"), cmp.Or(f.next.Timezone, "UTC")
			}
			f.rooms[r.ID] = [2]*meeting.Room{&now, &then}
		}
		if cursor == "" {
			return nil
		}
		p.Cursor = cursor
	}
}

// forecaster compares two settings, meeting by meeting.
type forecaster struct {
	Forecast
	old, next meeting.Settings
	limit     int // of each kind
	at        time.Time
	by        meeting.Actor
	rooms     map[int64][2]*meeting.Room // as they are, and as they would be
	dates     map[int64]int              // future dates of each series
}

func (f *forecaster) compare(m *meeting.Meeting) {
	f.Looked++
	shown := m.ViewAt(f.at, f.by, nil)
	if m.DefaultReminders {
		f.reminders(m, shown)
	}
	if m.Waits(f.at) {
		f.request(m, shown)
	}
	if m.Slot.Start.After(f.at) {
		f.rules(m, shown)
	}
}

// reminders pairs those that are removed with those that are added, the earliest first, for each
// anchor.
func (f *forecaster) reminders(m, shown *meeting.Meeting) {
	for _, anchor := range []meeting.Anchor{meeting.BeforeStart, meeting.BeforeEnd} {
		gone, come := changed(m.Reminders, f.next.Reminders, anchor), changed(f.next.Reminders, m.Reminders, anchor)
		for i := range max(len(gone), len(come)) {
			move := ReminderMove{Meeting: shown, Before: anchor}
			if i < len(gone) {
				move.From, move.Channels = gone[i].Due(m), gone[i].Channels
			}
			if i < len(come) {
				move.To, move.Channels = come[i].Due(m), come[i].Channels
				move.TooLate = !move.To.After(f.at)
			}
			if !move.From.IsZero() && !move.From.After(f.at) { // it was sent already
				if move.From = (time.Time{}); move.To.IsZero() || move.TooLate {
					continue
				}
			}
			addUpTo(&f.Reminders, &f.Totals.Reminders, f.limit, move)
		}
	}
}

// changed returns the reminders of an anchor that are not among others, or have other channels
// there. The first to be sent comes first.
func changed(rs, others []meeting.Reminder, anchor meeting.Anchor) []meeting.Reminder {
	var out []meeting.Reminder
	for _, r := range rs {
		same := func(o meeting.Reminder) bool {
			return o.Before == r.Before && o.Offset == r.Offset && slices.Equal(o.Channels, r.Channels)
		}
		if r.Before == anchor && !slices.ContainsFunc(others, same) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b meeting.Reminder) int { return cmp.Compare(b.Offset, a.Offset) })
	return out
}

func (f *forecaster) request(m, shown *meeting.Meeting) {
	var rooms []*meeting.Room
	for _, id := range m.RequestedRooms() {
		if r, ok := f.rooms[id]; ok {
			rooms = append(rooms, r[1])
		}
	}
	start := m.Slot.Start
	if c := m.Request.Change; c != nil && c.Slot.Start.Before(start) {
		start = c.Slot.Start
	}
	// Rooms may have changed since it was made; only the effect of the settings is returned.
	plan := func(c meeting.Settings) (deadline time.Time, outcome meeting.Status) {
		p := meeting.PlanApproval(meeting.ApprovalTerms{Timeout: c.ApprovalTimeout, OnTimeout: c.OnTimeout}, meeting.Actor{}, rooms...)
		return p.Deadline(start, m.Request.RequestedAt), p.Outcome()
	}
	deadline, outcome := plan(f.old)
	o := RequestOutlook{Meeting: shown, Deadline: m.Request.Deadline, Outcome: m.Approval.OnTimeout}
	o.Anew, o.AnewTo = plan(f.next)
	if o.Outcome == "" {
		o.Outcome = meeting.Rejected
	}
	if !o.Anew.Equal(deadline) || o.AnewTo != outcome {
		addUpTo(&f.Requests, &f.Totals.Requests, f.limit, o)
	}
}

func (f *forecaster) rules(m, shown *meeting.Meeting) {
	var faults []meeting.Fault
	for _, id := range m.RoomIDs {
		r, ok := f.rooms[id]
		if !ok {
			continue
		}
		w := policy.Proposal{Slot: m.Slot, Persons: len(m.Attendees), Now: f.at}
		before := r[0].Check(w, f.old.Limits)
		for _, fault := range r[1].Check(w, f.next.Limits) {
			known := func(o meeting.Fault) bool { return o.Code == fault.Code && o.Location == fault.Location }
			if !slices.ContainsFunc(before, known) {
				faults = append(faults, fault)
			}
		}
	}
	if m.SeriesID != 0 {
		f.dates[m.SeriesID]++
		if n, most := f.dates[m.SeriesID], f.next.Limits.MaxOccurrences; most > 0 && n > most && (f.old.Limits.MaxOccurrences == 0 || n <= f.old.Limits.MaxOccurrences) {
			faults = append(faults, meeting.Fault{
				Location: "rrule", Code: "too_many", Message: fmt.Sprintf("is coming date %d of the series; a series has at most %d", n, most),
				Figures: meeting.Figures{Limit: most, Actual: n},
			})
		}
	}
	if len(faults) > 0 {
		addUpTo(&f.Refusals, &f.Totals.Refusals, f.limit, Refusal{Meeting: shown, Faults: faults})
	}
}
