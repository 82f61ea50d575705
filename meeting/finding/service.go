package finding

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// maxSpan is the longest slot of an availability, and the longest span of suggestions.
const maxSpan = 31 * 24 * time.Hour

// In a long span each room can have many meetings, so pages of rooms are smaller.
const (
	longSpan     = 24 * time.Hour
	longDays     = 7 // of [Service.RoomDays], which returns figures instead of meetings
	longSpanPage = 200
)

// How many rooms Suggestions searches at once. Those that fit best are usually enough.
const (
	firstBatch = 50
	nextBatch  = 500
)

// Meetings is the part of [booking.Service] that finding needs.
type Meetings interface {
	WithDeputies(ctx context.Context, by meeting.Actor) (meeting.Actor, error)
	VisibleRoom(ctx context.Context, by meeting.Actor, id int64) (*meeting.Room, error)
	PrepareRooms(ctx context.Context, rooms []*meeting.Room, span clock.Slot) error
	Views(ctx context.Context, by meeting.Actor, ms []*meeting.Meeting, at time.Time) ([]*meeting.Meeting, error)
}

// Service finds rooms and shows their meetings.
type Service struct {
	store    Store
	meetings Meetings
	settings func() meeting.Settings
	now      func() time.Time
}

// NewService returns a service.
func NewService(store Store, meetings Meetings, settings func() meeting.Settings, now func() time.Time) *Service {
	return &Service{store: store, meetings: meetings, settings: settings, now: now}
}

// clock returns the time as it is stored: UTC, to the microsecond.
func (s *Service) clock() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// Availability reports for each room whether the actor may book it for the whole slot, and if not,
// why. Rooms are paged by name. A page may hold fewer than its limit: at most 200 rooms if the slot is
// longer than a day, and fewer if only free rooms are requested.
func (s *Service) Availability(ctx context.Context, by meeting.Actor, q AvailabilityQuery, p meeting.Page) (found []Availability, next string, err error) {
	if err := q.check(); err != nil {
		return nil, "", err
	}
	a, err := s.searcher(ctx, by, q.Need)
	if err != nil {
		return nil, "", err
	}
	if q.Slot.Duration() > longSpan {
		p.Limit = min(p.Limit, longSpanPage)
	}
	of := q.rooms()
	of.Viewer = &a.Actor
	rooms, next, err := s.store.ListRooms(ctx, of, p)
	if err == nil {
		err = s.meetings.PrepareRooms(ctx, rooms, q.Slot)
	}
	if err != nil {
		return nil, "", err
	}
	taken, err := s.taken(ctx, rooms, q.Slot, a.now)
	if err != nil {
		return nil, "", err
	}
	held, err := s.held(ctx, a, rooms, q.Slot)
	if err != nil {
		return nil, "", err
	}
	for _, r := range rooms {
		reasons := a.reasons(r, q.Slot, taken[r.ID], held[r.ID])
		if len(reasons) == 0 || !q.OnlyFree {
			found = append(found, Availability{Room: r, NeedsApproval: a.needsApproval(r), MayOverride: a.MayOverride([]*meeting.Room{r}), Reasons: reasons}.short())
		}
	}
	return found, next, nil
}

func (s *Service) searcher(ctx context.Context, by meeting.Actor, n Need) (*searcher, error) {
	by, err := s.meetings.WithDeputies(ctx, by)
	return &searcher{Actor: by, need: n, now: s.clock(), settings: s.settings()}, err
}

// Suggestions returns at most limit suggestions of times within span and rooms. The actor may book
// all of them at the moment. A zero start is now, and a zero end is a week after the start. The
// span is at most 31 days.
//
// Rooms are searched in the order in which they fit, until there are enough suggestions. If the
// best rooms are not enough, a sieve excludes most of the others.
func (s *Service) Suggestions(ctx context.Context, by meeting.Actor, n Need, length time.Duration, span clock.Slot, limit int) ([]Suggestion, error) {
	a, err := s.searcher(ctx, by, n)
	if err != nil {
		return nil, err
	}
	if span, err = n.searched(length, span, a.now); err != nil {
		return nil, err
	}
	var all []Suggestion
	var last *meeting.Room
	for batch := firstBatch; ; batch = nextBatch {
		rooms, err := s.store.Candidates(ctx, n, last, batch)
		if err != nil {
			return nil, err
		}
		first, more := last == nil, len(rooms) == batch
		if more {
			last = rooms[batch-1]
		}
		some, err := s.suggest(ctx, a, rooms, length, span, limit)
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); more && len(all) < limit && first {
			if n.RoomIDs, err = s.sift(ctx, a, length, span); err != nil {
				return nil, err
			}
			more = len(n.RoomIDs) > 0
		}
		if !more || len(all) >= limit {
			return choose(all, n.Persons, limit), nil
		}
	}
}

// sift leaves out rooms that cannot be booked for a length within span, as far as one query for all
// of them can show. It checks what the rooms have in common, then what is booked.
func (s *Service) sift(ctx context.Context, a *searcher, length time.Duration, span clock.Slot) ([]int64, error) {
	kinds, err := s.store.Kinds(ctx, a.need)
	if err != nil {
		return nil, err
	}
	ofSite := map[int64]int64{} // a room of each
	for _, k := range kinds {
		ofSite[k.SiteID] = k.RoomIDs[0]
	}
	closed, err := s.store.BlackoutsWithin(ctx, slices.Collect(maps.Values(ofSite)), span)
	if err != nil {
		return nil, fmt.Errorf("look up blackouts: %w", err)
	}
	var rooms []int64
	var candidates []candidate // of each room
	var open clock.Slot        // from when to when any of them is
	for _, k := range kinds {
		v := k.sieve(a, length, span, closed)
		if c := v.candidate(); !c.passes() {
			continue
		}
		open = v.widen(open)
		rooms = append(rooms, k.RoomIDs...)
		for range k.RoomIDs {
			candidates = append(candidates, v.candidate())
		}
	}
	if len(rooms) <= nextBatch {
		return rooms, nil
	}
	of := make(map[int64]int, len(rooms))
	for i, id := range rooms {
		of[id] = i
	}
	err = s.store.AllBusy(ctx, open, a.now, func(slot clock.Slot, in []int64) {
		taken := intervalOf(slot)
		for _, id := range in {
			if i, ok := of[id]; ok {
				candidates[i].add(taken)
			}
		}
	})
	passing := rooms[:0]
	for i, id := range rooms {
		if candidates[i].passes() {
			passing = append(passing, id)
		}
	}
	return passing, err
}

// suggest returns, for each room, at most limit of the first times at which the actor may book it.
func (s *Service) suggest(ctx context.Context, a *searcher, rooms []*meeting.Room, length time.Duration, span clock.Slot, limit int) ([]Suggestion, error) {
	if err := s.meetings.PrepareRooms(ctx, rooms, span); err != nil {
		return nil, err
	}
	rooms = slices.DeleteFunc(rooms, func(r *meeting.Room) bool { return !a.MayBook(r) || !r.Lasts(length, span, a.settings.Limits) })
	taken, err := s.taken(ctx, rooms, span, a.now)
	if err != nil {
		return nil, err
	}
	held, err := s.held(ctx, a, rooms, span)
	if err != nil {
		return nil, err
	}
	var all []Suggestion
	for _, r := range rooms {
		all = append(all, a.suggest(r, length, span, taken[r.ID], held[r.ID], limit)...)
	}
	return all, nil
}

// held returns the slots that count for the actor's quotas of rooms around a span. It also records
// the actor's bookings in all rooms, if they are limited.
func (s *Service) held(ctx context.Context, a *searcher, rooms []*meeting.Room, span clock.Slot) (map[int64][]clock.Slot, error) {
	if p := a.settings.Limits.Person; !p.None() {
		var err error
		if a.everywhere, err = s.store.Held(ctx, policy.PersonClaim(a.ID, p.At(a.now), span), 0, a.now); err != nil {
			return nil, fmt.Errorf("look up what a person has booked: %w", err)
		}
	}
	limited := slices.DeleteFunc(slices.Clone(rooms), func(r *meeting.Room) bool { return r.Policy.Quota.For(a.groups()) == nil })
	if len(limited) == 0 {
		return nil, nil
	}
	whole := span
	for _, c := range policy.QuotaClaims(a.ID, rulesOf(limited), span, policy.Held{}) {
		whole = clock.Slot{Start: clock.Earlier(whole.Start, c.Span.Start), End: clock.Later(whole.End, c.Span.End)}
	}
	held, err := s.store.HeldBy(ctx, a.ID, idsOf(limited), whole, a.now)
	if err != nil {
		return nil, fmt.Errorf("look up quotas: %w", err)
	}
	return held, nil
}

// taken returns what is booked of the rooms near span, as far as their buffers reach.
func (s *Service) taken(ctx context.Context, rooms []*meeting.Room, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	if len(rooms) == 0 {
		return nil, nil
	}
	var before, after time.Duration
	for _, r := range rooms {
		before, after = max(before, r.Policy.BufferBefore), max(after, r.Policy.BufferAfter)
	}
	return s.store.Busy(ctx, idsOf(rooms), span.Widen(before, after), at)
}

func rulesOf(rooms []*meeting.Room) []*policy.Room {
	of := make([]*policy.Room, len(rooms))
	for i, r := range rooms {
		of[i] = &r.Room
	}
	return of
}

func idsOf(rooms []*meeting.Room) []int64 {
	ids := make([]int64, len(rooms))
	for i, r := range rooms {
		ids[i] = r.ID
	}
	return ids
}
