package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/delayjob/pause"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// Service computes reports on meetings.
type Service struct {
	store    Store
	meetings Meetings
	timezone func() string
	now      func() time.Time

	addedUp time.Time // when all days were last added up; of AddUpDays
}

// addUpAll is how often all missing days are added up. Changed ones are each time.
const addUpAll = time.Minute

// NewService returns a service. timezone returns the zone of rooms for which none is named.
func NewService(store Store, meetings Meetings, timezone func() string, now func() time.Time) *Service {
	return &Service{store: store, meetings: meetings, timezone: timezone, now: now}
}

// Utilization returns how rooms were used within a span, by q's grouping and in total. A zero end
// is now, and a zero start is thirty days before the end. The span is at most 366 days and is
// returned with these defaults. Only admins see attendance of private meetings. A report by room leaves out
// rooms that the actor, whose groups are known, may not see; other reports are sums that include them.
func (s *Service) Utilization(ctx context.Context, by meeting.Actor, q Query) (groups []*Utilization, total *Utilization, _ clock.Slot, err error) {
	at := s.now().UTC().Truncate(time.Microsecond)
	q.Private = by.MayManageRooms()
	if q.Span, err = spanOf(q.Span, at); err != nil {
		return nil, nil, q.Span, err
	}
	q.Zone = s.timezone()
	rooms, err := s.store.ReportedRooms(ctx, q.SiteID, q.Group == ByRoom)
	if err != nil {
		return nil, nil, q.Span, fmt.Errorf("utilization: %w", err)
	}
	var hidden []int64
	if q.Group == ByRoom {
		if hidden, err = s.store.HiddenRooms(ctx, by); err != nil {
			return nil, nil, q.Span, fmt.Errorf("utilization: %w", err)
		}
	}
	open := &openings{span: q.Span, inForce: q.Zone, known: map[opening]map[string]time.Duration{}}
	if q.Group == ByDay || q.Group == ByHour {
		days := zoneDays(q.Span, zonesOf(rooms), open.inForce)
		if q.Group == ByHour {
			days = zoneHours(days, open.inForce)
		}
		open.days = map[string][]ZoneDay{}
		for _, d := range days {
			open.days[d.Zone] = append(open.days[d.Zone], d)
		}
	}
	used, err := s.store.RoomUse(ctx, q, at)
	if err != nil {
		return nil, nil, q.Span, fmt.Errorf("utilization: %w", err)
	}
	if len(hidden) > 0 {
		rooms = slices.DeleteFunc(rooms, func(r Room) bool { return slices.Contains(hidden, r.ID) })
		used = slices.DeleteFunc(used, func(u RoomUse) bool { return slices.Contains(hidden, u.ID) })
	}
	groups, total = utilization(q.Group, rooms, used, open), &Utilization{}
	for _, u := range groups {
		total.add(u)
	}
	return groups, total, q.Span, nil
}

// AddUpDays adds up days, so that reports read sums instead of meetings, until none is left. It looks
// for days that nothing has changed, such as new ones, once a minute. Only one goroutine may call it.
func (s *Service) AddUpDays(ctx context.Context) error {
	began := s.now()
	all := began.Sub(s.addedUp) >= addUpAll
	return pause.Parts(ctx, func() (bool, error) {
		more, err := s.store.AddUpDays(ctx, s.timezone(), s.now().UTC().Truncate(time.Microsecond), all)
		if err != nil {
			s.addedUp = time.Time{}
			return false, fmt.Errorf("add up days for reports: %w", err)
		}
		if all {
			s.addedUp = began
		}
		all = true // what was removed is missing
		return more, nil
	})
}

// Punctuality returns how late the meetings of a span were started and ended by their jobs; see
// [Store]. The span is as in [Service.Utilization].
func (s *Service) Punctuality(ctx context.Context, span clock.Slot, bounds []time.Duration) (started, ended Lateness, _ clock.Slot, err error) {
	if span, err = spanOf(span, s.now().UTC().Truncate(time.Microsecond)); err != nil {
		return Lateness{}, Lateness{}, span, err
	}
	started, ended, err = s.store.Punctuality(ctx, span, bounds)
	return started, ended, span, err
}

func spanOf(span clock.Slot, at time.Time) (clock.Slot, error) {
	if span.End.IsZero() {
		span.End = at
	}
	if span.Start.IsZero() {
		span.Start = span.End.AddDate(0, 0, -30)
	}
	if !span.Start.Before(span.End) {
		return span, fault.Invalid("to", "invalid_span", "must be after from")
	}
	if span.End.Sub(span.Start) > maxSpan {
		return span, fault.Invalid("to", "invalid_span", "must be at most 366 days after from")
	}
	return span, nil
}

// zonesOf returns the zones of rooms, each once; rooms without a zone have an empty one.
func zonesOf(rooms []Room) []string {
	var zones []string
	for i := range rooms {
		if !slices.Contains(zones, rooms[i].Zone) {
			zones = append(zones, rooms[i].Zone)
		}
	}
	return zones
}
