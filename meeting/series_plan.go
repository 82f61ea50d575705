package meeting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// wanted is one date as it is to be: a new meeting, or other terms for one that is there.
type wanted struct {
	date  Date
	base  *Meeting // nil: new
	terms Terms
	room  bool     // takes rooms or times that it has not
	why   *Skipped // what is in its way; nil: nothing
	other bool     // it got another room than it wanted
}

// planner finds out which of the wanted dates can be. It reads what is taken and does not
// keep it so: the database has the last word when the plan is saved.
type planner struct {
	*Service
	by         Actor
	conf       Settings
	at         time.Time
	onConflict OnConflict
	asks       map[string]Asking   // by rooms
	siteRooms  map[int64][]*Room   // by site
	held       map[int64][]holding // by room
	override   *Override
	used       map[int64][]Slot // by room with a quota: what its other meetings take of the organizer's
}

func (s *Service) planner(ctx context.Context, by Actor, f *SeriesFields) (*planner, error) {
	if f.Override != nil && !by.rules() {
		return nil, ErrForbidden
	}
	by, err := s.standing(ctx, by)
	return &planner{
		Service: s, by: by, conf: s.conf(), at: s.clock(), onConflict: f.OnConflict, override: f.Override,
		asks: map[string]Asking{}, siteRooms: map[int64][]*Room{}, used: map[int64][]Slot{},
	}, err
}

// judge sets why the dates cannot be that cannot, after other rooms have been looked for if
// that is wanted.
func (p *planner) judge(ctx context.Context, dates []*wanted) error {
	for _, w := range dates {
		p.checkRules(w)
	}
	if err := p.checkQuotas(ctx, dates); err != nil {
		return err
	}
	if err := p.checkRooms(ctx, dates); err != nil {
		return err
	}
	if p.onConflict == OtherRoom {
		return p.findOthers(ctx, dates)
	}
	return nil
}

// checkRules tells which rules the date would break.
func (p *planner) checkRules(w *wanted) {
	broken := w.terms.broken(w.base, p.conf.Limits, p.at)
	if w.terms.accept(broken, p.override) != nil {
		w.breaks(broken)
	}
}

func (w *wanted) breaks(rules []Fault) {
	if w.why == nil {
		w.why = &Skipped{OriginalStart: w.date.Slot.Start, Reason: rules[0].Code}
	}
	w.why.Violations = append(w.why.Violations, rules...)
}

// checkQuotas tells which dates would exceed the organizer's quotas, those before them in the
// plan counted. What the moved dates take now does not count. An override passes over quotas,
// too, and tells of them.
func (p *planner) checkQuotas(ctx context.Context, dates []*wanted) error {
	for _, w := range dates {
		if !w.room || w.why != nil {
			continue
		}
		organizer := p.by.ID
		if w.base != nil {
			organizer = w.base.Organizer.UserID
		}
		cs := claims(organizer, w.terms.Rooms, w.terms.Slot, w.base)
		var over []Fault
		for _, c := range cs {
			used, err := p.usedOf(ctx, c, dates)
			if err != nil {
				return err
			}
			over = append(over, c.Check(used)...)
		}
		switch o := w.terms.Override; {
		case len(over) > 0 && o != nil:
			o.Broken = append(o.Broken, over...)
		case len(over) > 0:
			w.breaks(over)
			continue
		}
		for _, c := range cs {
			p.used[c.RoomID] = append(p.used[c.RoomID], w.terms.Slot)
		}
	}
	return nil
}

// usedOf is what the claimant has of the room around all dates.
func (p *planner) usedOf(ctx context.Context, c Claim, dates []*wanted) ([]Slot, error) {
	if used, ok := p.used[c.RoomID]; ok {
		return used, nil
	}
	const period = 32 * 24 * time.Hour // no quota counts in a longer one
	for _, w := range dates {
		c.Span.Start = earlier(c.Span.Start, w.terms.Slot.Start.Add(-period))
		c.Span.End = later(c.Span.End, w.terms.Slot.End.Add(period))
	}
	used, err := p.store.Held(ctx, c, 0)
	if err != nil {
		return nil, fmt.Errorf("look up quotas: %w", err)
	}
	for _, w := range dates {
		if w.base != nil && w.room {
			if i := slices.IndexFunc(used, func(s Slot) bool { return sameSlot(s, w.base.Slot) }); i >= 0 {
				used = slices.Delete(used, i, i+1)
			}
		}
	}
	p.used[c.RoomID] = used
	return used, nil
}

// occupancies that the date would take, or ask for.
func (w *wanted) occupancies() []Occupancy {
	return (&Meeting{Slot: w.terms.Slot}).occupancies(w.terms.Rooms)
}

// checkRooms tells which rooms are taken, by others or by a date before of the same plan.
// What the moved dates hold now is free: they leave it in the same moment.
func (p *planner) checkRooms(ctx context.Context, dates []*wanted) error {
	var asked []Occupancy
	var of []*wanted
	for _, w := range dates {
		if w.room {
			for _, o := range w.occupancies() {
				asked, of = append(asked, o), append(of, w)
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	taken, err := p.store.Taken(ctx, asked, moving(dates))
	if err != nil {
		return fmt.Errorf("look up what is taken: %w", err)
	}
	for i, w := range of {
		if len(taken[i]) > 0 {
			w.conflict(taken[i])
		}
	}
	p.checkEachOther(dates)
	return nil
}

// holding is what one date of the plan will have of a room.
type holding struct {
	Occupancy
	by *wanted
}

// checkEachOther gives a room that two of the dates want to the earlier one in the plan. A
// meeting that cannot be moved stays where it is and is in the way of others there, which
// may keep those where they are; so it is done again until all is settled.
func (p *planner) checkEachOther(dates []*wanted) {
	for settled := false; !settled; {
		settled = true
		p.held = map[int64][]holding{}
		for _, w := range dates {
			if w.why != nil && w.base != nil {
				p.hold(w, w.base.Occupied)
			}
		}
		for _, w := range dates {
			if !w.room || w.why != nil {
				continue
			}
			mine := w.occupancies()
			if with := p.inTheWay(w, mine); len(with) > 0 {
				w.conflict(with)
				settled = false
				continue
			}
			p.hold(w, mine)
		}
	}
}

func (p *planner) hold(w *wanted, occupied []Occupancy) {
	for _, o := range occupied {
		p.held[o.RoomID] = append(p.held[o.RoomID], holding{o, w})
	}
}

// inTheWay is what other dates of the plan have of it.
func (p *planner) inTheWay(w *wanted, occupied []Occupancy) (with []Occupancy) {
	for _, o := range occupied {
		for _, h := range p.held[o.RoomID] {
			if h.by != w && h.Slot.Overlaps(o.Slot) {
				with = append(with, h.Occupancy)
			}
		}
	}
	return with
}

func (w *wanted) conflict(with []Occupancy) {
	if w.why == nil {
		w.why = &Skipped{OriginalStart: w.date.Slot.Start, Reason: ReasonTaken}
	}
	w.why.Conflicts = append(w.why.Conflicts, with...)
}

// moving are the meetings that leave their rooms or times.
func moving(dates []*wanted) []ID {
	var ids []ID
	for _, w := range dates {
		if w.base != nil && w.room {
			ids = append(ids, w.base.ID)
		}
	}
	return ids
}

// findOthers looks for other rooms for the dates that cannot be. Of those at the same site
// that are as good as the room wanted it takes the one with the fewest places left over, the
// first by name of equal ones.
func (p *planner) findOthers(ctx context.Context, dates []*wanted) error {
	for _, w := range dates {
		if w.why == nil || !w.room {
			continue
		}
		rooms, ok, err := p.replaced(ctx, w, dates)
		if err != nil {
			return err
		}
		if ok {
			w.terms.Rooms, w.why, w.other = rooms, nil, true
			p.hold(w, w.occupancies())
		}
	}
	return nil
}

// replaced are the rooms of a date with others in place of those it cannot have.
func (p *planner) replaced(ctx context.Context, w *wanted, dates []*wanted) (rooms []*Room, ok bool, err error) {
	rooms = slices.Clone(w.terms.Rooms)
	for i, r := range rooms {
		if !p.blocked(w, r) {
			continue
		}
		others, err := p.others(ctx, r, len(w.terms.Attendees))
		if err != nil {
			return nil, false, err
		}
		others = slices.DeleteFunc(others, func(o *Room) bool {
			return slices.Contains(ids(rooms), o.ID) || len(o.Check(p.wish(w), p.conf.Limits)) > 0
		})
		free, err := p.firstFree(ctx, w, others, dates)
		if err != nil || free == nil {
			return nil, false, err
		}
		rooms[i] = free
	}
	changed := w.terms
	changed.Rooms = rooms
	return rooms, len(changed.broken(w.base, p.conf.Limits, p.at)) == 0, nil
}

func (p *planner) wish(w *wanted) Wish {
	return Wish{Slot: w.terms.Slot, Persons: len(w.terms.Attendees), Now: p.at}
}

// blocked reports whether this room is why the date cannot be.
func (p *planner) blocked(w *wanted, r *Room) bool {
	taken := slices.ContainsFunc(w.why.Conflicts, func(o Occupancy) bool { return o.RoomID == r.ID })
	return taken || len(r.Check(p.wish(w), p.conf.Limits)) > 0
}

// others are the rooms that would do in place of r, the best first.
func (p *planner) others(ctx context.Context, r *Room, persons int) ([]*Room, error) {
	all, err := p.roomsOf(ctx, r.SiteID)
	if err != nil {
		return nil, err
	}
	need := cmp.Or(r.Capacity, persons)
	var good []*Room
	for _, o := range all {
		has := func(feature string) bool { return slices.Contains(o.Features, feature) }
		lacks := slices.ContainsFunc(r.Features, func(f string) bool { return !has(f) })
		if o.ID != r.ID && o.Active && o.Capacity >= need && !lacks && (r.Approval.Required || !o.Approval.Required) {
			good = append(good, o)
		}
	}
	slices.SortFunc(good, func(a, b *Room) int {
		return cmp.Or(cmp.Compare(a.Capacity, b.Capacity), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return good, nil
}

// roomsOf a site; 0: those of none.
func (p *planner) roomsOf(ctx context.Context, site int64) ([]*Room, error) {
	if rooms, ok := p.siteRooms[site]; ok {
		return rooms, nil
	}
	rooms, page := []*Room{}, Page{Limit: 500}
	for {
		some, next, err := p.store.ListRooms(ctx, RoomQuery{SiteID: site}, page)
		if err != nil {
			return nil, fmt.Errorf("look up other rooms: %w", err)
		}
		for _, r := range p.zoned(some) {
			if r.SiteID == site {
				rooms = append(rooms, r)
			}
		}
		if next == "" {
			p.siteRooms[site] = rooms
			return rooms, p.withBlackouts(ctx, rooms, p.at)
		}
		page.Cursor = next
	}
}

// firstFree of the rooms that nobody has at the date's time, neither now nor by this plan.
func (p *planner) firstFree(ctx context.Context, w *wanted, rooms []*Room, dates []*wanted) (*Room, error) {
	if len(rooms) == 0 {
		return nil, nil
	}
	would := (&Meeting{Slot: w.terms.Slot}).occupancies(rooms)
	taken, err := p.store.Taken(ctx, would, moving(dates))
	if err != nil {
		return nil, fmt.Errorf("look up what is taken: %w", err)
	}
	for i, r := range rooms {
		if len(taken[i]) == 0 && len(p.inTheWay(w, would[i:i+1])) == 0 {
			return r, nil
		}
	}
	return nil, nil
}

// ask says how a request for the rooms is made.
func (p *planner) ask(ctx context.Context, rooms []*Room) (Asking, error) {
	key := askKey(ids(rooms))
	if ask, ok := p.asks[key]; ok {
		return ask, nil
	}
	ask, err := p.asking(ctx, p.by, rooms)
	p.asks[key] = ask
	return ask, err
}

func askKey(rooms []int64) string { return fmt.Sprint(rooms) }

// verdict is the error of a plan that may not be saved because of some of its dates.
func (p *planner) verdict(dates []*wanted) error {
	if p.onConflict == SkipOnConflict {
		return nil
	}
	if bad := skipped(dates); len(bad) > 0 {
		return &SeriesConflictError{Dates: bad}
	}
	return nil
}

func skipped(dates []*wanted) []Skipped {
	var bad []Skipped
	for _, w := range dates {
		if w.why != nil {
			bad = append(bad, *w.why)
		}
	}
	return bad
}
