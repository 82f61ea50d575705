package meeting

import (
	"context"
	"fmt"
	"time"
)

// maxSuggestSpan is the longest span that Suggestions searches.
const maxSuggestSpan = 31 * 24 * time.Hour

// Availability tells of each room whether the actor may have it for the whole slot, and if not
// why. Rooms come in pages by name; onlyFree leaves out the others, so that a page may hold
// less than its limit.
func (s *Service) Availability(ctx context.Context, by Actor, n Need, slot Slot, onlyFree bool, p Page) (found []Availability, next string, err error) {
	if err := n.check(); err != nil {
		return nil, "", err
	}
	if !slot.Start.Before(slot.End) || slot.Duration() > maxLength {
		return nil, "", invalid("query.end", "invalid_span", "is after start, by at most 366 days")
	}
	q := RoomQuery{SiteID: n.SiteID}
	if onlyFree {
		q.Features, q.MinCapacity = n.Features, n.Persons
	}
	rooms, next, err := s.Rooms(ctx, q, p)
	if err != nil {
		return nil, "", err
	}
	taken, err := s.taken(ctx, rooms, slot)
	if err != nil {
		return nil, "", err
	}
	at := s.clock()
	for _, r := range rooms {
		held, err := s.held(ctx, by, r, slot)
		if err != nil {
			return nil, "", err
		}
		reasons := r.reasons(by, n, slot, taken[r.ID], held, at, s.conf().Limits)
		if len(reasons) == 0 || !onlyFree {
			found = append(found, Availability{Room: r, NeedsApproval: needsOther(by, r), Reasons: reasons})
		}
	}
	return found, next, nil
}

// Suggestions of times within span and rooms, at most limit, all of which the actor may book
// as things are now. A zero start is now, a zero end a week after the start; at most 31 days.
//
// Rooms are looked at in the order in which they fit, until there is enough to choose from.
func (s *Service) Suggestions(ctx context.Context, by Actor, n Need, length time.Duration, span Slot, limit int) ([]Suggestion, error) {
	at := s.clock()
	span, err := suggestSpan(span, at)
	if err != nil {
		return nil, err
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	if length <= 0 || length > span.Duration() {
		return nil, invalid("query.duration", "out_of_range", "is more than nothing and fits between from and to")
	}
	const batch = 50
	var all []Suggestion
	for skip := 0; ; skip += batch {
		rooms, err := s.store.Candidates(ctx, n, skip, batch)
		if err != nil {
			return nil, err
		}
		if err := s.withBlackouts(ctx, s.zoned(rooms), at); err != nil {
			return nil, err
		}
		taken, err := s.taken(ctx, rooms, span)
		if err != nil {
			return nil, err
		}
		for _, r := range rooms {
			some, err := s.suggest(ctx, by, r, n, length, span, taken[r.ID], at)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		if len(rooms) < batch || len(all) >= limit {
			return choose(all, n.Persons, limit), nil
		}
	}
}

// suggestSpan fills in what was left out; nothing in the past is suggested.
func suggestSpan(span Slot, at time.Time) (Slot, error) {
	if span.Start.IsZero() || span.Start.Before(at) {
		span.Start = at
	}
	if span.End.IsZero() {
		span.End = span.Start.AddDate(0, 0, 7)
	}
	if !span.Start.Before(span.End) || span.Duration() > maxSuggestSpan {
		return span, invalid("query.to", "invalid_span", "is after from and after now, by at most 31 days")
	}
	return span, nil
}

// suggest tells the first few times at which the actor may have the room.
func (s *Service) suggest(ctx context.Context, by Actor, r *Room, n Need, length time.Duration, span Slot, taken []Slot, at time.Time) ([]Suggestion, error) {
	const perRoom, tries = 3, 100
	limits := s.conf().Limits
	span.Start = later(span.Start, at.Add(r.Policy.MinNotice))
	if most := stricter(r.Policy.MaxAdvance, limits.MaxAdvance); most > 0 {
		span.End = earlier(span.End, at.Add(most+length))
	}
	if !span.Start.Before(span.End) {
		return nil, nil
	}
	held, err := s.held(ctx, by, r, span)
	if err != nil {
		return nil, err
	}
	var some []Suggestion
	tried := 0
	for slot := range r.Openings(span, length, taken) {
		if len(r.reasons(by, n, slot, nil, held, at, limits)) == 0 {
			some = append(some, Suggestion{Room: r, Slot: slot, NeedsApproval: needsOther(by, r)})
		}
		if tried++; len(some) == perRoom || tried == tries {
			break
		}
	}
	return some, nil
}

// held are the slots that count for the actor's quota of the room around a span.
func (s *Service) held(ctx context.Context, by Actor, r *Room, span Slot) ([]Slot, error) {
	var held []Slot
	for _, c := range claims(by.ID, []*Room{r}, span, nil) {
		some, err := s.store.Held(ctx, c, 0)
		if err != nil {
			return nil, fmt.Errorf("look up quotas: %w", err)
		}
		held = append(held, some...)
	}
	return held, nil
}

// taken is what is booked of the rooms near span, as far as their buffers reach.
func (s *Service) taken(ctx context.Context, rooms []*Room, span Slot) (map[int64][]Slot, error) {
	if len(rooms) == 0 {
		return nil, nil
	}
	var before, after time.Duration
	for _, r := range rooms {
		before, after = max(before, r.Policy.BufferBefore), max(after, r.Policy.BufferAfter)
	}
	return s.store.Busy(ctx, ids(rooms), span.Widen(before, after))
}

// needsOther reports whether somebody else would have to agree to a booking.
func needsOther(by Actor, r *Room) bool {
	return r.Approval.Required && !by.MayApprove([]*Room{r})
}

func (n *Need) check() error {
	if n.Persons < 0 || n.Persons > 1_000_000 {
		return invalid("query.attendees", "out_of_range", "is a number of persons, from 0 to 1,000,000")
	}
	if len(n.Features) > maxFeatures {
		return invalid("query.features", "too_many", fmt.Sprintf("names more than %d features", maxFeatures))
	}
	return nil
}

func invalid(location, code, message string) error {
	return &InvalidError{[]Fault{{Location: location, Code: code, Message: message}}}
}
