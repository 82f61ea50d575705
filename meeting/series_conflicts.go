package meeting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// wanted is one date as it is to be: a new meeting, or other terms for one that is there.
type wanted struct {
	date  recurrence.Date
	base  *Meeting // nil: new
	terms Terms
	room  bool     // takes rooms or times that it has not
	why   *Skipped // what is in its way; nil: nothing
	other bool     // it got another room than it wanted

	passed []Fault // quotas that an override passes over
}

// planner finds out which of the wanted dates can be. It reads what is taken and does not
// keep it so: the database has the last word when the plan is saved.
type planner struct {
	*Service
	by         Actor
	conf       Settings
	at         time.Time
	onConflict OnConflict
	override   *Override
	leaving    []*Meeting              // that the same change calls off
	approvals  map[string]ApprovalPlan // by rooms

	places
	substitutes
}

func (s *Service) planner(ctx context.Context, by Actor, f *SeriesFields) (*planner, error) {
	if f.Override != nil && !by.rules() {
		return nil, ErrForbidden
	}
	by, err := s.WithDeputies(ctx, by)
	return &planner{
		Service: s, by: by, conf: s.conf(), at: s.clock(), onConflict: f.OnConflict, override: f.Override,
		approvals: map[string]ApprovalPlan{}, places: newPlaces(), substitutes: newSubstitutes(),
	}, err
}

// judge sets why the dates cannot be that cannot, after other rooms have been looked for if
// that is wanted.
func (p *planner) judge(ctx context.Context, dates []*wanted) error {
	for _, w := range dates {
		p.checkRules(w)
	}
	if err := p.checkTaken(ctx, dates); err != nil {
		return err
	}
	if err := p.distribute(ctx, dates); err != nil {
		return err
	}
	if p.onConflict == OtherRoom {
		if err := p.findOthers(ctx, dates); err != nil {
			return err
		}
	}
	for _, w := range dates {
		if o := w.terms.Override; o != nil && w.why == nil {
			o.Broken = append(o.Broken, w.passed...)
		}
	}
	return nil
}

// checkRules records which rules the date would break.
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

func (w *wanted) conflict(with []Occupancy) {
	if w.why == nil {
		w.why = &Skipped{OriginalStart: w.date.Slot.Start, Reason: ReasonTaken}
	}
	w.why.Conflicts = append(w.why.Conflicts, with...)
}

// checkTaken records which rooms other meetings hold. Slots of dates that move or are removed count
// as free, because the same transaction releases them.
func (p *planner) checkTaken(ctx context.Context, dates []*wanted) error {
	var asked []Occupancy
	var of []*wanted
	for _, w := range dates {
		if w.room {
			for _, o := range w.occupancies(w.terms.Rooms) {
				asked, of = append(asked, o), append(of, w)
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	taken, err := p.taken(ctx, asked, dates)
	if err != nil {
		return err
	}
	for i, w := range of {
		if len(taken[i]) > 0 {
			w.conflict(taken[i])
		}
	}
	return nil
}

func (p *planner) taken(ctx context.Context, asked []Occupancy, dates []*wanted) ([][]Occupancy, error) {
	var except []ID
	for _, m := range p.moving(dates) {
		except = append(except, m.ID)
	}
	taken, err := p.store.Taken(ctx, asked, except)
	if err != nil {
		return nil, fmt.Errorf("look up what is taken: %w", err)
	}
	for i, with := range taken {
		taken[i] = unlapsed(with, p.at)
	}
	return taken, nil
}

// moving are the meetings that leave their rooms or times.
func (p *planner) moving(dates []*wanted) []*Meeting {
	ms := slices.Clone(p.leaving)
	for _, w := range dates {
		if w.base != nil && w.room {
			ms = append(ms, w.base)
		}
	}
	return ms
}

// occupancies that the date would take of the rooms, or ask for.
func (w *wanted) occupancies(rooms []*Room) []Occupancy {
	return w.base.keeping((&Meeting{Slot: w.terms.Slot}).occupancies(rooms), w.terms.Slot)
}

// waits reports whether somebody else must decide on the rooms.
func (p *planner) waits(rooms []*Room) bool {
	return PlanApproval(ApprovalTerms{}, p.by, rooms...).waits()
}

// stays reports whether a meeting that is there keeps its rooms and time for now: it cannot
// move, or must wait for a decision.
func (p *planner) stays(w *wanted) bool {
	return w.base != nil && w.room && (w.why != nil || w.base.Status == Confirmed && p.waits(w.terms.Rooms))
}

// approvalPlan looks up the approvals for the same rooms once.
func (p *planner) approvalPlan(ctx context.Context, rooms []*Room) (ApprovalPlan, error) {
	key := roomsKey(ids(rooms))
	if plan, ok := p.approvals[key]; ok {
		return plan, nil
	}
	plan, err := p.planApproval(ctx, p.by, rooms)
	p.approvals[key] = plan
	return plan, err
}

func roomsKey(rooms []int64) string { return fmt.Sprint(rooms) }

// verdict is the error of a plan that may not be saved because of some of its dates.
func (p *planner) verdict(dates []*wanted) error {
	if p.onConflict == SkipOnConflict {
		return nil
	}
	if err := checkBuffers(dates); err != nil {
		return err
	}
	if bad := skipped(dates); len(bad) > 0 {
		return &SeriesConflictError{Dates: bad}
	}
	return nil
}

// checkBuffers refuses a rule with dates that only the buffers of a room keep apart from each other.
// A date that was moved on its own is not the rule's fault.
func checkBuffers(dates []*wanted) error {
	type taking struct {
		by    *wanted
		taken clock.Slot
	}
	last := map[int64]taking{} // by room
	byStart := func(a, b *wanted) int { return a.terms.Slot.Start.Compare(b.terms.Slot.Start) }
	for _, w := range slices.SortedFunc(slices.Values(dates), byStart) {
		if !w.room || !w.terms.Slot.Equal(w.date.Slot) {
			continue
		}
		for i, o := range w.occupancies(w.terms.Rooms) {
			before, there := last[o.RoomID]
			last[o.RoomID] = taking{w, o.Slot}
			if !there || !before.taken.Overlaps(o.Slot) || before.by.terms.Slot.Overlaps(w.terms.Slot) {
				continue
			}
			r, a, b := w.terms.Rooms[i], before.by.date, w.date
			var found fault.List
			found.Add("rrule", "overlaps_itself", "must leave at least %s between two dates for the buffers of %s; the dates of %s and %s are %s apart",
				clock.FormatDuration(r.Policy.BufferBefore+r.Policy.BufferAfter), r.Name, a.Wall.Format(clock.WallLayout), b.Wall.Format(clock.WallLayout),
				clock.FormatDuration(b.Slot.Start.Sub(a.Slot.End)))
			return found.Err()
		}
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
