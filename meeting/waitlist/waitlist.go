package waitlist

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// BookOrWait books, or joins the waiting list if a room is taken. It returns a meeting or a wait.
func (s *Service) BookOrWait(ctx context.Context, by meeting.Actor, f booking.Fields, until *clock.Time) (*meeting.Meeting, *meeting.Wait, error) {
	m, err := s.booking.Book(ctx, by, f)
	if _, taken := errors.AsType[*meeting.ConflictError](err); !taken {
		return m, nil, err
	}
	w, err := s.Join(ctx, by, f, until)
	return nil, w, err
}

// Join adds a person to the waiting list for rooms that are taken. Policies are checked now, and
// again when the person is next. until is the end of the wait, with local times in the meeting's
// zone; nil means the start. If the rooms are free, the person is served at once.
func (s *Service) Join(ctx context.Context, by meeting.Actor, f booking.Fields, until *clock.Time) (*meeting.Wait, error) {
	at := s.booking.Now()
	if f.Override != nil {
		return nil, fault.Invalid("override", "not_allowed", "must not be set together with wait")
	}
	if f.TypeID != nil && *f.TypeID != 0 {
		return nil, fault.Invalid("type_id", "not_allowed", "must not be set together with wait")
	}
	by, err := s.booking.WithDeputies(ctx, by)
	if err != nil {
		return nil, err
	}
	known, err := s.booking.LookUp(ctx, by, &f, nil)
	if err != nil {
		return nil, err
	}
	if acting, err := f.Waiter(by, known); err != nil {
		return nil, err
	} else if acting.Delegate != nil {
		if by, err = s.booking.WithDeputies(ctx, acting); err != nil {
			return nil, err
		}
	}
	terms, err := f.Terms(nil, known)
	ends, faults := waitUntil(until, terms, at)
	if violations, ok := errors.AsType[*meeting.InvalidError](err); ok {
		return nil, &meeting.InvalidError{Faults: append(violations.Faults, faults...)}
	}
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	if err := s.booking.Validate(ctx, by, &terms, nil, at); err != nil {
		return nil, err
	}
	if !terms.Slot.Start.After(at) {
		return nil, fault.Invalid("start", "in_past", "must be in the future")
	}
	w := meeting.NewWait(terms, by, ends, at)
	if err := s.store.CreateWait(ctx, w, waitsAllowed(s.booking.Settings().Limits, by)); err != nil {
		return nil, err
	}
	s.scheduler.Schedule(ctx, w.Messages()...)
	s.booking.Freed(ctx, w.Wants) // something may have become free meanwhile
	return w, nil
}

// waitsAllowed returns a check of the person's number of waiting lists.
func waitsAllowed(l policy.Limits, by meeting.Actor) func(open int) error {
	who := "you are"
	if by.Delegate != nil {
		who = by.Name + " is"
	}
	return func(open int) error {
		if l.MaxWaits == 0 || open < l.MaxWaits {
			return nil
		}
		var v fault.List
		v.Violate("", "too_many_waits", meeting.Figures{Limit: l.MaxWaits, Actual: open + 1, Used: open},
			"%s already on %d waiting lists, the maximum: leave one first", who, open)
		return &meeting.PolicyError{Violations: v}
	}
}

// waitUntil returns the time until which the person waits; zero: until the start.
func waitUntil(until *clock.Time, t meeting.Terms, at time.Time) (time.Time, []meeting.Fault) {
	if until == nil {
		return time.Time{}, nil
	}
	var found fault.List
	loc, err := fault.StoredZone(t.Timezone)
	if err != nil {
		loc = time.UTC // already reported
	}
	var ends clock.Moment
	if booking.ResolveTime(until, &ends, clock.Time.EndIn, "until", false, loc, &found) && !ends.At.After(at) {
		found.Add("until", "in_past", "must be in the future")
	}
	return ends.At, found
}

// WaitOf returns a wait. It also returns [meeting.ErrNotFound] if the actor may not see the wait, so that
// nobody learns who waits.
func (s *Service) WaitOf(ctx context.Context, by meeting.Actor, id int64) (*meeting.Wait, error) {
	w, err := s.store.Wait(ctx, id)
	if err == nil && !by.MaySeeWait(w) {
		err = meeting.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return w.At(s.booking.Now()), nil
}

// Waits lists the actor's waits, or those that the query names: admins see everyone's, delegates those of the
// users for whom they act. It sets the instant of the query.
func (s *Service) Waits(ctx context.Context, by meeting.Actor, q meeting.WaitQuery, p meeting.Page) (ws []*meeting.Wait, next string, err error) {
	if !by.IsAdmin() && !slices.ContainsFunc(by.Delegations(), func(p meeting.ActsFor) bool { return p.UserID == q.UserID }) {
		q.UserID = by.ID
	}
	q.Now = s.booking.Now()
	if ws, next, err = s.store.ListWaits(ctx, q, p); err != nil {
		return nil, "", err
	}
	ws = slices.DeleteFunc(ws, func(w *meeting.Wait) bool { return !by.MaySeeWait(w) }) // private ones
	for i, w := range ws {
		ws[i] = w.At(q.Now)
	}
	return ws, next, nil
}

// Leave ends a wait. Rooms that were held for it go to the next person.
func (s *Service) Leave(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	_, err := s.withdraw(ctx, by, id, ifMatch, "leave", meeting.Waiting, meeting.Offered)
	return err
}

// Decline declines an offer, which ends the wait.
func (s *Service) Decline(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) (*meeting.Wait, error) {
	return s.withdraw(ctx, by, id, ifMatch, "decline", meeting.Offered)
}

func (s *Service) withdraw(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, what string, from ...meeting.WaitState) (*meeting.Wait, error) {
	if _, err := s.WaitOf(ctx, by, id); err != nil {
		return nil, err
	}
	at := s.booking.Now()
	return s.booking.UpdateWait(ctx, id, func(w *meeting.Wait) (*meeting.Meeting, error) {
		if err := fault.CheckVersion(ifMatch, w.Version); err != nil {
			return nil, err
		}
		if err := w.InState(at, what, from...); err != nil {
			return nil, err
		}
		w.State, w.UpdatedAt = meeting.Withdrawn, at
		return nil, nil
	})
}

// Accept books what was offered. If a policy or quota now prevents the booking, it returns the
// violation, and the offer stays open until its end.
func (s *Service) Accept(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) (*meeting.Wait, error) {
	w, err := s.WaitOf(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if err := w.InState(s.booking.Now(), "accept", meeting.Offered); err != nil {
		return nil, err
	}
	return s.give(ctx, w, by.ActingOn(w), func(w *meeting.Wait, at time.Time) error {
		if err := fault.CheckVersion(ifMatch, w.Version); err != nil {
			return err
		}
		return w.InState(at, "accept", meeting.Offered)
	})
}

// servedAtOnce limits how many waits are served in one transaction.
const servedAtOnce = 500

// Look serves the waiting lists of rooms with what is free, in the order in which people joined. A
// job calls it whenever something may have become free. It may be called again, and concurrently: a
// wait is locked while it is served, and the database rejects what is taken.
func (s *Service) Look(ctx context.Context, rooms ...int64) error {
	tried := map[int64]bool{}
	for after := int64(0); ; {
		line, err := s.store.FirstInLine(ctx, rooms, s.booking.Now(), after, servedAtOnce)
		if err != nil {
			return err
		}
		if turn := firstOf(line, tried); len(turn) > 0 {
			if err := s.serveAll(ctx, turn); err != nil {
				return err
			}
			continue // with later waits that want what is still free
		}
		if len(line) < servedAtOnce {
			return nil
		}
		after = line[len(line)-1].ID
	}
}

// firstOf returns the waits that conflict with no earlier one. It skips waits that were tried and
// adds the others to them.
func firstOf(line []*meeting.Wait, tried map[int64]bool) []*meeting.Wait {
	wanted := map[int64][]clock.Slot{} // by room
	var first []*meeting.Wait
	for _, w := range line {
		if tried[w.ID] {
			continue
		}
		later := slices.ContainsFunc(w.Wants, func(o meeting.Occupancy) bool { return slices.ContainsFunc(wanted[o.RoomID], o.Slot.Overlaps) })
		for _, o := range w.Wants {
			wanted[o.RoomID] = append(wanted[o.RoomID], o.Slot)
		}
		if !later {
			tried[w.ID] = true
			first = append(first, w)
		}
	}
	return first
}

// serveAll serves waits in one transaction. If that is rejected, it retries in halves. A wait that
// is rejected alone is served by itself, which returns the reason.
func (s *Service) serveAll(ctx context.Context, ws []*meeting.Wait) error {
	if len(ws) == 1 {
		if err := s.serve(ctx, ws[0].ID); err != nil {
			return fmt.Errorf("wait %d: %w", ws[0].ID, err)
		}
		return nil
	}
	err := s.serveTogether(ctx, ws)
	reason, _ := refusal(err)
	if reason == "" && !booking.Impossible(err) && !errors.Is(err, meeting.ErrRoomsChanged) {
		return err
	}
	if err := s.serveAll(ctx, ws[:len(ws)/2]); err != nil {
		return err
	}
	return s.serveAll(ctx, ws[len(ws)/2:])
}

// serveTogether books or offers what each wait wants, all in one transaction.
func (s *Service) serveTogether(ctx context.Context, ws []*meeting.Wait) error {
	known, err := s.lookUpWaits(ctx, ws)
	if err != nil {
		return err
	}
	by, length := meeting.Timer(meeting.JobWaitlistLook), s.booking.Settings().Offer
	at := s.booking.Now()
	serve := make(map[int64]func(*meeting.Wait) *meeting.Meeting, len(ws))
	for _, w := range ws {
		m, err := s.turnOf(ctx, w, known, by, length > 0, at)
		reason, detail := refusal(err)
		switch {
		case reason != "":
			serve[w.ID] = func(w *meeting.Wait) *meeting.Meeting { w.End(meeting.Refused, reason, detail, at); return nil }
		case err != nil:
			return err
		case m == nil:
			serve[w.ID] = func(w *meeting.Wait) *meeting.Meeting { w.Offer(length, at); return nil }
		default:
			serve[w.ID] = func(w *meeting.Wait) *meeting.Meeting {
				w.Booked(m, by, at)
				return new(*m)
			}
		}
	}
	return s.booking.UpdateWaits(ctx, slices.Collect(maps.Keys(serve)), func(w *meeting.Wait) (*meeting.Meeting, bool, error) {
		if w.InState(at, "give", meeting.Waiting) != nil {
			return nil, false, nil // already served or ended
		}
		return serve[w.ID](w), true, nil
	})
}

// turnOf checks a wait by the current policies, and creates its meeting unless it is to be offered.
func (s *Service) turnOf(ctx context.Context, w *meeting.Wait, known waitsKnown, by meeting.Actor, offer bool, at time.Time) (*meeting.Meeting, error) {
	owner, there := known.owners[w.Person.UserID]
	if !there {
		return nil, errInactive
	}
	terms, err := s.validateWait(ctx, w, owner, known.of(w), at)
	if err != nil {
		return nil, err
	}
	if offer {
		return nil, s.withinQuota(ctx, owner, &terms)
	}
	terms.Turn = &meeting.Turn{WaitID: w.ID, By: by, JoinedBy: w.JoinedBy}
	plan, err := s.booking.PlanApproval(ctx, owner, terms.Rooms)
	if err != nil {
		return nil, err
	}
	return s.booking.NewMeeting(terms, plan, owner, at), nil
}

// waitsKnown holds what several waits refer to, looked up at once.
type waitsKnown struct {
	booking.Known
	byID   map[int64]*meeting.Room
	owners map[int64]meeting.Actor // without disabled accounts
}

// of returns what one wait refers to.
func (k waitsKnown) of(w *meeting.Wait) booking.Known {
	its := k.Known
	for _, id := range w.Wished.RoomIDs {
		if r := k.byID[id]; r != nil {
			its.Rooms = append(its.Rooms, r)
		}
	}
	return its
}

func (s *Service) lookUpWaits(ctx context.Context, ws []*meeting.Wait) (waitsKnown, error) {
	conf := s.booking.Settings()
	k := waitsKnown{booking.Known{Timezone: conf.Timezone, Reminders: conf.Reminders}, map[int64]*meeting.Room{}, map[int64]meeting.Actor{}}
	var users, rooms []int64
	var emails []string
	for _, w := range ws {
		users = append(users, w.Person.UserID)
		rooms = append(rooms, w.Wished.RoomIDs...)
		for _, p := range w.Wished.Attendees {
			if p.Email != "" {
				emails = append(emails, fault.FoldEmail(p.Email))
			}
		}
	}
	people, err := s.directory.People(ctx, slices.Compact(slices.Sorted(slices.Values(users))))
	if err != nil {
		return k, fmt.Errorf("look up users: %w", err)
	}
	for _, p := range people {
		if k.owners[p.UserID], err = s.booking.ActorOf(ctx, p); err != nil {
			return k, err
		}
	}
	found, err := s.booking.RoomsByID(ctx, slices.Compact(slices.Sorted(slices.Values(rooms))))
	if err != nil {
		return k, fmt.Errorf("look up rooms: %w", err)
	}
	if err := s.booking.AddBlackouts(ctx, found, s.booking.Now()); err != nil {
		return k, err
	}
	for _, r := range found {
		k.byID[r.ID] = r
	}
	if len(emails) > 0 {
		slices.Sort(emails)
		if k.People, err = s.directory.ByEmail(ctx, slices.Compact(emails)); err != nil {
			return k, fmt.Errorf("look up attendees: %w", err)
		}
	}
	return k, nil
}

// serve books for a person on the waiting list, or makes an offer. If the rooms are taken, the
// person stays on the list.
func (s *Service) serve(ctx context.Context, id int64) error {
	w, err := s.store.Wait(ctx, id)
	if err != nil || w.State != meeting.Waiting {
		return err
	}
	still := func(w *meeting.Wait, at time.Time) error { return w.InState(at, "give", meeting.Waiting) }
	by := meeting.Timer(meeting.JobWaitlistLook)
	if length := s.booking.Settings().Offer; length > 0 {
		if err = s.allowed(ctx, w); err == nil {
			at := s.booking.Now()
			_, err = s.booking.UpdateWait(ctx, id, func(w *meeting.Wait) (*meeting.Meeting, error) {
				if err := still(w, at); err != nil {
					return nil, err
				}
				w.Offer(length, at)
				return nil, nil
			})
		}
	} else {
		_, err = s.give(ctx, w, by, still)
	}
	if reason, detail := refusal(err); reason != "" {
		at := s.booking.Now()
		_, err = s.booking.UpdateWait(ctx, id, func(w *meeting.Wait) (*meeting.Meeting, error) {
			if err := still(w, at); err != nil {
				return nil, err
			}
			w.End(meeting.Refused, reason, detail, at)
			return nil, nil
		})
	}
	_, taken := errors.AsType[*meeting.ConflictError](err)
	_, over := errors.AsType[*meeting.StateError](err) // already served or ended
	if taken || over || errors.Is(err, meeting.ErrNotFound) {
		return nil
	}
	return err
}

// errInactive is returned if the account of the waiting person was disabled.
var errInactive = errors.New("the account is disabled")

// refusal returns why a person who waited cannot have what became free; empty: another failure.
func refusal(err error) (reason, detail string) {
	var found []meeting.Fault
	if e, ok := errors.AsType[*meeting.PolicyError](err); ok {
		found = e.Violations
	} else if e, ok := errors.AsType[*meeting.InvalidError](err); ok { // a room or a zone no longer exists
		found = e.Faults
	} else if errors.Is(err, errInactive) {
		return meeting.ReasonAccount, ""
	}
	if len(found) == 0 {
		return "", ""
	}
	said := make([]string, len(found))
	for i, f := range found {
		said[i] = f.Message
	}
	return meeting.ReasonRules, strings.Join(said, "; ")
}

// give books what a person waits for. It calls may with the wait locked.
func (s *Service) give(ctx context.Context, w *meeting.Wait, by meeting.Actor, may func(*meeting.Wait, time.Time) error) (*meeting.Wait, error) {
	for {
		at := s.booking.Now()
		m, err := s.meetingFor(ctx, w, by, at)
		if err != nil {
			return nil, err
		}
		given, err := s.booking.UpdateWait(ctx, w.ID, func(w *meeting.Wait) (*meeting.Meeting, error) {
			if err := may(w, at); err != nil {
				return nil, err
			}
			w.Booked(m, by, at)
			return new(*m), nil
		})
		if errors.Is(err, meeting.ErrRoomsChanged) && ctx.Err() == nil {
			continue // retry when a blackout or a setting of a room changed
		}
		return given, err
	}
}

// meetingFor returns the meeting that a person waits for, checked by the current policies.
func (s *Service) meetingFor(ctx context.Context, w *meeting.Wait, by meeting.Actor, at time.Time) (*meeting.Meeting, error) {
	owner, terms, err := s.currentTerms(ctx, w, at)
	if err != nil {
		return nil, err
	}
	terms.Turn = &meeting.Turn{WaitID: w.ID, By: by, JoinedBy: w.JoinedBy}
	plan, err := s.booking.PlanApproval(ctx, owner, terms.Rooms)
	if err != nil {
		return nil, err
	}
	return s.booking.NewMeeting(terms, plan, owner, at), nil
}

// allowed returns an error that names what prevents an offer.
func (s *Service) allowed(ctx context.Context, w *meeting.Wait) error {
	owner, terms, err := s.currentTerms(ctx, w, s.booking.Now())
	if err != nil {
		return err
	}
	return s.withinQuota(ctx, owner, &terms)
}

// withinQuota returns an error if the person has no quota left for the terms.
func (s *Service) withinQuota(ctx context.Context, owner meeting.Actor, terms *meeting.Terms) error {
	over, err := s.booking.OverQuota(ctx, owner.ID, terms, nil)
	if err == nil && len(over) > 0 {
		err = &meeting.PolicyError{Violations: over}
	}
	return err
}

// currentTerms checks again what a person waits for.
func (s *Service) currentTerms(ctx context.Context, w *meeting.Wait, at time.Time) (meeting.Actor, meeting.Terms, error) {
	known, err := s.lookUpWaits(ctx, []*meeting.Wait{w})
	if err != nil {
		return meeting.Actor{}, meeting.Terms{}, err
	}
	owner, there := known.owners[w.Person.UserID]
	if !there {
		return owner, meeting.Terms{}, errInactive
	}
	terms, err := s.validateWait(ctx, w, owner, known.of(w), at)
	return owner, terms, err
}

func (s *Service) validateWait(ctx context.Context, w *meeting.Wait, owner meeting.Actor, known booking.Known, at time.Time) (meeting.Terms, error) {
	f := fieldsOf(w.Wished)
	terms, err := f.Terms(nil, known)
	if err != nil {
		return terms, err
	}
	return terms, s.booking.Validate(ctx, owner, &terms, nil, at)
}

// fieldsOf returns the fields of a new booking of the meeting.
func fieldsOf(w meeting.Wished) booking.Fields {
	f := booking.Fields{
		Title: &w.Title, Description: &w.Description, RoomIDs: &w.RoomIDs, Start: new(clock.At(w.Slot.Start)), End: new(clock.At(w.Slot.End)),
		Timezone: &w.Timezone, Attendees: &w.Attendees, Visibility: &w.Visibility, Kept: w.Custom, Unasked: true,
	}
	if !w.DefaultReminders {
		f.Reminders = &w.Reminders
	}
	return f
}
