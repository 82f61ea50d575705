package series

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// plannedDate is the planned state of one date: a new meeting, or an existing one with new terms.
type plannedDate struct {
	date  recurrence.Date
	base  *meeting.Meeting // nil: new
	terms meeting.Terms
	room  bool             // takes other rooms or another time
	skip  *meeting.Skipped // why it cannot be booked; nil: it can
	other bool             // it got a substitute room

	passed []meeting.Fault // overridden quotas
}

// planner finds out which of the requested dates can be booked. It reads occupancies without
// locking them: the database decides when the plan is saved.
type planner struct {
	*Service
	by         meeting.Actor
	conf       meeting.Settings
	at         time.Time
	onConflict meeting.OnConflict
	override   *meeting.Override
	leaving    []*meeting.Meeting              // canceled by the same change
	approvals  map[string]meeting.ApprovalPlan // by rooms
	groups     map[int64][]int64               // by user, if a quota depends on them

	places
	substitutes
}

func (s *Service) planner(ctx context.Context, by meeting.Actor, f *Fields) (*planner, error) {
	by, err := s.booking.WithDeputies(ctx, by)
	if err != nil {
		return nil, err
	}
	if f.Override != nil && !by.IsAdmin() && (by.Groups == nil || len(*by.Groups) == 0) {
		return nil, meeting.ErrForbidden
	}
	return &planner{
		Service: s, by: by, conf: s.booking.Settings(), at: s.booking.Now(), onConflict: f.OnConflict, override: f.Override,
		approvals: map[string]meeting.ApprovalPlan{}, groups: map[int64][]int64{}, places: newPlaces(), substitutes: newSubstitutes(),
	}, nil
}

// validate sets the reason for each date that cannot be booked, after searching for substitute
// rooms if requested.
func (p *planner) validate(ctx context.Context, dates []*plannedDate) error {
	for _, w := range dates {
		if p.override != nil && !p.by.MayOverride(w.terms.Rooms) {
			return meeting.ErrForbidden
		}
		p.checkRules(w)
	}
	if err := p.checkTaken(ctx, dates); err != nil {
		return err
	}
	for changed := true; changed; { // a substitute may take the rest of a quota that another date needs
		if err := p.distribute(ctx, dates); err != nil {
			return err
		}
		changed = false
		if p.onConflict == meeting.OtherRoom {
			var err error
			if changed, err = p.findOthers(ctx, dates); err != nil {
				return err
			}
		}
	}
	for _, w := range dates {
		if o := w.terms.Override; o != nil && w.skip == nil {
			o.Violations = append(o.Violations, w.passed...)
		}
	}
	return nil
}

// checkRules records the policy violations of the date.
func (p *planner) checkRules(w *plannedDate) {
	violations := w.terms.Violations(w.base, p.by, p.conf.Limits, p.at)
	if p.accept(&w.terms, violations) != nil {
		w.breaks(violations)
	}
}

// accept accepts the terms of a date, possibly in substitute rooms. An override counts in rooms whose
// policies the actor may override.
func (p *planner) accept(t *meeting.Terms, violations []meeting.Fault) error {
	if len(violations) > 0 && !p.by.MayOverride(t.Rooms) {
		return t.Accept(violations, nil)
	}
	return t.Accept(violations, p.override)
}

func (w *plannedDate) breaks(rules []meeting.Fault) {
	if w.skip == nil {
		w.skip = &meeting.Skipped{OriginalStart: w.date.Slot.Start, Reason: rules[0].Code}
	}
	w.skip.Violations = append(w.skip.Violations, rules...)
}

func (w *plannedDate) conflict(with []meeting.Occupancy) {
	if w.skip == nil {
		w.skip = &meeting.Skipped{OriginalStart: w.date.Slot.Start, Reason: meeting.ReasonTaken}
	}
	w.skip.Conflicts = append(w.skip.Conflicts, with...)
}

// checkTaken records which rooms other meetings hold. Slots of dates that move or are removed count
// as free, because the same transaction releases them.
func (p *planner) checkTaken(ctx context.Context, dates []*plannedDate) error {
	var requested []meeting.Occupancy
	var of []*plannedDate
	for _, w := range dates {
		if w.room {
			for _, o := range w.occupancies(w.terms.Rooms) {
				requested, of = append(requested, o), append(of, w)
			}
		}
	}
	if len(requested) == 0 {
		return nil
	}
	taken, err := p.taken(ctx, requested, dates)
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

func (p *planner) taken(ctx context.Context, requested []meeting.Occupancy, dates []*plannedDate) ([][]meeting.Occupancy, error) {
	var except []meeting.ID
	for _, m := range p.moving(dates) {
		except = append(except, m.ID)
	}
	taken, err := p.store.Taken(ctx, requested, except)
	if err != nil {
		return nil, fmt.Errorf("look up what is taken: %w", err)
	}
	for i, with := range taken {
		taken[i] = meeting.Unlapsed(with, p.at)
	}
	return taken, nil
}

// moving returns the meetings that leave their rooms or times.
func (p *planner) moving(dates []*plannedDate) []*meeting.Meeting {
	ms := slices.Clone(p.leaving)
	for _, w := range dates {
		if w.base != nil && w.room {
			ms = append(ms, w.base)
		}
	}
	return ms
}

// occupancies returns what the date would take of the rooms, or request.
func (w *plannedDate) occupancies(rooms []*meeting.Room) []meeting.Occupancy {
	return w.base.Keeping((&meeting.Meeting{Slot: w.terms.Slot}).Occupancies(rooms), w.terms.Slot)
}

// waits reports whether someone else must approve the rooms.
func (p *planner) waits(rooms []*meeting.Room) bool {
	return meeting.PlanApproval(meeting.ApprovalTerms{}, p.by, rooms...).Waits()
}

// stays reports whether an existing meeting keeps its rooms and time for now: it cannot move, or
// needs approval.
func (p *planner) stays(w *plannedDate) bool {
	return w.base != nil && w.room && (w.skip != nil || w.base.Status == meeting.Confirmed && p.waits(w.terms.Rooms))
}

// approvalPlan returns the approvals for rooms, looked up once.
func (p *planner) approvalPlan(ctx context.Context, rooms []*meeting.Room) (meeting.ApprovalPlan, error) {
	key := booking.RoomsKey(meeting.RoomIDs(rooms))
	if plan, ok := p.approvals[key]; ok {
		return plan, nil
	}
	plan, err := p.booking.PlanApproval(ctx, p.by, rooms)
	p.approvals[key] = plan
	return plan, err
}

// conflictError returns the error of a plan that may not be saved because of some of its dates.
func (p *planner) conflictError(dates []*plannedDate) error {
	if p.onConflict == meeting.SkipOnConflict {
		return nil
	}
	if err := checkBuffers(dates); err != nil {
		return err
	}
	if bad := skipped(dates); len(bad) > 0 {
		return &meeting.SeriesConflictError{Dates: bad}
	}
	return nil
}

// checkBuffers rejects a rule whose dates overlap only with a room's buffers. A date that was moved
// individually does not count.
func checkBuffers(dates []*plannedDate) error {
	type taking struct {
		by    *plannedDate
		taken clock.Slot
	}
	last := map[int64]taking{} // by room
	byStart := func(a, b *plannedDate) int { return a.terms.Slot.Start.Compare(b.terms.Slot.Start) }
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
				fault.FormatDuration(r.Policy.BufferBefore+r.Policy.BufferAfter), r.Name, a.Wall.Format(clock.WallLayout), b.Wall.Format(clock.WallLayout),
				fault.FormatDuration(b.Slot.Start.Sub(a.Slot.End)))
			return found.Err()
		}
	}
	return nil
}

func skipped(dates []*plannedDate) []meeting.Skipped {
	var bad []meeting.Skipped
	for _, w := range dates {
		if w.skip != nil {
			bad = append(bad, *w.skip)
		}
	}
	return bad
}
