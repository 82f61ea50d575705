package meeting

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// maxSuggestSpan is the longest span that Suggestions searches.
const maxSuggestSpan = 31 * 24 * time.Hour

// maxAvailabilitySpan is the longest slot that Availability looks at.
const maxAvailabilitySpan = 31 * 24 * time.Hour

// How many rooms Suggestions looks at together: those that fit best are enough as a rule.
const (
	firstBatch = 50
	nextBatch  = 500
)

// Availability reports for each room whether the actor may book it for the whole slot, and if not,
// why. Rooms are paged by name. A page of free rooms only may hold fewer than its limit.
func (s *Service) Availability(ctx context.Context, by Actor, q AvailabilityQuery, p Page) (found []Availability, next string, err error) {
	if err := q.check(); err != nil {
		return nil, "", err
	}
	a, err := s.asker(ctx, by, q.Need)
	if err != nil {
		return nil, "", err
	}
	rooms, next, err := s.Rooms(ctx, q.rooms(), p)
	if err != nil {
		return nil, "", err
	}
	taken, err := s.taken(ctx, rooms, q.Slot, a.at)
	if err != nil {
		return nil, "", err
	}
	held, err := s.held(ctx, a, rooms, q.Slot)
	if err != nil {
		return nil, "", err
	}
	for _, r := range rooms {
		reasons := r.reasons(a, q.Slot, taken[r.ID], held[r.ID])
		if len(reasons) == 0 || !q.OnlyFree {
			found = append(found, Availability{Room: r, NeedsApproval: a.mustAsk(r), Reasons: reasons}.short())
		}
	}
	return found, next, nil
}

// asker is the actor, who needs something now.
func (s *Service) asker(ctx context.Context, by Actor, n Need) (*asker, error) {
	by, err := s.standing(ctx, by)
	return &asker{Actor: by, need: n, at: s.clock(), conf: s.conf()}, err
}

// Suggestions returns at most limit suggestions of times within span and rooms. The actor may book
// all of them as things are now. A zero start is now, and a zero end is a week after the start. The
// span is at most 31 days.
//
// Rooms are searched in the order in which they fit, until there is enough to choose from. If the
// best rooms are not enough, the others are sifted first.
func (s *Service) Suggestions(ctx context.Context, by Actor, n Need, length time.Duration, span clock.Slot, limit int) ([]Suggestion, error) {
	a, err := s.asker(ctx, by, n)
	if err != nil {
		return nil, err
	}
	if span, err = n.searched(length, span, a.at); err != nil {
		return nil, err
	}
	var all []Suggestion
	var last *Room
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
func (s *Service) sift(ctx context.Context, a *asker, length time.Duration, span clock.Slot) ([]int64, error) {
	kinds, err := s.store.Kinds(ctx, a.need)
	if err != nil {
		return nil, err
	}
	ofSite := map[int64]int64{} // a room of each
	for _, k := range kinds {
		ofSite[k.SiteID] = k.RoomIDs[0]
	}
	closed, err := s.store.BlackoutsAfter(ctx, slices.Collect(maps.Values(ofSite)), a.at)
	if err != nil {
		return nil, fmt.Errorf("look up blackouts: %w", err)
	}
	var rooms []int64
	candidates := map[int64]*candidate{}
	var open clock.Slot // from when to when any of them is
	for _, k := range kinds {
		v := k.sieve(a, length, span, closed)
		if c := v.candidate(); !c.passes() {
			continue
		}
		open = v.widen(open)
		of := make([]candidate, len(k.RoomIDs))
		for i, id := range k.RoomIDs {
			of[i] = v.candidate()
			candidates[id] = &of[i]
		}
		rooms = append(rooms, k.RoomIDs...)
	}
	if len(rooms) <= nextBatch {
		return rooms, nil
	}
	err = s.store.AllBusy(ctx, open, a.at, func(room int64, taken clock.Slot) {
		if c := candidates[room]; c != nil {
			c.add(taken)
		}
	})
	return slices.DeleteFunc(rooms, func(id int64) bool { return !candidates[id].passes() }), err
}

// suggest returns, for each room, at most limit of the first times at which the asker may book it.
func (s *Service) suggest(ctx context.Context, a *asker, rooms []*Room, length time.Duration, span clock.Slot, limit int) ([]Suggestion, error) {
	rooms = slices.DeleteFunc(s.zoned(rooms), func(r *Room) bool { return !r.Lasts(length, span, a.conf.Limits) })
	if err := s.withBlackouts(ctx, rooms, a.at); err != nil {
		return nil, err
	}
	taken, err := s.taken(ctx, rooms, span, a.at)
	if err != nil {
		return nil, err
	}
	held, err := s.held(ctx, a, rooms, span)
	if err != nil {
		return nil, err
	}
	var all []Suggestion
	for _, r := range rooms {
		all = append(all, r.suggest(a, length, span, taken[r.ID], held[r.ID], limit)...)
	}
	return all, nil
}

// held are the slots that count for the asker's quotas of rooms around a span. It also notes what
// the asker has in all rooms, if that is limited.
func (s *Service) held(ctx context.Context, a *asker, rooms []*Room, span clock.Slot) (map[int64][]clock.Slot, error) {
	if p := a.conf.Limits.Person; !p.None() {
		var err error
		if a.everywhere, err = s.store.Held(ctx, policy.PersonClaim(a.ID, p.At(a.at), span), 0, a.at); err != nil {
			return nil, fmt.Errorf("look up what a person has booked: %w", err)
		}
	}
	limited := slices.DeleteFunc(slices.Clone(rooms), func(r *Room) bool { return r.Policy.Quota == nil })
	if len(limited) == 0 {
		return nil, nil
	}
	whole := span
	for _, c := range claims(a.ID, limited, span, nil) {
		whole = clock.Slot{Start: clock.Earlier(whole.Start, c.Span.Start), End: clock.Later(whole.End, c.Span.End)}
	}
	held, err := s.store.HeldBy(ctx, a.ID, ids(limited), whole, a.at)
	if err != nil {
		return nil, fmt.Errorf("look up quotas: %w", err)
	}
	return held, nil
}

// taken is what is booked of the rooms near span, as far as their buffers reach.
func (s *Service) taken(ctx context.Context, rooms []*Room, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	if len(rooms) == 0 {
		return nil, nil
	}
	var before, after time.Duration
	for _, r := range rooms {
		before, after = max(before, r.Policy.BufferBefore), max(after, r.Policy.BufferAfter)
	}
	return s.store.Busy(ctx, ids(rooms), span.Widen(before, after), at)
}

func invalid(location, code, message string) error {
	return &InvalidError{Faults: []Fault{{Location: location, Code: code, Message: message}}}
}
