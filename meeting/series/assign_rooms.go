package series

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// places tracks which rooms and quotas the dates of a plan use.
type places struct {
	holds   map[int64][]holding    // by room
	counted map[quota][]holding    // without buffers
	others  map[quota][]clock.Slot // the user's other use
}

// quota is one user's quota of a room; roomID 0: of all rooms.
type quota struct{ userID, roomID int64 }

// holding is one date's use of a room.
type holding struct {
	meeting.Occupancy
	by *plannedDate
}

func newPlaces() places {
	return places{holds: map[int64][]holding{}, counted: map[quota][]holding{}, others: map[quota][]clock.Slot{}}
}

// distribute resolves conflicts between dates of the plan, about a room or the rest of a quota. An
// existing meeting goes first, otherwise the earlier date. A meeting that cannot move stays and
// blocks others, which may then stay too, so distribute repeats until nothing changes.
func (p *planner) distribute(ctx context.Context, dates []*plannedDate) error {
	fresh := slices.DeleteFunc(slices.Clone(dates), func(w *plannedDate) bool { return w.base != nil })
	order := append(slices.DeleteFunc(slices.Clone(dates), func(w *plannedDate) bool { return w.base == nil }), fresh...) // in the order in which they are saved
	for settled := false; !settled; {
		settled = true
		clear(p.holds)
		clear(p.counted)
		for _, w := range dates {
			p.keep(w)
		}
		for _, w := range order {
			if !w.room || w.skip != nil {
				continue
			}
			if with := p.inTheWay(w, w.occupancies(w.terms.Rooms)); len(with) > 0 {
				w.conflict(with)
			} else if err := p.checkQuotas(ctx, w, dates); err != nil {
				return err
			}
			if w.skip == nil {
				p.take(w)
			} else if w.base != nil {
				settled = false
			}
		}
	}
	return nil
}

// keep records the use of a meeting that stays.
func (p *planner) keep(w *plannedDate) {
	if !p.stays(w) {
		return
	}
	p.hold(w, w.base.Occupied)
	if r := w.base.Request; r != nil && r.Change != nil && w.skip != nil {
		p.hold(w, r.Change.Held)
	}
	for _, o := range w.base.Occupied {
		p.count(o.RoomID, w.base.Slot, w)
	}
}

// take records the use of a date. A request counts only if requests hold their rooms, and a pending
// move does not count for quotas.
func (p *planner) take(w *plannedDate) {
	waits := p.waits(w.terms.Rooms)
	if waits && !p.conf.HoldPending {
		return
	}
	p.hold(w, w.occupancies(w.terms.Rooms))
	if p.stays(w) {
		return
	}
	for _, r := range w.terms.Rooms {
		p.count(r.ID, w.terms.Slot, w)
	}
}

// count a date for the quota of the room, and for the limits of a person in all rooms.
func (p *planner) count(roomID int64, slot clock.Slot, w *plannedDate) {
	if w.terms.Type.Exempt() {
		return
	}
	for _, id := range []int64{roomID, 0} {
		q := quota{p.organizerOf(w), id}
		p.counted[q] = append(p.counted[q], holding{meeting.Occupancy{RoomID: roomID, Slot: slot}, w})
	}
}

// leave removes the recorded use of a date.
func (p *planner) leave(w *plannedDate) {
	of := func(h holding) bool { return h.by == w }
	for room := range p.holds {
		p.holds[room] = slices.DeleteFunc(p.holds[room], of)
	}
	for q := range p.counted {
		p.counted[q] = slices.DeleteFunc(p.counted[q], of)
	}
}

func (p *planner) hold(w *plannedDate, occupied []meeting.Occupancy) {
	for _, o := range occupied {
		p.holds[o.RoomID] = append(p.holds[o.RoomID], holding{o, w})
	}
}

// inTheWay returns the rooms of a date that other dates of the plan use.
func (p *planner) inTheWay(w *plannedDate, occupied []meeting.Occupancy) (with []meeting.Occupancy) {
	for _, o := range occupied {
		for _, h := range p.holds[o.RoomID] {
			if h.by != w && h.Slot.Overlaps(o.Slot) {
				with = append(with, h.Occupancy)
			}
		}
	}
	return with
}

// checkQuotas checks whether the date would exceed the organizer's quotas. An override also covers
// quotas, and they are then reported with it.
func (p *planner) checkQuotas(ctx context.Context, w *plannedDate, dates []*plannedDate) error {
	over, err := p.exceeded(ctx, w, w.terms.Rooms, dates)
	switch {
	case err != nil:
		return err
	case p.override != nil:
		w.passed = over
	case len(over) > 0:
		w.breaks(over)
	}
	return nil
}

// exceeded returns the quotas that the date would exceed in the rooms, counted as when it is saved:
// earlier dates of the plan count, a request that holds nothing does not.
func (p *planner) exceeded(ctx context.Context, w *plannedDate, rooms []*meeting.Room, dates []*plannedDate) ([]meeting.Fault, error) {
	organizer, moves := p.organizerOf(w), w.base != nil && w.base.Status == meeting.Confirmed
	if w.terms.Type.Exempt() || p.waits(rooms) && !p.conf.HoldPending && !moves {
		return nil, nil
	}
	var over []meeting.Fault
	for _, c := range meeting.QuotaClaims(organizer, rooms, w.terms.Slot, w.base.HeldBy(meeting.Person{UserID: organizer})) {
		c, err := p.ownQuota(ctx, c)
		if err != nil {
			return nil, err
		}
		used, err := p.used(ctx, c, dates)
		if err != nil {
			return nil, err
		}
		used = slices.Clone(used)
		for _, h := range p.counted[quota{c.UserID, c.RoomID}] {
			if h.by != w {
				used = append(used, h.Slot)
			}
		}
		over = append(over, c.Check(used)...)
	}
	return over, nil
}

// ownQuota is [booking.Service.OwnQuota] with one look-up of groups for all dates and rooms.
func (p *planner) ownQuota(ctx context.Context, c policy.Claim) (policy.Claim, error) {
	if !c.ByGroup() {
		return c, nil
	}
	groups, ok := p.groups[c.UserID]
	if !ok {
		var err error
		if groups, err = p.booking.GroupsOf(ctx, c.UserID); err != nil {
			return c, err
		}
		p.groups[c.UserID] = groups
	}
	return c.In(groups), nil
}

// organizerOf returns the user whose quotas the date uses.
func (p *planner) organizerOf(w *plannedDate) int64 { return cmp.Or(w.terms.Organizer.UserID, p.by.ID) }

// used returns the claimant's use of the room around all dates, without meetings that move or are
// removed.
func (p *planner) used(ctx context.Context, c policy.Claim, dates []*plannedDate) ([]clock.Slot, error) {
	if used, ok := p.others[quota{c.UserID, c.RoomID}]; ok {
		return used, nil
	}
	const period = 32 * 24 * time.Hour // no quota has a longer period
	for _, w := range dates {
		c.Span.Start = clock.Earlier(c.Span.Start, w.terms.Slot.Start.Add(-period))
		c.Span.End = clock.Later(c.Span.End, w.terms.Slot.End.Add(period))
	}
	used, err := p.store.Held(ctx, c, 0, p.at)
	if err != nil {
		return nil, fmt.Errorf("look up quotas: %w", err)
	}
	for _, m := range p.moving(dates) {
		for _, o := range m.Occupied {
			i := slices.IndexFunc(used, func(s clock.Slot) bool { return s.Equal(m.Slot) })
			if i >= 0 && (c.RoomID == 0 || o.RoomID == c.RoomID) {
				used = slices.Delete(used, i, i+1)
			}
		}
	}
	p.others[quota{c.UserID, c.RoomID}] = used
	return used, nil
}
