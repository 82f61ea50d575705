package meeting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Forecast is what other settings would change for what is booked, by the start of the meetings.
type Forecast struct {
	Looked    int // meetings that were looked at: those that are not over
	Reminders []ReminderMove
	Requests  []RequestOutlook
	Refusals  []Refusal
	Totals    ForecastTotals // with those that are left out above
}

// ForecastTotals is how many there are of each kind.
type ForecastTotals struct{ Reminders, Requests, Refusals int }

// keep counts one more of a kind, and adds it as long as there are fewer than most.
func keep[T any](kind *[]T, total *int, most int, one T) {
	if *total++; len(*kind) < most {
		*kind = append(*kind, one)
	}
}

// ReminderMove is a reminder that would go out at another time, by other channels, or no more.
// Meetings that asked for reminders of their own keep them.
type ReminderMove struct {
	Meeting  *Meeting
	Before   Anchor
	From, To time.Time // when it would go out; a zero From: a new one, a zero To: it is removed
	Channels []Channel // by which it would go out; of one that goes out no more, by which it would have
	TooLate  bool      // To has passed: it would not be sent
}

// RequestOutlook is a request for which the settings have another time-out. A request
// keeps the deadline and the outcome that its approvers were notified of.
type RequestOutlook struct {
	Meeting  *Meeting
	Deadline time.Time // as it was made, which stays
	Anew     time.Time // had it been made under the other settings
	Outcome  Status    // of a time-out, as it was made, which stays
	AnewTo   Status    // had it been made under the other settings
}

// Refusal is a meeting that would be refused now, and was not by the settings in force. It stays
// booked; who moves it is judged by the new rules.
type Refusal struct {
	Meeting *Meeting
	Faults  []Fault
}

// Forecast returns what other settings would change for booked meetings that are not over. It
// writes nothing. It returns at most most of each kind, the first ones, and counts the others. For admins.
func (s *Service) Forecast(ctx context.Context, by Actor, next Settings, most int) (*Forecast, error) {
	if !by.rules() {
		return nil, ErrForbidden
	}
	at := s.clock()
	f := &forecaster{old: s.conf(), next: next, most: most, at: at, by: by, dates: map[int64]int{}}
	if f.next.Timezone == "" {
		f.next.Timezone = "UTC"
	}
	if err := s.forecastRooms(ctx, f); err != nil {
		return nil, err
	}
	q := MeetingQuery{From: at, Statuses: []Status{Pending, Confirmed, InProgress}, Now: at}
	for p := (Page{Limit: 500}); ; {
		ms, cursor, err := s.store.ListMeetings(ctx, q, p)
		if err != nil {
			return nil, fmt.Errorf("forecast: %w", err)
		}
		for _, m := range ms {
			f.look(m)
		}
		if cursor == "" {
			return &f.Forecast, nil
		}
		p.Cursor = cursor
	}
}

// forecastRooms reads all rooms, as they are and as they would be.
func (s *Service) forecastRooms(ctx context.Context, f *forecaster) error {
	f.rooms = map[int64][2]*Room{}
	for p := (Page{Limit: 500}); ; {
		rooms, cursor, err := s.store.ListRooms(ctx, RoomQuery{IncludeInactive: true}, p)
		if err != nil {
			return fmt.Errorf("forecast: %w", err)
		}
		for _, r := range rooms {
			now, then := *r, *r
			if r.Zone == "" {
				now.Zone, then.Zone = f.old.Timezone, f.next.Timezone
			}
			f.rooms[r.ID] = [2]*Room{&now, &then}
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
	old, next Settings
	most      int // of each kind
	at        time.Time
	by        Actor
	rooms     map[int64][2]*Room // as they are, and as they would be
	dates     map[int64]int      // coming ones of each series
}

func (f *forecaster) look(m *Meeting) {
	f.Looked++
	shown := m.At(f.at).View(f.by, nil)
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

// reminders pairs those that go with those that come, the latest first, for each edge.
func (f *forecaster) reminders(m, shown *Meeting) {
	for _, anchor := range []Anchor{BeforeStart, BeforeEnd} {
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
			if !move.From.IsZero() && !move.From.After(f.at) { // it has gone out
				if move.From = (time.Time{}); move.To.IsZero() || move.TooLate {
					continue
				}
			}
			keep(&f.Reminders, &f.Totals.Reminders, f.most, move)
		}
	}
}

// changed are the reminders of an edge that other ones have not, or by other channels; the
// earliest to go out comes first.
func changed(rs, others []Reminder, anchor Anchor) []Reminder {
	var out []Reminder
	for _, r := range rs {
		same := func(o Reminder) bool {
			return o.Before == r.Before && o.Offset == r.Offset && slices.Equal(o.Channels, r.Channels)
		}
		if r.Before == anchor && !slices.ContainsFunc(others, same) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Reminder) int { return cmp.Compare(b.Offset, a.Offset) })
	return out
}

func (f *forecaster) request(m, shown *Meeting) {
	var rooms []*Room
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
	deadlineBy := func(c Settings) time.Time { return deadline(rooms, start, m.Request.AskedAt, c.ApprovalTimeout) }
	o := RequestOutlook{
		Meeting: shown, Deadline: m.Request.Deadline, Anew: deadlineBy(f.next),
		Outcome: m.Approval.OnTimeout, AnewTo: onTimeout(rooms, f.next.OnTimeout),
	}
	if o.Outcome == "" {
		o.Outcome = Rejected
	}
	if !o.Anew.Equal(deadlineBy(f.old)) || o.AnewTo != onTimeout(rooms, f.old.OnTimeout) {
		keep(&f.Requests, &f.Totals.Requests, f.most, o)
	}
}

func (f *forecaster) rules(m, shown *Meeting) {
	var faults []Fault
	for _, id := range m.RoomIDs {
		r, ok := f.rooms[id]
		if !ok {
			continue
		}
		w := Wish{Slot: m.Slot, Persons: len(m.Attendees), Now: f.at}
		before := r[0].Check(w, f.old.Limits)
		for _, fault := range r[1].Check(w, f.next.Limits) {
			known := func(o Fault) bool { return o.Code == fault.Code && o.Location == fault.Location }
			if !slices.ContainsFunc(before, known) {
				faults = append(faults, fault)
			}
		}
	}
	if m.SeriesID != 0 {
		f.dates[m.SeriesID]++
		if n, most := f.dates[m.SeriesID], f.next.Limits.MaxOccurrences; most > 0 && n > most && (f.old.Limits.MaxOccurrences == 0 || n <= f.old.Limits.MaxOccurrences) {
			faults = append(faults, Fault{
				Location: "body.rrule", Code: "too_many", Message: fmt.Sprintf("is coming date %d of the series; a series has at most %d", n, most),
				Figures: Figures{Limit: most, Actual: n},
			})
		}
	}
	if len(faults) > 0 {
		keep(&f.Refusals, &f.Totals.Refusals, f.most, Refusal{Meeting: shown, Faults: faults})
	}
}
