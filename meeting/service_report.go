package meeting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/meeting/clock"
)

// Utilisation returns how rooms were used within a span, by q's grouping and in total. A zero end
// is now, and a zero start is thirty days before the end. The span is at most 366 days, and is
// returned as it was understood. Only admins see how many people came to private meetings.
func (s *Service) Utilisation(ctx context.Context, by Actor, q ReportQuery) (groups []*Utilisation, total *Utilisation, _ clock.Slot, err error) {
	at := s.clock()
	q.Private = by.rules()
	if q.Span, err = reportSpan(q.Span, at); err != nil {
		return nil, nil, q.Span, err
	}
	rooms, err := s.store.ReportedRooms(ctx)
	if err != nil {
		return nil, nil, q.Span, fmt.Errorf("utilisation: %w", err)
	}
	if q.SiteID != 0 {
		rooms = slices.DeleteFunc(rooms, func(r ReportedRoom) bool { return r.SiteID != q.SiteID })
	}
	open := &openings{span: q.Span, inForce: s.conf().Timezone, known: map[opening]map[string]time.Duration{}}
	var days []ZoneDay
	if q.Group == ByDay || q.Group == ByHour {
		days = zoneDays(q.Span, zonesOf(rooms), open.inForce)
		if q.Group == ByHour {
			days = zoneHours(days, open.inForce)
		}
		open.days = map[string][]ZoneDay{}
		for _, d := range days {
			open.days[d.Zone] = append(open.days[d.Zone], d)
		}
	}
	used, err := s.store.RoomUse(ctx, q, days, at)
	if err != nil {
		return nil, nil, q.Span, fmt.Errorf("utilisation: %w", err)
	}
	groups, total = report(q.Group, rooms, used, open), &Utilisation{}
	for _, u := range groups {
		total.add(u)
	}
	return groups, total, q.Span, nil
}

// Punctuality returns how late the meetings of a span were started and ended by their jobs; see
// [ReportStore]. The span is as in Utilisation.
func (s *Service) Punctuality(ctx context.Context, span clock.Slot, bounds []time.Duration) (started, ended Lateness, _ clock.Slot, err error) {
	if span, err = reportSpan(span, s.clock()); err != nil {
		return Lateness{}, Lateness{}, span, err
	}
	started, ended, err = s.store.Punctuality(ctx, span, bounds)
	return started, ended, span, err
}

func reportSpan(span clock.Slot, at time.Time) (clock.Slot, error) {
	if span.End.IsZero() {
		span.End = at
	}
	if span.Start.IsZero() {
		span.Start = span.End.AddDate(0, 0, -30)
	}
	if !span.Start.Before(span.End) {
		return span, invalid("query.to", "invalid_span", "must be after from")
	}
	if span.End.Sub(span.Start) > maxReportSpan {
		return span, invalid("query.to", "invalid_span", "must be at most 366 days after from")
	}
	return span, nil
}

// zonesOf rooms, each once; that of a room for which none is named is empty.
func zonesOf(rooms []ReportedRoom) []string {
	var zones []string
	for i := range rooms {
		if !slices.Contains(zones, rooms[i].Zone) {
			zones = append(zones, rooms[i].Zone)
		}
	}
	return zones
}
