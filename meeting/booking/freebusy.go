package booking

import (
	"context"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Busytime is an interval in which a room is taken: by a meeting, or by a blackout.
type Busytime struct {
	Slot     clock.Slot       // buffers included
	Meeting  *meeting.Meeting // as the actor may see it; nil: a blackout
	Blackout *policy.Blackout // nil: a meeting
}

// maxFreeBusy is the longest span of FreeBusy.
const maxFreeBusy = 366 * 24 * time.Hour

// FreeBusy returns when a room is taken in a span of at most 366 days, in order. A zero start is
// now, and a zero end is a week after the start.
func (s *Service) FreeBusy(ctx context.Context, by meeting.Actor, roomID int64, span clock.Slot) ([]Busytime, error) {
	room, err := s.VisibleRoom(ctx, by, roomID)
	if err != nil {
		return nil, err
	}
	if span.Start.IsZero() {
		span.Start = s.Now()
	}
	if span.End.IsZero() {
		span.End = span.Start.AddDate(0, 0, 7)
	}
	if !span.Start.Before(span.End) || span.Duration() > maxFreeBusy {
		return nil, fault.Invalid("to", "invalid_span", "must be after from and at most 366 days later")
	}
	ms, err := s.store.Occupants(ctx, roomID, span)
	if err != nil {
		return nil, err
	}
	if ms, err = s.Views(ctx, by, ms, s.Now()); err != nil {
		return nil, err
	}
	var busy []Busytime
	for _, m := range ms {
		for _, o := range m.Occupied {
			if o.RoomID == roomID && o.Slot.Overlaps(span) {
				busy = append(busy, Busytime{Slot: o.Slot, Meeting: m})
			}
		}
	}
	if room.Closures > 0 {
		closed, err := s.closed(ctx, roomID, span)
		if err != nil {
			return nil, err
		}
		busy = append(busy, closed...)
	}
	held, err := s.busyHeld(ctx, by, roomID, span)
	if err != nil {
		return nil, err
	}
	busy = append(busy, held...)
	slices.SortStableFunc(busy, func(a, b Busytime) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return busy, nil
}

// busyHeld returns when a room is held within the span for pending moves and for offers of the
// waiting list; both show as pending.
func (s *Service) busyHeld(ctx context.Context, by meeting.Actor, roomID int64, span clock.Slot) ([]Busytime, error) {
	held, err := s.store.HeldForChanges(ctx, roomID, span, s.Now())
	if err != nil {
		return nil, err
	}
	var want []meeting.ID
	for _, h := range held {
		if h.MeetingID != 0 {
			want = append(want, h.MeetingID)
		}
	}
	slices.Sort(want)
	moving := map[meeting.ID]*meeting.Meeting{}
	if want = slices.Compact(want); len(want) > 0 {
		ms, err := s.store.MeetingsByID(ctx, want)
		if err == nil {
			ms, err = s.Views(ctx, by, ms, s.Now())
		}
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			m.Status = meeting.Pending
			moving[m.ID] = m
		}
	}
	var busy []Busytime
	for _, h := range held {
		m := moving[h.MeetingID]
		if h.MeetingID == 0 { // the people on the waiting list stay hidden
			m = &meeting.Meeting{Title: meeting.Busy, Status: meeting.Pending}
		}
		if m != nil {
			busy = append(busy, Busytime{Slot: h.Slot, Meeting: m})
		}
	}
	return busy, nil
}

// closed returns the blackouts of a room within the span.
func (s *Service) closed(ctx context.Context, roomID int64, span clock.Slot) ([]Busytime, error) {
	var closed []Busytime
	for p := (meeting.Page{Limit: 500}); ; {
		bs, next, err := s.store.ListBlackouts(ctx, meeting.BlackoutQuery{RoomID: roomID, From: span.Start, To: span.End}, p)
		if err != nil {
			return nil, err
		}
		for _, b := range bs {
			closed = append(closed, Busytime{Slot: b.Slot, Blackout: b})
		}
		if next == "" {
			return closed, nil
		}
		p.Cursor = next
	}
}
