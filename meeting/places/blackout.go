package places

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// BlackoutFields are the requested fields of a blackout; nil: not requested.
type BlackoutFields struct {
	RoomID, SiteID *int64 // exactly one of them, for a new blackout
	Start, End     *clock.Time
	Timezone       *string // IANA, of local times; empty: the room's or the site's
	Reason         *string

	Faults []meeting.Fault // found while decoding
}

const maxReason = 200 // of a blackout, in characters

// Affected holds the meetings that conflict with a blackout: those that take place during it, and
// those that will if their move is approved. The blackout does not change them.
type Affected struct {
	Meetings []*meeting.Meeting // by start, at most 500
	More     bool               // more meetings follow
}

// CreateBlackout closes a room or a site for a time and returns the meetings that conflict with it.
func (s *Service) CreateBlackout(ctx context.Context, by meeting.Actor, f BlackoutFields) (b *policy.Blackout, affected Affected, err error) {
	if !by.MayManageRooms() {
		return nil, Affected{}, meeting.ErrForbidden
	}
	b = &policy.Blackout{CreatedAt: s.booking.Now()}
	var found fault.List
	switch {
	case f.RoomID == nil && f.SiteID == nil:
		found.Add("room_id", "required", "is required unless site_id is set")
	case f.RoomID != nil && f.SiteID != nil:
		found.Add("site_id", "contradiction", "must not be set together with room_id")
	default:
		set(&b.RoomID, f.RoomID)
		set(&b.SiteID, f.SiteID)
	}
	zone, err := s.blackoutZone(ctx, b, &found)
	if err != nil {
		return nil, Affected{}, err
	}
	if err := f.apply(b, zone, found); err != nil {
		return nil, Affected{}, err
	}
	b.UpdatedAt = b.CreatedAt
	if err := s.store.CreateBlackout(ctx, b); err != nil {
		return nil, Affected{}, err
	}
	return b, s.afterwards(s.affected(ctx, by, b)), nil
}

// Blackout finds a blackout.
func (s *Service) Blackout(ctx context.Context, by meeting.Actor, id int64) (*policy.Blackout, error) {
	b, err := s.store.Blackout(ctx, id)
	if err == nil && b.RoomID != 0 {
		_, err = s.booking.VisibleRoom(ctx, by, b.RoomID)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Blackouts lists blackouts by start, without those of rooms that the actor may not see.
func (s *Service) Blackouts(ctx context.Context, by meeting.Actor, q meeting.BlackoutQuery, p meeting.Page) (bs []*policy.Blackout, next string, err error) {
	if by, err = s.booking.WithDeputies(ctx, by); err != nil {
		return nil, "", err
	}
	if q.RoomID != 0 { // blackouts of its site would show that it exists
		rooms, err := s.store.Rooms(ctx, []int64{q.RoomID})
		if err != nil || len(rooms) != len(by.VisibleRooms(rooms)) {
			return nil, "", err
		}
	}
	q.Viewer = &by
	return s.store.ListBlackouts(ctx, q, p)
}

// UpdateBlackout changes the time or the reason of a blackout and returns the meetings that now
// conflict with it. ifMatch, unless nil, is the version that the change is based on.
func (s *Service) UpdateBlackout(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f BlackoutFields) (b *policy.Blackout, affected Affected, err error) {
	if !by.MayManageRooms() {
		return nil, Affected{}, meeting.ErrForbidden
	}
	seen, err := s.store.Blackout(ctx, id)
	if err != nil {
		return nil, Affected{}, err
	}
	var found fault.List
	zone, err := s.blackoutZone(ctx, seen, &found)
	if err != nil {
		return nil, Affected{}, err
	}
	var same *policy.Blackout
	b, err = s.store.UpdateBlackout(ctx, id, func(b *policy.Blackout) error {
		if err := fault.CheckVersion(ifMatch, b.Version); err != nil {
			return err
		}
		before := *b
		if err := f.apply(b, zone, nil); err != nil {
			return err
		}
		if *b != before {
			if err := ofCalendar(b); err != nil {
				return err
			}
		}
		if *b == before {
			same = b
			return booking.ErrUnchanged
		}
		b.UpdatedAt = s.booking.Now()
		return nil
	})
	if errors.Is(err, booking.ErrUnchanged) {
		b, err = same, nil
	}
	if err != nil {
		return nil, Affected{}, err
	}
	return b, s.afterwards(s.affected(ctx, by, b)), nil
}

// DeleteBlackout deletes a blackout. ifMatch, unless nil, is the expected version.
func (s *Service) DeleteBlackout(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteBlackout(ctx, id, s.booking.Now(), func(b *policy.Blackout) error {
		return cmp.Or(fault.CheckVersion(ifMatch, b.Version), ofCalendar(b))
	})
}

// blackoutZone returns the zone for local times of the blackout.
func (s *Service) blackoutZone(ctx context.Context, b *policy.Blackout, found *fault.List) (string, error) {
	zone := s.booking.Settings().Timezone
	switch {
	case b.RoomID != 0:
		rooms, err := s.booking.RoomsByID(ctx, []int64{b.RoomID})
		if err != nil {
			return "", err
		}
		if len(rooms) == 0 {
			found.Add("room_id", "unknown_room", "room %d does not exist", b.RoomID)
			break
		}
		zone = rooms[0].Zone
	case b.SiteID != 0:
		site, err := s.store.Site(ctx, b.SiteID)
		if errors.Is(err, meeting.ErrNotFound) {
			found.Add("site_id", "unknown_site", "site %d does not exist", b.SiteID)
			break
		}
		if err != nil {
			return "", err
		}
		if site.Timezone != "" {
			zone = site.Timezone
		}
	}
	return zone, nil
}

// apply sets the fields on the blackout and reports all their faults, including those already
// found.
func (f *BlackoutFields) apply(b *policy.Blackout, zone string, found fault.List) error {
	isNew := b.ID == 0
	loc, err := booking.ZoneOf(f.Timezone, zone)
	if err != nil {
		found.Add("timezone", "unknown_timezone", "%v", err)
		loc = time.UTC
	}
	start, end := clock.Moment{At: b.Slot.Start}, clock.Moment{At: b.Slot.End}
	okStart := booking.ResolveTime(f.Start, &start, clock.Time.In, "start", isNew, loc, &found)
	okEnd := booking.ResolveTime(f.End, &end, clock.Time.EndIn, "end", isNew, loc, &found)
	b.Slot = clock.Slot{Start: start.At, End: end.At}
	if okStart && okEnd && !b.Slot.Start.Before(b.Slot.End) {
		found.Add("end", "not_after_start", "must be after start")
	}
	if f.Reason != nil {
		b.Reason = strings.TrimSpace(*f.Reason)
		found.Line("reason", b.Reason, maxReason)
	}
	return fault.Merge(f.Faults, found).Err()
}

// unfinished are the statuses of meetings that a blackout is in the way of.
var unfinished = []meeting.Status{meeting.Pending, meeting.Confirmed, meeting.InProgress}

// afterwards returns what was found after a change was saved. The change counts, so a failure only leaves the
// list incomplete.
func (s *Service) afterwards(a Affected, err error) Affected {
	if err != nil {
		s.log.Warn("affected meetings not listed completely", "error", err)
		a.More = true
	}
	return a
}

// maxAffected limits how many conflicting meetings are returned for a blackout.
const maxAffected = 500

// affected returns the meetings that conflict with a blackout, as the actor may see them.
func (s *Service) affected(ctx context.Context, by meeting.Actor, b *policy.Blackout) (Affected, error) {
	q := meeting.MeetingQuery{
		From: b.Slot.Start, To: b.Slot.End, RoomID: b.RoomID, SiteID: b.SiteID,
		Statuses: unfinished,
	}
	there, next, err := s.booking.Meetings(ctx, by, q, meeting.Page{Limit: maxAffected})
	if err != nil {
		return Affected{}, err
	}
	coming, err := s.comingInto(ctx, by, b)
	if err != nil {
		return Affected{}, err
	}
	for _, m := range coming {
		if !slices.ContainsFunc(there, func(o *meeting.Meeting) bool { return o.ID == m.ID }) {
			there = append(there, m)
		}
	}
	slices.SortStableFunc(there, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return Affected{Meetings: there[:min(len(there), maxAffected)], More: next != "" || len(there) > maxAffected}, nil
}

// comingInto returns the meetings with a pending move into the blackout.
func (s *Service) comingInto(ctx context.Context, by meeting.Actor, b *policy.Blackout) ([]*meeting.Meeting, error) {
	moves, err := s.store.WaitingMoves(ctx)
	if err != nil {
		return nil, err
	}
	at := s.booking.Now()
	moves = slices.DeleteFunc(moves, func(m *meeting.Meeting) bool { return !m.Waits(at) || !m.Request.Change.Slot.Overlaps(b.Slot) })
	var want []int64
	for _, m := range moves {
		want = append(want, m.Request.Change.RoomIDs...)
	}
	if len(want) == 0 {
		return nil, nil
	}
	slices.Sort(want)
	rooms, err := s.booking.RoomsByID(ctx, slices.Compact(want))
	if err != nil {
		return nil, err
	}
	moves = slices.DeleteFunc(moves, func(m *meeting.Meeting) bool {
		return !slices.ContainsFunc(rooms, func(r *meeting.Room) bool {
			return b.Covers(&r.Room) && slices.Contains(m.Request.Change.RoomIDs, r.ID)
		})
	})
	return s.booking.Views(ctx, by, moves, at)
}

// ofCalendar refuses to change a blackout that follows a calendar.
func ofCalendar(b *policy.Blackout) error {
	if b.CalendarID == 0 {
		return nil
	}
	return fault.Invalid("id", "holiday", "must not be of a holiday calendar: change calendar %d instead", b.CalendarID)
}
